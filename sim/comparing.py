"""Runs several scenarios at the same points with the same seeds, in parallel processes; reads saved ones.

sources, --set, seeds -> plan -> jobs, saved runs -> execute -> sim.results.compared.Comparison
"""

import signal
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sim.errors import InputError
from sim.overrides import Overrides, as_texts
from sim.points import combinations, read_axes
from sim.progress import count_bar
from sim.result import RunResult
from sim.results.compared import Comparison, Run
from sim.results.saved import is_folder, read_runs
from sim.running import run
from sim.scenario import Scenario, load_scenario
from sim.shipped import short_name

OnRun = Callable[[Run], None]
"""Called with every run as it ends."""

Source = str | Path | Scenario | RunResult | Comparison | Sequence[RunResult]
"""What takes part: a scenario (its name, its file, or loaded), or what ran already (a folder, or results)."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run to make."""

    name: str
    """What the comparison calls the scenario."""
    scenario: Scenario
    settings: Mapping[str, Any]
    """The scenario as scenario.toml would have it, with the first of the seeds."""
    written: Mapping[str, str]
    """The swept keys and their values here, as the user wrote them."""

    def done(self, summary: Mapping[str, Any] | None, notes: Sequence[str] = (), error: str = "") -> Run:
        """Return what it came to."""
        return Run(self.name, self.settings, self.written, self.scenario.seed, summary, notes, error)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a comparison is made of."""

    names: list[str]
    """The scenarios, the one first that the others are compared with."""
    saved: list[Run]
    """Runs that were read."""
    jobs: list[Job]
    """Runs to make."""


def compare(
    *sources: Source | Mapping[str, Source],
    overrides: Overrides = (),
    repeat: int | None = None,
    jobs: int | None = None,
) -> Comparison:
    """Run scenarios with the same seeds, or take what ran already, and put them side by side.

    Args:
        sources: names of shipped scenarios, TOML files, scenarios, results of `run` (a list of them: one
            scenario's seeds), other comparisons, or folders of either. The first is what the others are
            compared with. A mapping gives each one the name of its key: `{"default": "agg8", "mine": mine}`.
        overrides: what to change in all scenarios: `{"workload.sessions": [12, 20]}`. A list, or `"12:28:8"`
            as text, makes points: every combination is run.
        repeat: seeds, from the first scenario's own on, the same for all; one if not given. Intervals take
            two or more.
        jobs: runs at a time, in processes; as many as there are cores if not given.

    Raises:
        InputError: a source or an override cannot be used, or no run came to its end. Where only some did
            not, a warning says why.

    """
    named: dict[str, Source] | list[Source] = []
    if len(sources) == 1 and isinstance(sources[0], Mapping):
        named = dict(sources[0])
    else:
        named = [source for source in sources if not isinstance(source, Mapping)]
    if len(named) == 0 or any(isinstance(source, Mapping) for source in sources[1:]):
        raise InputError("compare: give scenarios or results, or one mapping of them by name")
    made = plan(named, as_texts(overrides, points=True), repeat)
    with count_bar("comparing", len(made.jobs)) as on_one_more:
        comparison = execute(made, processes(jobs, made), lambda _: on_one_more())
    failures = [f"{run.scenario}, seed {run.seed}: {run.error}" for run in comparison.failed]
    if len(failures) == len(comparison.runs):
        raise InputError("\n".join(failures))
    for failure in failures:
        warnings.warn(failure, stacklevel=2)
    return comparison


def processes(jobs: int | None, plan: Plan) -> int:
    """Return how many runs to make at a time: so many, or as there are cores and runs."""
    from joblib import cpu_count  # noqa: PLC0415 - slow to import

    return jobs or max(1, min(cpu_count(), len(plan.jobs)))


def plan(
    sources: Sequence[Source] | Mapping[str, Source],
    overrides: Sequence[str] = (),
    repeat: int | None = None,
) -> Plan:
    """Return what is to be run, and read what has been.

    Args:
        sources: scenarios and results, perhaps by the names that they are to have.
        overrides: `key=value` for all scenarios; lists and ranges make points (`sim.points`).
        repeat: seeds, from the first scenario's own on, the same for all; one if not given.

    Raises:
        InputError: a source or an override cannot be used.

    """
    named = dict(sources) if isinstance(sources, Mapping) else _named(sources)
    ran = {name: source for name, source in named.items() if _ran(source)}
    scenarios = {
        name: source
        for name, source in named.items()
        if name not in ran and isinstance(source, str | Path | Scenario)
    }
    if not scenarios and (overrides or repeat):
        option = "--set" if overrides else "--repeat"
        raise InputError(
            f"{option}: {', '.join(map(_told, ran.values()))} ran already; give a scenario to run"
        )
    saved = {name: _runs(source, name) for name, source in ran.items()}
    _keep_apart(named, saved)
    order = dict.fromkeys(
        column for name in named for column in [run.scenario for run in saved.get(name, [])] or [name]
    )
    runs = [run for found in saved.values() for run in found]
    return Plan(list(order), runs, _jobs(scenarios, overrides, repeat or 1) if scenarios else [])


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


def _ran(source: Source) -> bool:
    return is_folder(source) if isinstance(source, str | Path) else not isinstance(source, Scenario)


def _runs(source: Source, name: str) -> list[Run]:
    """Return the runs of what ran already."""
    if isinstance(source, Comparison):
        return list(source.runs)
    if isinstance(source, str | Path):
        return read_runs(Path(source), name)
    results = [source] if isinstance(source, RunResult) else source
    if not results or not all(isinstance(result, RunResult) for result in results):
        raise InputError(f"{name}: give a scenario, a folder, or results of run")
    return [
        Run(name, result.scenario.to_dict(), {}, result.scenario.seed, result.to_dict(), result.notes)
        for result in results
        if isinstance(result, RunResult)
    ]


def _told(source: Source) -> str:
    """Return what to call a source where nobody has named it."""
    if isinstance(source, str | Path):
        return str(source)
    if isinstance(source, Comparison):
        return ", ".join(source.scenarios)
    if isinstance(source, Scenario):
        return source.title
    return source.name if isinstance(source, RunResult) else _told(source[0])


def _named(sources: Sequence[Source]) -> dict[str, Source]:
    """Return the sources by what the comparison calls each: the last part of a path where that is enough."""
    told = [_told(source) for source in sources]
    for name in told:
        if told.count(name) > 1:
            raise InputError(f"{name}: is given twice")
    short = [
        short_name(source) if isinstance(source, str | Path) else name
        for source, name in zip(sources, told, strict=True)
    ]
    names = [
        name if name and short.count(name) == 1 else long for name, long in zip(short, told, strict=True)
    ]
    return dict(zip(names, sources, strict=True))


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


def _jobs(scenarios: Mapping[str, str | Path | Scenario], overrides: Sequence[str], repeat: int) -> list[Job]:
    """Return every run to make: points slowest, then seeds, then scenarios."""
    fixed, axes = read_axes(overrides)
    if any(axis.key == "seed" for axis in axes):
        raise InputError("--set seed: several seeds are repeats, not points; give --repeat")
    jobs = []
    for written in combinations(axes):
        changes = [*fixed, *(f"{key}={value}" for key, value in written.items())]
        loaded = {name: load_scenario(source, changes) for name, source in scenarios.items()}
        first = next(iter(loaded.values())).seed
        seeded = {name: scenario.model_copy(update={"seed": first}) for name, scenario in loaded.items()}
        settings = {name: scenario.to_dict() for name, scenario in seeded.items()}
        jobs += [
            Job(name, scenario.model_copy(update={"seed": seed}), settings[name], written)
            for seed in range(first, first + repeat)
            for name, scenario in seeded.items()
        ]
    _check_distinct(jobs)
    return jobs


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
    return place, job.done(result.to_dict(), result.notes)


def _check_distinct(jobs: Sequence[Job]) -> None:
    """Refuse points that differ in how they are written only."""
    seen: dict[tuple[Any, ...], Mapping[str, str]] = {}
    for job in jobs:
        values = (job.name, job.scenario.seed, *(job.done(None).value(key) for key in job.written))
        other = seen.setdefault(values, job.written)
        for key, text in job.written.items():
            if other[key] != text:
                raise InputError(f"--set {key}: {other[key]} and {text} are the same value; give it once")
