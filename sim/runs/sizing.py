"""What a search for cluster sizes found: every cluster that was tried, and the smallest that hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from sim.base.limits import Limit
from sim.runs.sizing_warnings import sized_warnings
from sim.runs.tried import Tried, by_size

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Sized:
    """A finished search."""

    scenario: str
    limits: Sequence[Limit]
    seeds: Sequence[int]
    smallest: Sequence[Tried]
    """Those that hold and have none of their kind (aggregated, disaggregated) beside them that needs no more
    GPUs and no more host RAM; fewest GPUs first."""
    tried: Sequence[Tried]
    """All, in the order of trying."""
    sessions: int | None
    """Of the workload; None: all of a trace."""
    gpus_per_node: int

    def to_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "scenario": self.scenario,
            "slo": [limit.text for limit in self.limits],
            "sessions": self.sessions,
            "seeds": list(self.seeds),
            "smallest": [tried.to_dict() for tried in self.smallest],
            "tried": [tried.to_dict() for tried in self.tried],
            "warnings": self.warnings(),
        }

    def warnings(self) -> list[str]:
        """Return what would mislead whoever reads the table alone."""
        return sized_warnings(self.smallest, self.tried)

    @property
    def shown(self) -> Sequence[Tried]:
        """The smallest; if none holds, all: by requests not completed, then by margin."""
        if self.smallest:
            return self.smallest
        measured = [tried for tried in self.tried if tried.not_completed is not None]
        return sorted(
            measured, key=lambda tried: (tried.not_completed, -(tried.margin or 0.0), by_size(tried))
        )

    def table(self) -> "pa.Table":
        """Return a row for each cluster that was tried."""
        import pyarrow as pa  # noqa: PLC0415 - slow to import

        return pa.Table.from_pylist([tried.to_dict() for tried in self.tried])

    def frontier(self, metric: str) -> list[Tried]:
        """Return the clusters that are better in a number than all that cost no more GPU hours."""
        sign = next(1 if limit.below else -1 for limit in self.limits if limit.metric == metric)
        points = [
            (hours, sign * value, place)
            for place, tried in enumerate(self.tried)
            if (hours := tried.mean("gpu_hours")) is not None and (value := tried.mean(metric)) is not None
        ]
        found: list[Tried] = []
        best = inf
        for _, value, place in sorted(points):
            if value < best:
                found.append(self.tried[place])
                best = value
        return found
