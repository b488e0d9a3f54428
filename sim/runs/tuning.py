"""What a search for settings found: every trial, and the best beside the default on seeds of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.base.limits import Limit
from sim.base.sums import added
from sim.runs.binding import Binding, binding
from sim.runs.comparison import Comparison
from sim.runs.cost import Price, a_thousand
from sim.runs.layouts import layout_of
from sim.runs.paired import Estimate, bootstrap_difference
from sim.runs.run import Run
from sim.runs.spread import CONFIDENCE
from sim.runs.sweep import SHOWN
from sim.runs.unlike import warnings_of, with_late, with_lost
from sim.runs.versions import versions_in

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1
DEFAULT, BEST = "default", "best"


class Goal(NamedTuple):
    """What makes one setting better than another."""

    metric: str
    """A number of the summary, its mean over the seeds."""
    maximise: bool
    limits: tuple[Limit, ...]
    """Which means must keep."""

    @property
    def weighs_requests(self) -> bool:
        """Whether it says itself how many requests are to be completed: it names a number of `requests`."""
        names = self.metric, *(limit.metric for limit in self.limits)
        return any(name.startswith("requests.") for name in names)

    def __str__(self) -> str:
        limits = "".join(f", {limit.text}" for limit in self.limits)
        return f"{'highest' if self.maximise else 'lowest'} {self.metric}{limits}"


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting, and what it came to."""

    written: Mapping[str, str]
    """The searched keys and their values; the default has none."""
    value: float | None
    """The mean of the goal's number; None if a run failed or did not measure it."""
    margins: tuple[float | None, ...]
    """How far inside each limit the mean is, as a share of the limit; negative outside."""
    not_completed: float = 0.0
    """Requests of a run that were not completed, in the mean."""
    more_lost: float = 0.0
    """How many more that are than with the default; 0 if not, or if the goal itself weighs requests.

    A number may get better because requests were refused that would have made it worse.
    """
    limited: tuple[float | None, ...] = ()
    """The means that have limits."""

    @property
    def holds(self) -> bool:
        """Whether it has a value, keeps every limit, and completes as many requests as the default."""
        kept = all(margin is not None and margin >= 0 for margin in self.margins)
        return self.value is not None and kept and not self.more_lost


class Beside(NamedTuple):
    """A number of the default and of the best setting over the same seeds."""

    metric: str
    default: float | None
    best: float | None
    """Means."""
    difference: Estimate
    """best - default, with a bootstrap interval of the paired differences."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """A finished search."""

    scenario: str
    goal: Goal
    seeds: Sequence[int]
    """Those of the search."""
    default: Trial
    trials: Sequence[Trial]
    best: Trial
    """The best that keeps the limits; else the one that is least outside, whose `holds` is False."""
    check: Comparison
    """Default and best with seeds that the search did not see: what was best there may have been lucky."""
    price: Price | None = None
    """Of a GPU hour; None: none was given."""

    @property
    def best_so_far(self) -> list[float | None]:
        """The best value of those that hold, after each trial; None before the first."""
        found: list[float | None] = []
        least: float | None = None
        better = max if self.goal.maximise else min
        for trial in self.trials:
            if trial.holds and trial.value is not None:
                least = trial.value if least is None else better(least, trial.value)
            found.append(least)
        return found

    def binding(self, name: str) -> Binding | None:
        """Return what binds the default or the best at the goal's number, in the run where that is worst."""
        metric = self.goal.metric
        runs = [
            run for run in self.check.runs if run.scenario == name and run.numbers.get(metric) is not None
        ]
        if not runs:
            return None
        worst = min if self.goal.maximise else max
        run = worst(runs, key=lambda each: each.numbers.get(metric) or 0.0)
        limit = Limit(metric, 0.0, not self.goal.maximise, "")
        return binding(run, limit, layout_of(run.settings.get("workers", {})), None, None)

    def hours_a_thousand(self, name: str) -> float | None:
        """Return the GPU hours of a thousand completed requests of the default or the best, in the check."""
        hours, requests = (_by_seed(self.check, name, key) for key in ("gpu_hours", "requests.completed"))
        return a_thousand(added(hours.values()) if hours else None, added(requests.values()))

    def beside(self, metrics: Sequence[str] = ()) -> list[Beside]:
        """Return these numbers of the check, those of the goal first."""
        first = [self.goal.metric, *(limit.metric for limit in self.goal.limits)]
        found = []
        for metric in with_lost(self.check, [*first, *(metrics or with_late(self.check, SHOWN))]):
            values = {name: _by_seed(self.check, name, metric) for name in (DEFAULT, BEST)}
            common = sorted(values[DEFAULT].keys() & values[BEST].keys())
            pairs = [[values[name][seed] for seed in common] for name in (DEFAULT, BEST)]
            means = [added(side) / len(side) if side else None for side in pairs]
            found.append(Beside(metric, means[0], means[1], bootstrap_difference(*pairs)))
        return found

    def kept_by(self, limit: Limit, name: str) -> tuple[int, int]:
        """Return at how many seeds of the check a limit is kept, and how many there are."""
        values = _by_seed(self.check, name, limit.metric).values()
        return sum(limit.margin(value) >= 0 for value in values), len(self.check.seeds)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the runs, ready for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "versions": versions_in(self.check.summaries),
            "scenario": self.scenario,
            "objective": {"metric": self.goal.metric, "maximise": self.goal.maximise},
            "constraints": [limit.text for limit in self.goal.limits],
            "search": {"seeds": list(self.seeds), "trials": [_to_dict(trial) for trial in self.trials]},
            "default": _to_dict(self.default),
            "best": _to_dict(self.best),
            "check": {
                "seeds": list(self.check.seeds),
                "confidence": CONFIDENCE,
                "numbers": [
                    row._asdict() | {"difference": row.difference._asdict()} for row in self.beside()
                ],
                "constraints": [
                    {
                        "constraint": limit.text,
                        "seeds_kept": {name: self.kept_by(limit, name)[0] for name in (DEFAULT, BEST)},
                    }
                    for limit in self.goal.limits
                ],
            },
            "binds": {
                name: found.to_dict() if (found := self.binding(name)) else None for name in (DEFAULT, BEST)
            },
            "gpu_hours_a_thousand_requests": {name: self.hours_a_thousand(name) for name in (DEFAULT, BEST)},
            "price_per_gpu_hour": self.price._asdict() if self.price else None,
            "warnings": warnings_of(self.check),
        }

    def table(self) -> "pa.Table":
        """Return a row for each trial: the searched keys as they were written, value, holds, margins."""
        import pyarrow as pa  # noqa: PLC0415 - slow to import

        keys = list(self.best.written)
        columns: dict[str, Any] = {key: [trial.written.get(key) for trial in self.trials] for key in keys}
        columns[self.goal.metric] = pa.array([trial.value for trial in self.trials], pa.float64())
        columns["holds"] = [trial.holds for trial in self.trials]
        columns["not_completed"] = [trial.not_completed for trial in self.trials]
        for place, limit in enumerate(self.goal.limits):
            margins = [trial.margins[place] for trial in self.trials]
            columns[f"margin of {limit.text}"] = pa.array(margins, pa.float64())
        return pa.table(columns)


def _by_seed(check: Comparison, name: str, metric: str) -> dict[int, float]:
    runs: list[Run] = [run for run in check.runs if run.scenario == name]
    values = {run.seed: run.numbers.get(metric) for run in runs}
    return {seed: value for seed, value in values.items() if value is not None}


def _to_dict(trial: Trial) -> dict[str, Any]:
    return {
        "settings": dict(trial.written),
        "value": trial.value,
        "limited": list(trial.limited),
        "margins": list(trial.margins),
        "holds": trial.holds,
        "not_completed": trial.not_completed,
    }
