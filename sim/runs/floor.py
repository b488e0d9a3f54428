"""How fast an idle worker serves each request alone: what no number of GPUs gets below.

Two runs of a scenario say so, by the engine's own scheduler and step law. In both there is one worker of one
engine size with KV memory without an end, and each request is sent when the one before has ended. *Warm*, it
finds every block that a request before it computed; *cold*, prompts share nothing. In a cluster a request
shares steps, waits, and finds less: with other workers, evictions, or turns that are still on their way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sim.base.limits import Limit
from sim.hardware.parallel import Parallel
from sim.results.refusals import lost
from sim.results.within import TIMES, Within
from sim.runs.layouts import Configuration, Layout
from sim.runs.run import Run

_ENDLESS_BLOCKS = 10_000_000
ALONE = (
    f"engine.kv_blocks={_ENDLESS_BLOCKS}",
    "replay.client=max-concurrency",
    "replay.max_concurrency=1",
    *(f"replay.{key}=none" for key in ("lanes", "duration_s", "at_end", "timeout_s", "warm_up_s")),
    "replay.lane_gap_s=0",
    "replay.retries=0",
    "faults=[]",
)
COLD = (
    "workload.fresh_prompts=true",
    *(f"replay.{key}=none" for key in ("warm_start", "warm_sessions", "warm_placement")),
)
WARM_NAME, COLD_NAME = "alone, warm", "alone, cold"
ALWAYS = ("ttft_s.p95", "by_turn.first.ttft_s.p95", "by_turn.later.ttft_s.p95")
"""What is said of the floor beside the numbers with limits."""
_LATENCIES = (*TIMES, "itl_s")


def alone(parallel: Parallel) -> list[str]:
    """Return the `key=value` that make a scenario send each request alone to one engine of this size."""
    ranks = ["router.policy=kv"] if parallel.data > 1 else []
    return [*Configuration(Layout(1, 0, parallel), 0).overrides(), *ALONE, *ranks]


@dataclass(frozen=True)
class Floor:
    """The runs with each request alone, one for each size of an engine."""

    warm: Sequence[Run]
    cold: Sequence[Run]
    exact: bool
    """Whether these are the requests that count in the runs of the search; else it is a hint, not a floor."""

    def least(self, metric: str, *, below: bool = True) -> float | None:
        """Return the best that any engine reaches alone and warm; None if it was not measured."""
        return _best(self.warm, metric, below=below)

    def least_cold(self, metric: str, *, below: bool = True) -> float | None:
        """Return the same without any cache."""
        return _best(self.cold, metric, below=below)

    def broken(self, limits: Sequence[Limit]) -> list[Limit]:
        """Return the limits that no number of GPUs can keep."""
        if not self.exact:
            return []
        return [
            limit
            for limit in limits
            if is_bounded(limit)
            and (value := self.least(limit.metric, below=limit.below)) is not None
            and limit.margin(value) < 0
        ]

    @cached_property
    def lost(self) -> int:
        """Requests that are not completed even alone, on any engine: the fewest."""
        return min((int(lost(run.summary)) for run in self.warm if run.summary is not None), default=0)

    def stops(self, limits: Sequence[Limit]) -> bool:
        """Whether a search is in vain."""
        return bool(self.broken(limits) or (self.exact and self.lost))

    def rows(self, limits: Sequence[Limit]) -> list[str]:
        """Return the numbers to say: those with limits first, as far as they were measured."""
        names = [limit.metric for limit in limits if is_bounded(limit)]
        return [name for name in dict.fromkeys([*names, *ALWAYS]) if self.least(name) is not None]

    def to_dict(self, limits: Sequence[Limit]) -> dict[str, Any]:
        """Return it ready for JSON."""
        broken = [limit.text for limit in self.broken(limits)]
        below = {limit.metric: limit.below for limit in limits}
        return {
            "exact": self.exact,
            "unreachable": broken,
            "not_completed": self.lost,
            "numbers": {
                name: {
                    "warm": self.least(name, below=below.get(name, True)),
                    "cold": self.least_cold(name, below=below.get(name, True)),
                }
                for name in self.rows(limits)
            },
        }


def is_bounded(limit: Limit) -> bool:
    """Whether it is on a latency, or a share of requests within one, which a request alone does best."""
    if limit.within is not None:
        return Within.read(limit.within, "").latency in _LATENCIES
    table = limit.metric.rpartition(".")[0].removesuffix(".p99")
    return limit.below and table.rpartition(".")[2] in _LATENCIES and not table.startswith("router")


def _best(runs: Sequence[Run], metric: str, *, below: bool) -> float | None:
    values = [value for run in runs if (value := run.numbers.get(metric)) is not None]
    if not values:
        return None
    return min(values) if below else max(values)
