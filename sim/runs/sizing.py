"""What a search for cluster sizes found: every cluster that was tried, and the smallest that hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from sim.base.limits import Limit
from sim.runs.binding import Binding, binding
from sim.runs.cost import Price
from sim.runs.floor import Floor, is_bounded
from sim.runs.sizing_warnings import sized_warnings
from sim.runs.tried import Tried, by_size
from sim.runs.versions import versions_in

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
    floor: Floor | None = None
    """What no number of GPUs gets below; None: not known."""
    price: Price | None = None
    """Of a GPU hour; None: none was given."""

    @property
    def in_vain(self) -> bool:
        """Whether a limit is below its floor."""
        return self.floor is not None and self.floor.stops(self.limits)

    def binding(self, tried: Tried) -> Binding | None:
        """Return what binds a cluster at the limit to which it is closest; None if its runs do not say."""
        closest = tried.closest
        if closest is None:
            return None
        run, limit = closest
        itl = None if self.floor is None else self.floor.least("itl_s.p50")
        return binding(run, limit, tried.configuration.layout, self.floor_of(limit), itl)

    def floor_of(self, limit: Limit) -> float | None:
        """Return what no number of GPUs gets below, or above; None if there is nothing such."""
        if self.floor is None or not is_bounded(limit):
            return None
        return self.floor.least(limit.metric, below=limit.below)

    @property
    def nearest(self) -> Tried | None:
        """The cluster that comes nearest of those that do not hold and are no larger than the smallest."""
        most = self.smallest[0].configuration.layout.gpus if self.smallest else inf
        below = [
            tried
            for tried in self.tried
            if not tried.holds and tried.margin is not None and tried.configuration.layout.gpus <= most
        ]
        return max(below, key=lambda tried: tried.margin or 0.0, default=None)

    @property
    def summaries(self) -> list[Mapping[str, Any]]:
        """The summaries of the runs that did not fail."""
        runs = (run for tried in self.tried for run in tried.runs)
        return [run.summary for run in runs if run.summary is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "versions": versions_in(self.summaries),
            "scenario": self.scenario,
            "slo": [limit.text for limit in self.limits],
            "sessions": self.sessions,
            "seeds": list(self.seeds),
            "floor": self.floor.to_dict(self.limits) if self.floor else None,
            "price_per_gpu_hour": self.price._asdict() if self.price else None,
            "smallest": [self._row(tried) for tried in self.smallest],
            "tried": [self._row(tried) for tried in self.tried],
            "warnings": self.warnings(),
        }

    def _row(self, tried: Tried) -> dict[str, Any]:
        binds, price, hours = self.binding(tried), self.price, tried.hours_a_thousand
        cost = None
        if price is not None:
            cost = {
                "a_day": price.a_day(tried.configuration.layout.gpus),
                "a_thousand_requests": None if hours is None else hours * price.amount,
            }
        return tried.to_dict() | {"binds": binds.to_dict() if binds else None, "cost": cost}

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

        rows = [tried.to_dict() for tried in self.tried]
        return pa.Table.from_pylist([{k: v for k, v in row.items() if k != "worst"} for row in rows])

    def frontier(self, metric: str) -> list[Tried]:
        """Return the clusters that are better in a number, of the worst seed, than all as cheap ones."""
        limit = next(limit for limit in self.limits if limit.metric == metric)
        sign = 1 if limit.below else -1
        points = [
            (hours, sign * value, place)
            for place, tried in enumerate(self.tried)
            if (hours := tried.mean("gpu_hours")) is not None and (value := tried.worst(limit)) is not None
        ]
        found: list[Tried] = []
        best = inf
        for _, value, place in sorted(points):
            if value < best:
                found.append(self.tried[place])
                best = value
        return found
