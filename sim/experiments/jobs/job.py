"""A run to make, and the list of them that scenarios, points, seeds and draws span."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.base.errors import InputError
from sim.experiments.jobs.counts import check_counts, check_runs
from sim.experiments.jobs.workloads import Workloads
from sim.runs.run import Run
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario
from sim.simulation.run import run

Written = Mapping[str, str]
"""A point: swept keys and their values, as the user wrote them."""
_WORKLOADS = Workloads()
"""Of all runs that this process makes."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run to make."""

    name: str
    """What results call the scenario."""
    scenario: Scenario
    settings: Mapping[str, Any]
    """The scenario as scenario.toml would have it, with the first of the seeds and none of several draws."""
    written: Written
    """The swept keys and their values here."""

    def done(self, summary: Mapping[str, Any] | None, notes: Sequence[str] = (), error: str = "") -> Run:
        """Return what it came to."""
        seed, draw = self.scenario.seed, self.scenario.timing.draw
        return Run(self.name, self.settings, self.written, seed, summary, notes, error, draw)


def attempt(job: Job) -> Run:
    """Make a run. One that fails becomes a run with an error: it must not lose the others."""
    try:
        result = run(job.scenario, trace=_WORKLOADS.of)
    except InputError as error:
        return job.done(None, error=str(error))
    except Exception as error:
        return job.done(None, error=f"{type(error).__name__}: {error}")
    return job.done(result.to_dict(), result.notes)


def jobs_at(
    sources: Mapping[str, str | Path | Scenario],
    fixed: Sequence[str],
    points: Iterable[Written],
    repeat: int,
    draws: int | None = None,
    *,
    own: Mapping[str, Sequence[str]] | None = None,
) -> list[Job]:
    """Return every run to make: points slowest, then seeds, then draws, then scenarios.

    Args:
        sources: scenarios by the name that results give them: a file, the name of a shipped one, or loaded.
        fixed: `key=value` for all.
        points: what each point sets.
        repeat: seeds, from the first scenario's own on, the same for all.
        draws: draws of the coefficients over their ranges, from the first on; their values if not given.
        own: by name, `key=value` for that scenario alone, which come last.

    Raises:
        InputError: a scenario or a value cannot be used, or two points are the same.

    """
    check_counts(repeat=repeat, draws=draws)
    jobs: list[Job] = []
    for written in points:
        if "seed" in written:
            raise InputError("--set seed: several seeds are repeats, not points; give --repeat")
        changes = [*fixed, *(f"{key}={value}" for key, value in written.items())]
        loaded = {
            name: load_scenario(source, [*changes, *(own or {}).get(name, ())])
            for name, source in sources.items()
        }
        first = next(iter(loaded.values())).seed
        check_runs(len(jobs) + len(loaded) * repeat * (draws or 1))
        jobs += seeded(loaded, written, range(first, first + repeat), draws)
    _check_distinct(jobs)
    return jobs


def seeded(
    scenarios: Mapping[str, Scenario], written: Written, seeds: Sequence[int], draws: int | None = None
) -> list[Job]:
    """Return the runs of scenarios at one point with these seeds and draws, the scenarios fastest."""
    first = {name: scenario.model_copy(update={"seed": seeds[0]}) for name, scenario in scenarios.items()}
    settings = {name: scenario.to_dict() for name, scenario in first.items()}
    drawn = {name: _drawn(name, scenario, draws) for name, scenario in first.items()}
    return [
        Job(name, drawn[name][k].model_copy(update={"seed": seed}), settings[name], written)
        for seed in seeds
        for k in range(draws or 1)
        for name in drawn
    ]


def _drawn(name: str, scenario: Scenario, draws: int | None) -> list[Scenario]:
    try:
        return scenario.draws(draws)
    except InputError as error:
        raise InputError(f"--draws: {name}: {error}") from error


def _check_distinct(jobs: Sequence[Job]) -> None:
    """Refuse points that differ in how they are written only."""
    seen: dict[tuple[Any, ...], Written] = {}
    for job in jobs:
        same = job.name, job.scenario.seed, job.scenario.timing.draw
        values = (*same, *(job.done(None).value(key) for key in job.written))
        other = seen.setdefault(values, job.written)
        for key, text in job.written.items():
            if other[key] != text:
                raise InputError(f"--set {key}: {other[key]} and {text} are the same value; give it once")
