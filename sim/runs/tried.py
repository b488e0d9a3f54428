"""A cluster that was tried in a search for sizes, and what its runs came to."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf
from typing import Any

from sim.base.limits import Limit
from sim.results.lateness import LATE, from_due, mean_numbers
from sim.results.refusals import lost
from sim.runs.cost import a_thousand
from sim.runs.layouts import Configuration
from sim.runs.run import Run

BESIDE = ("prefill.recomputation", "gpu_hours", LATE)
"""The numbers that stand beside those with limits."""


@dataclass(frozen=True)
class Tried:
    """A cluster, and what its runs came to."""

    configuration: Configuration
    limits: Sequence[Limit]
    runs: Sequence[Run]
    """With the first seed only if it does not hold there."""

    @cached_property
    def margin(self) -> float | None:
        """How far inside the limits the worst number of the worst seed is, as a share of its limit.

        Negative outside. None if a run failed, left requests unfinished, or has no such number.
        """
        margins = []
        for run in self.runs:
            values = [run.numbers.get(limit.metric) for limit in self.limits]
            if None in values or not _all_completed(run):
                return None
            margins += [
                limit.margin(value)
                for limit, value in zip(self.limits, values, strict=True)
                if value is not None
            ]
        return min(margins)

    def worst(self, limit: Limit) -> float | None:
        """Return the number that is farthest outside or least inside a limit, over the seeds."""
        values = [value for run in self.runs if (value := run.numbers.get(limit.metric)) is not None]
        return min(values, key=limit.margin) if len(values) == len(self.runs) else None

    @property
    def closest(self) -> tuple[Run, Limit] | None:
        """The run and the limit that are farthest outside or least inside; None if a run failed."""
        found = [
            (limit.margin(value), seed, place)
            for seed, run in enumerate(self.runs)
            for place, limit in enumerate(self.limits)
            if (value := run.numbers.get(limit.metric)) is not None
        ]
        if not found or any(run.summary is None for run in self.runs):
            return None
        lossy = next((run for run in self.runs if not _all_completed(run)), None)
        _, seed, place = min(found)
        return lossy or self.runs[seed], self.limits[place]

    @property
    def hours_a_thousand(self) -> float | None:
        """GPU hours of a thousand completed requests."""
        return a_thousand(self.mean("gpu_hours"), self.mean("requests.completed"))

    @property
    def broken_from_due(self) -> list[Limit]:
        """The limits that it breaks with some seed if latencies count from when requests were due.

        Those that it keeps otherwise it keeps only because requests wait in the client.
        """
        return [limit for limit in self.limits if any(_late_margin(run, limit) < 0 for run in self.runs)]

    @cached_property
    def numbers(self) -> dict[str, float]:
        """Means over the seeds of all numbers that every run has."""
        return mean_numbers([run.numbers for run in self.runs])

    @property
    def not_completed(self) -> float | None:
        """Requests of a run that were not completed, in the mean; None if a run failed."""
        found = [lost(run.summary) for run in self.runs if run.summary is not None]
        return fsum(found) / len(found) if found and len(found) == len(self.runs) else None

    @property
    def holds(self) -> bool:
        """Whether every limit is kept with every seed."""
        return self.margin is not None and self.margin >= 0

    def mean(self, metric: str) -> float | None:
        """Return the mean of a number over the seeds; None if a run does not have it."""
        values = [value for run in self.runs if (value := run.numbers.get(metric)) is not None]
        return fsum(values) / len(values) if len(values) == len(self.runs) else None

    def to_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        layout = self.configuration.layout
        return {
            "gpus": layout.gpus,
            "layout": str(layout),
            "host_bytes_per_worker": self.configuration.host_bytes,
            "host_bytes": self.configuration.total_host_bytes,
            "holds": self.holds,
            "margin": self.margin,
            "holds_from_due": self.holds and not self.broken_from_due,
            "not_completed": self.not_completed,
            **{metric: self.mean(metric) for metric in (*(limit.metric for limit in self.limits), *BESIDE)},
            "worst": {limit.text: self.worst(limit) for limit in self.limits},
            "gpu_hours_a_thousand_requests": self.hours_a_thousand,
            "seeds": [run.seed for run in self.runs],
            "errors": list(dict.fromkeys(run.error for run in self.runs if run.error)),
        }


def by_size(tried: Tried) -> tuple[float, ...]:
    """Order clusters: fewest GPUs, then least host RAM, then fewest GPU hours."""
    configuration = tried.configuration
    return configuration.layout.gpus, configuration.total_host_bytes, tried.mean("gpu_hours") or inf


def _late_margin(run: Run, limit: Limit) -> float:
    """Return how far inside its limit a number is, a latency from due."""
    value = run.numbers.get(from_due(limit.metric) or limit.metric)
    return inf if value is None else limit.margin(value)


def _all_completed(run: Run) -> bool:
    return run.numbers.get("requests.completed") == run.numbers.get("requests.total")
