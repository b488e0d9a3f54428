"""Makes the runs that rows need: every point once for each workload, seed and draw of coefficients."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from sim.compare import Job, Plan, execute
from sim.errors import InputError
from sim.results.compared import Run
from sim.scenario import Scenario, load_scenario
from sim.talk.cells import Cell, Numbers, Point
from sim.talk.fingerprint import of_run
from sim.talk.store import Store
from sim.talk.targets import Target

GENERATED = "generated"


class Workload(NamedTuple):
    """What is sent."""

    name: str
    settings: tuple[str, ...] = ()
    """What it sets in a scenario; empty: the scenario's own, sessions generated anew for every seed."""


class Replicate(NamedTuple):
    """One of several runs of a point."""

    seed: int
    draw: int | None
    """Of all coefficients over what is known of them; None: their values."""


@dataclass(frozen=True, slots=True)
class Plans:
    """What is run for every point."""

    workloads: Sequence[Workload]
    replicates: Sequence[Replicate]
    overrides: Sequence[str] = ()
    """For every scenario: one variant of the simulator."""

    @property
    def workload_names(self) -> list[str]:
        """The names of the workloads, in order."""
        return [workload.name for workload in self.workloads]


class Study:
    """The numbers of all runs that were made."""

    def __init__(
        self, plans: Plans, keys: dict[tuple[str, Point, Replicate], str], store: Store, times: str
    ) -> None:
        """Arrange what the store holds."""
        self.plans = plans
        self.times = times
        """What the step times rest on."""
        self._keys = keys
        self._store = store

    def values(self, target: Target, cell: Cell, workload: str) -> list[float]:
        """Return a row's number in a cell for every replicate that has it, in the row's unit."""
        found = (
            cell.value(target, [self._numbers(workload, point, replicate) for point in cell.points])
            for replicate in self.plans.replicates
        )
        return [value for value in found if value is not None]

    def fingerprint(self, workload: str, points: Sequence[Point]) -> list[str]:
        """Return the fingerprints of a cell's runs."""
        return [self._keys[workload, point, run] for point in points for run in self.plans.replicates]

    def records(self) -> Iterator[tuple[str, Point, Replicate, str, Numbers]]:
        """Yield every run: workload, point, replicate, fingerprint, numbers."""
        for (workload, point, replicate), key in self._keys.items():
            yield workload, point, replicate, key, self._store[key]

    def _numbers(self, workload: str, point: Point, replicate: Replicate) -> Numbers:
        return self._store[self._keys[workload, point, replicate]]


def replicates(seeds: int, draws: int) -> list[Replicate]:
    """Return every seed from 0 on with every draw from 1 on; without draws, the seeds."""
    numbers = range(1, draws + 1) if draws else [None]
    return [Replicate(seed, draw) for seed, draw in product(range(seeds), numbers)]


def make(
    points: Sequence[Point],
    plans: Plans,
    store: Store,
    processes: int,
    on_total: Callable[[int], Callable[[], None]] = lambda total: lambda: None,
) -> Study:
    """Make the runs that the store does not hold yet.

    Args:
        points: what is run.
        plans: with what it is run.
        store: takes every run as it ends.
        processes: runs at a time.
        on_total: is told how many runs are to be made; what it returns is called after each.

    Raises:
        InputError: a scenario is wrong, or a run failed.

    """
    keys: dict[tuple[str, Point, Replicate], str] = {}
    jobs: dict[str, Job] = {}
    for workload, point, replicate in product(plans.workloads, points, plans.replicates):
        scenario = scenario_at(workload, point, replicate, plans.overrides)
        key = of_run(scenario)
        keys[workload.name, point, replicate] = key
        if key not in store:
            jobs[key] = Job(key, scenario, {}, {})
        times = scenario.coefficients()
    on_one_more = on_total(len(jobs))

    def on_run(run: Run) -> None:
        if run.summary is None:
            job = jobs[run.scenario].scenario
            raise InputError(f"{job.title}, {job.workload.sessions} sessions, seed {job.seed}: {run.error}")
        store.add(run.scenario, run.numbers)
        on_one_more()

    execute(Plan(list(jobs), [], list(jobs.values())), processes, on_run)
    return Study(plans, keys, store, f"{times.origin}: {times.summary}")


def scenario_at(workload: Workload, point: Point, replicate: Replicate, overrides: Sequence[str]) -> Scenario:
    """Return what one run of a point runs."""
    draw = [] if replicate.draw is None else [f"timing.draw={replicate.draw}"]
    settings = (*workload.settings, *point.settings, *overrides, *draw)
    return _loaded(point.configuration, settings).model_copy(update={"seed": replicate.seed})


@lru_cache(maxsize=64)
def _loaded(configuration: str, settings: tuple[str, ...]) -> Scenario:
    return load_scenario(configuration, settings)
