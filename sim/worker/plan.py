"""What bounds a step of an engine, and what was decided for one."""

from dataclasses import dataclass, field

from sim.kv.stretch import Part
from sim.worker.active import ActiveRequest
from sim.worker.connector import TransferJob
from sim.worker.nixl import Pull


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a step and an admission; defaults of vLLM 0.28.0's server on an 80 GB H100."""

    max_batched_tokens: int = 8192
    max_seqs: int = 1024
    max_model_len: int = 1 << 62
    long_prefill_threshold_tokens: int = 0
    """Most tokens of one prefill in a step; 0: no limit."""
    watermark: float = 0.0
    """Share of the pool that must stay free when a request joins others that run."""
    async_scheduling: bool = True
    """Schedule a step before the output of the one before it is processed."""
    dies_of_nothing: bool = False
    """A prompt of which nothing is left to compute kills the engine, as it does in vLLM 0.28.0."""


@dataclass(slots=True)
class Admission:
    """A waiting request that was given blocks in this step."""

    request: ActiveRequest
    local_tokens: int
    external_tokens: int
    loading: bool
    resumed: bool
    """It was preempted before."""


@dataclass(slots=True)
class StepPlan:
    """What one schedule call decided."""

    number: int
    n_tokens: int = 0
    tokens: list[tuple[ActiveRequest, int]] = field(default_factory=list)
    emitting: list[ActiveRequest] = field(default_factory=list)
    """Requests that generate a token in this step."""
    preempted: list[ActiveRequest] = field(default_factory=list)
    admitted: list[Admission] = field(default_factory=list)
    loads: list[TransferJob] = field(default_factory=list)
    pulls: list[Pull] = field(default_factory=list)
    unneeded: list[int] = field(default_factory=list)
    """Requests of whose blocks on another engine none is needed."""
    stores: list[TransferJob] = field(default_factory=list)
    flushes: list[int] = field(default_factory=list)
    """Jobs that must be finished before the step runs."""
    quiet: bool = False
    """Every running request computes one token, and nothing changed that a later step could notice."""
    freed_after: list[Part] = field(default_factory=list)
    """Blocks that return to the pool when this step's output has been processed."""
