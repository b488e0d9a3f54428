"""What a summary says of a run that does not stand in its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sim.results.gauge import Occupancy
from sim.results.slo import Slo
from sim.results.transfers import PullCounts


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a summary needs beside the rows."""

    simulated_s: float
    """From the start of the run to the end of the last request."""
    gpus: int
    pool: Occupancy
    """How full the workers' block pools were."""
    cpu_tier: Occupancy | None
    """How full their CPU tiers were; None without offload."""
    block_tokens: int = 1
    """Tokens of a block, as hits end at."""
    lower_tiers: Mapping[str, Occupancy] = field(default_factory=dict)
    """How full the tiers below were, by name; not said of workers that have none."""
    decode_pool: Occupancy | None = None
    """Disaggregated: how full the decode workers' pools were; `pool` are then the prefill workers'."""
    pulls: PullCounts | None = None
    """Disaggregated: what decode workers read from prefill workers."""
    kv_returned: Mapping[str, int] | None = None
    """What prefill workers read of decode workers' host memory; None: nothing flows back, nor is it said."""
    drafts: Mapping[str, int] | None = None
    """vLLM's counters of speculative decoding; None: there is none, and nothing is said of it."""
    regret: Mapping[str, Any] | None = None
    """What routing decisions let be computed; None: nobody looked."""
    slo: Slo | None = None
    most_tokens: Mapping[str, int] = field(default_factory=dict)
    """For reasons of which it is said, how long a prompt may be."""
    faults: Sequence[Mapping[str, Any]] | None = None
    """What each fault cost (`sim.cluster.faults.toll`); None: nothing could go wrong, no client gave up."""
    window: tuple[float, float] | None = None
    """Between which times rates are counted, where something may be left out; None: all of the run."""
    begun_s: float = 0.0
    """When the measured part began."""
    resent: int | None = None
    """How often clients sent refused requests again; None: none would, nor is it said."""

    @property
    def measured_s(self) -> float:
        """How long what is counted took."""
        return self.simulated_s if self.window is None else self.window[1] - self.window[0]
