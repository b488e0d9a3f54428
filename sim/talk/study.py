"""Makes the runs that rows need: every point once for each workload, seed and draw of coefficients."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
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


class Replicate(NamedTuple):
    """One of several runs of a point."""

    seed: int
    draw: int | None
    """Of all coefficients over what is known of them; None: their values."""


class Workload(NamedTuple):
    """What is sent, and how often."""

    name: str
    replicates: Sequence[Replicate]
    settings: tuple[str, ...] = ()
    """What it sets in a scenario; empty: the scenario's own, sessions generated anew for every seed."""


@dataclass(frozen=True, slots=True)
class Plans:
    """What is run for every point."""

    workloads: Sequence[Workload]
    overrides: Sequence[str] = ()
    """One variant of the simulator: for every configuration, of [offload] for those that have one."""


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

    def values(self, target: Target, cell: Cell, workload: Workload) -> list[float]:
        """Return a row's number in a cell for every replicate that has it, in the row's unit."""
        found = (
            cell.value(target, [self._store[self._keys[workload.name, point, run]] for point in cell.points])
            for run in workload.replicates
        )
        return [value for value in found if value is not None]

    def fingerprints(self, workload: Workload, cell: Cell) -> list[str]:
        """Return the fingerprints of a cell's runs."""
        return [self._keys[workload.name, point, run] for point in cell.points for run in workload.replicates]

    def records(self) -> Iterator[tuple[str, Point, Replicate, str, Numbers]]:
        """Yield every run: workload, point, replicate, fingerprint, numbers."""
        for (workload, point, replicate), key in self._keys.items():
            yield workload, point, replicate, key, self._store[key]


def replicates(seeds: int, draws: int) -> list[Replicate]:
    """Return every seed from 0 on with every draw from 1 on; without draws, the seeds."""
    numbers = range(1, draws + 1) if draws else [None]
    return [Replicate(seed, draw) for seed, draw in product(range(seeds), numbers)]


OnTotal = Callable[[int], Callable[[], None]]
"""Is told how many runs are to be made; what it returns is called after each."""


@dataclass(frozen=True, slots=True)
class Runner:
    """How runs are made, and where they are kept."""

    store: Store
    processes: int = 1
    """Runs at a time; 1: in this process."""
    on_total: OnTotal = lambda total: lambda: None


def make(points: Sequence[Point], plans: Plans, runner: Runner) -> Study:
    """Make the runs of all points that the store does not hold yet.

    Raises:
        InputError: a scenario is wrong, or a run failed.

    """
    store = runner.store
    keys: dict[tuple[str, Point, Replicate], str] = {}
    jobs: dict[str, Job] = {}
    every = (
        (workload, *made) for workload in plans.workloads for made in product(points, workload.replicates)
    )
    for workload, point, replicate in every:
        scenario = scenario_at(workload, point, replicate, plans.overrides)
        key = of_run(scenario)
        keys[workload.name, point, replicate] = key
        if key not in store:
            jobs[key] = Job(key, scenario, {}, {})
        times = scenario.coefficients()
    on_one_more = runner.on_total(len(jobs))

    def on_run(run: Run) -> None:
        if run.summary is None:
            job = jobs[run.scenario].scenario
            raise InputError(f"{job.title}, {job.workload.sessions} sessions, seed {job.seed}: {run.error}")
        store.add(run.scenario, run.numbers)
        on_one_more()

    execute(Plan(list(jobs), [], list(jobs.values())), runner.processes, on_run)
    return Study(plans, keys, store, f"{times.origin}: {times.summary}")


def scenario_at(workload: Workload, point: Point, replicate: Replicate, overrides: Sequence[str]) -> Scenario:
    """Return what one run of a point runs."""
    draw = [] if replicate.draw is None else [f"timing.draw={replicate.draw}"]
    asked = [text for text in overrides if not text.startswith("offload.") or _offloads(point.configuration)]
    settings = (*workload.settings, *point.settings, *asked, *draw)
    return _loaded(point.configuration, settings).model_copy(update={"seed": replicate.seed})


@cache
def _offloads(configuration: str) -> bool:
    """Return whether a configuration has a CPU tier that settings of one can be of."""
    return load_scenario(configuration).offload is not None


@lru_cache(maxsize=64)
def _loaded(configuration: str, settings: tuple[str, ...]) -> Scenario:
    return load_scenario(configuration, settings)
