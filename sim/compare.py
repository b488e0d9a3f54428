"""Runs several scenarios at the same points with the same seeds, in parallel processes; reads saved ones.

sources, --set, seeds -> plan -> jobs, saved runs -> execute -> sim.results.compared.Comparison
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sim.errors import InputError
from sim.jobs.engine import local
from sim.jobs.execute import OnRun
from sim.jobs.execute import execute as execute_jobs
from sim.jobs.job import Job, jobs_at
from sim.points import combinations, read_axes
from sim.results.compared import Comparison, Run
from sim.results.saved import read_runs
from sim.shipped import scenario_names


@dataclass(frozen=True, slots=True)
class Plan:
    """What a comparison is made of."""

    names: list[str]
    """The scenarios, the one first that the others are compared with."""
    saved: list[Run]
    """Runs that were read."""
    jobs: list[Job]
    """Runs to make."""


def plan(sources: Sequence[str], overrides: Sequence[str] = (), repeat: int | None = None) -> Plan:
    """Return what is to be run, and read what has been.

    Args:
        sources: names of shipped scenarios, TOML files, or folders that `--out` made.
        overrides: `key=value` for all scenarios; lists and ranges make points (`sim.points`).
        repeat: seeds, from the first scenario's own on, the same for all; one if not given.

    Raises:
        InputError: a source or an override cannot be used.

    """
    names = _names(sources)
    folders = {source: name for source, name in names.items() if _is_folder(source)}
    scenarios = {name: source for source, name in names.items() if source not in folders}
    if not scenarios and (overrides or repeat):
        option = "--set" if overrides else "--repeat"
        raise InputError(f"{option}: {', '.join(folders)} ran already; give a scenario to run")
    saved = {name: read_runs(Path(source), name) for source, name in folders.items()}
    _keep_apart(names.values(), saved)
    order = dict.fromkeys(
        column
        for name in names.values()
        for column in [run.scenario for run in saved.get(name, [])] or [name]
    )
    runs = [run for found in saved.values() for run in found]
    fixed, axes = read_axes(overrides)
    jobs = jobs_at(scenarios, fixed, combinations(axes), repeat or 1) if scenarios else []
    return Plan(list(order), runs, jobs)


def execute(plan: Plan, processes: int | None, on_run: OnRun) -> Comparison:
    """Make all runs. One that fails becomes a run with an error; the others go on.

    Args:
        plan: what to run.
        processes: runs at a time, as many as there are cores if None; 1: in this process.
        on_run: called with every run as it ends; what it raises ends the others.

    """
    runs = [*execute_jobs(plan.jobs, local(processes), on_run), *plan.saved]
    return Comparison(plan.names, sorted(runs, key=lambda run: plan.names.index(run.scenario)))


def _is_folder(source: str) -> bool:
    """Tell a folder from a scenario; a bare name that is a shipped scenario's is the scenario."""
    return Path(source).is_dir() and ("/" in source or source not in scenario_names())


def _names(sources: Sequence[str]) -> dict[str, str]:
    """Return what the comparison calls each source: its last part where that is enough."""
    short = {
        source: Path(source).stem if source.endswith(".toml") else Path(source).name for source in sources
    }
    if len(short) < len(sources):
        twice = next(source for source in sources if sources.count(source) > 1)
        raise InputError(f"{twice}: is given twice")
    times = Counter(short.values())
    return {source: name if name and times[name] == 1 else source for source, name in short.items()}


def _keep_apart(names: Iterable[str], saved: dict[str, list[Run]]) -> None:
    """Put a folder's name before each scenario of a saved comparison that another source has too."""
    scenarios = Counter(
        scenario for name in names for scenario in {run.scenario for run in saved.get(name, [])} or {name}
    )
    for name, runs in saved.items():
        saved[name] = [
            replace(run, scenario=f"{name}/{run.scenario}")
            if scenarios[run.scenario] > 1 and run.scenario != name
            else run
            for run in runs
        ]
