"""Runs several scenarios at the same points with the same seeds, in parallel processes; reads saved ones.

sources, --set, seeds -> plan -> jobs, saved runs -> execute -> sim.results.compared.Comparison
"""

import signal
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sim.errors import InputError
from sim.points import combinations, read_axes
from sim.results.compared import Comparison, Run
from sim.results.saved import read_runs
from sim.run import run
from sim.scenario import Scenario, load_scenario
from sim.shipped import scenario_names

OnRun = Callable[[Run], None]
"""Called with every run as it ends."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run to make."""

    name: str
    """What the comparison calls the scenario."""
    scenario: Scenario
    settings: Mapping[str, Any]
    """The scenario as scenario.toml would have it, with the first of the seeds and no draw of `--draws`."""
    written: Mapping[str, str]
    """The swept keys and their values here, as the user wrote them."""

    def done(self, summary: Mapping[str, Any] | None, notes: Sequence[str] = (), error: str = "") -> Run:
        """Return what it came to."""
        seed, draw = self.scenario.seed, self.scenario.timing.draw
        return Run(self.name, self.settings, self.written, seed, summary, notes, error, draw)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a comparison is made of."""

    names: list[str]
    """The scenarios, the one first that the others are compared with."""
    saved: list[Run]
    """Runs that were read."""
    jobs: list[Job]
    """Runs to make."""


def plan(
    sources: Sequence[str],
    overrides: Sequence[str] = (),
    repeat: int | None = None,
    draws: int | None = None,
) -> Plan:
    """Return what is to be run, and read what has been.

    Args:
        sources: names of shipped scenarios, TOML files, or folders that `--out` made.
        overrides: `key=value` for all scenarios; lists and ranges make points (`sim.points`).
        repeat: seeds, from the first scenario's own on, the same for all; one if not given.
        draws: draws of the coefficients over their ranges, from the first on, each with every seed; their
            values if not given.

    Raises:
        InputError: a source or an override cannot be used.

    """
    names = _names(sources)
    folders = {source: name for source, name in names.items() if _is_folder(source)}
    scenarios = {name: source for source, name in names.items() if source not in folders}
    if not scenarios and (overrides or repeat or draws):
        option = "--set" if overrides else "--repeat" if repeat else "--draws"
        raise InputError(f"{option}: {', '.join(folders)} ran already; give a scenario to run")
    saved = {name: read_runs(Path(source), name) for source, name in folders.items()}
    _keep_apart(names.values(), saved)
    order = dict.fromkeys(
        column
        for name in names.values()
        for column in [run.scenario for run in saved.get(name, [])] or [name]
    )
    runs = [run for found in saved.values() for run in found]
    return Plan(list(order), runs, _jobs(scenarios, overrides, repeat or 1, draws) if scenarios else [])


def execute(plan: Plan, processes: int, on_run: OnRun) -> Comparison:
    """Make all runs. One that fails becomes a run with an error; the others go on.

    Args:
        plan: what to run.
        processes: runs at a time; 1: in this process.
        on_run: called with every run as it ends; what it raises ends the others.

    """
    finished: dict[int, Run] = {}
    try:
        with closing(_outcomes(plan.jobs, processes)) as outcomes:
            for place, outcome in outcomes:
                finished[place] = outcome
                on_run(outcome)
    except BrokenProcessPool:
        lost = "a process ended abruptly; was it out of memory? try a smaller --jobs"
        for place, job in enumerate(plan.jobs):
            if place not in finished:
                finished[place] = job.done(None, error=lost)
    runs = [*(finished[place] for place in range(len(plan.jobs))), *plan.saved]
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


def _jobs(
    scenarios: Mapping[str, str], overrides: Sequence[str], repeat: int, draws: int | None
) -> list[Job]:
    """Return every run to make: points slowest, then seeds, then draws, then scenarios."""
    fixed, axes = read_axes(overrides)
    if any(axis.key == "seed" for axis in axes):
        raise InputError("--set seed: several seeds are repeats, not points; give --repeat")
    jobs = []
    for written in combinations(axes):
        changes = [*fixed, *(f"{key}={value}" for key, value in written.items())]
        loaded = {name: load_scenario(source, changes) for name, source in scenarios.items()}
        first = next(iter(loaded.values())).seed
        seeded = {name: scenario.model_copy(update={"seed": first}) for name, scenario in loaded.items()}
        settings = {name: tomllib.loads(scenario.to_toml()) for name, scenario in seeded.items()}
        drawn = {name: _drawn(name, scenario, draws) for name, scenario in seeded.items()}
        jobs += [
            Job(name, drawn[name][k].model_copy(update={"seed": seed}), settings[name], written)
            for seed in range(first, first + repeat)
            for k in range(draws or 1)
            for name in drawn
        ]
    _check_distinct(jobs)
    return jobs


def _drawn(name: str, scenario: Scenario, draws: int | None) -> list[Scenario]:
    try:
        return scenario.draws(draws)
    except InputError as error:
        raise InputError(f"--draws: {name}: {error}") from error


def _outcomes(jobs: Sequence[Job], processes: int) -> Generator[tuple[int, Run], None, None]:
    """Yield the place of every job and what it came to, in the order in which they end."""
    from joblib import Parallel, delayed  # noqa: PLC0415 - slow to import

    pool = Parallel(n_jobs=processes, batch_size=1, return_as="generator_unordered")
    with _deaf_to_ctrl_c():
        outcomes: Generator[tuple[int, Run], None, None] = pool(
            delayed(_attempt)(*numbered) for numbered in enumerate(jobs)
        )
    return outcomes


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Let processes start that ignore Ctrl-C. It reaches all of a terminal; this one ends the others."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _attempt(place: int, job: Job) -> tuple[int, Run]:
    try:
        result = run(job.scenario)
    except InputError as error:
        return place, job.done(None, error=str(error))
    except Exception as error:
        # Whatever it is, it must not lose the other runs.
        return place, job.done(None, error=f"{type(error).__name__}: {error}")
    return place, job.done(result.summary, result.notes)


def _check_distinct(jobs: Sequence[Job]) -> None:
    """Refuse points that differ in how they are written only."""
    seen: dict[tuple[Any, ...], Mapping[str, str]] = {}
    for job in jobs:
        same = job.name, job.scenario.seed, job.scenario.timing.draw
        values = (*same, *(job.done(None).value(key) for key in job.written))
        other = seen.setdefault(values, job.written)
        for key, text in job.written.items():
            if other[key] != text:
                raise InputError(f"--set {key}: {other[key]} and {text} are the same value; give it once")
