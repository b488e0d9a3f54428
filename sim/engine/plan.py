"""What bounds a step of an engine, what was decided for one, and what it gave."""

from dataclasses import dataclass

from sim.engine.active import ActiveRequest
from sim.engine.connector import TransferJob
from sim.engine.nixl import Pull
from sim.kv.events import KvEvent
from sim.kv.stretch import Part


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


class Admission:
    """A waiting request that was given blocks in this step."""

    __slots__ = ("external_tokens", "loading", "local_tokens", "request", "resumed")

    def __init__(
        self,
        request: ActiveRequest,
        local_tokens: int,
        external_tokens: int,
        loading: bool,
        resumed: bool,
    ) -> None:
        self.request = request
        self.local_tokens = local_tokens
        self.external_tokens = external_tokens
        self.loading = loading
        self.resumed = resumed
        """It was preempted before."""


class StepPlan:
    """What one schedule call decided."""

    __slots__ = (
        "admitted",
        "emitting",
        "flushes",
        "freed_after",
        "loads",
        "n_tokens",
        "number",
        "preempted",
        "pulls",
        "quiet",
        "stores",
        "tokens",
        "unneeded",
    )

    def __init__(
        self,
        number: int,
        n_tokens: int = 0,
        tokens: list[tuple[ActiveRequest, int]] | None = None,
        emitting: list[ActiveRequest] | None = None,
        *,
        quiet: bool = False,
    ) -> None:
        self.number = number
        self.n_tokens = n_tokens
        self.tokens = tokens if tokens is not None else []
        self.emitting = emitting if emitting is not None else []
        """Requests that generate a token in this step."""
        self.preempted: list[ActiveRequest] = []
        self.admitted: list[Admission] = []
        self.loads: list[TransferJob] = []
        self.pulls: list[Pull] = []
        self.unneeded: list[int] = []
        """Requests of whose blocks on another engine none is needed."""
        self.stores: list[TransferJob] = []
        self.flushes: list[int] = []
        """Jobs that must be finished before the step runs."""
        self.quiet = quiet
        """Every running request computes one token, and nothing changed that a later step could notice."""
        self.freed_after: list[Part] = []
        """Blocks that return to the pool when this step's output has been processed."""


class StepOutput:
    """What processing one step's output gave."""

    __slots__ = ("events", "finished", "tokens")

    def __init__(
        self, tokens: list[ActiveRequest], finished: list[ActiveRequest], events: list[KvEvent]
    ) -> None:
        self.tokens = tokens
        """Requests that received a token, in scheduling order."""
        self.finished = finished
        self.events = events
        """KV events to publish: the GPU's first, then the CPU tier's."""
