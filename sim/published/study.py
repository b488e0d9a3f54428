"""Makes the runs that rows need: every point once for each workload, seed and draw of coefficients."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from sim.base.errors import InputError
from sim.experiments.jobs.engine import Engine
from sim.experiments.jobs.execute import execute
from sim.experiments.jobs.fingerprint import fingerprint
from sim.experiments.jobs.job import Job
from sim.published.cells import Cell, Point
from sim.published.measures import Numbers
from sim.published.sets import Replicate, by_set
from sim.published.targets import Target
from sim.runs.journal import Journal
from sim.runs.run import Run
from sim.runs.versions import versions_in
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario

GENERATED = "generated"
SESSIONS = "workload.sessions"


class Workload(NamedTuple):
    """What is sent, and how often."""

    name: str
    replicates: tuple[Replicate, ...]
    settings: tuple[str, ...] = ()
    """What it sets in a scenario; empty: the scenario's own, sessions generated anew for every seed."""


class Source(NamedTuple):
    """What a configuration is: a scenario under settings."""

    scenario: str | Path
    """Its file, or a shipped one's name."""
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plans:
    """What is run for every point."""

    workloads: Sequence[Workload]
    overrides: Sequence[str] = ()
    """One variant of the simulator: for every configuration that has the section which they are of."""
    sources: Mapping[str, Source] = field(default_factory=dict)
    """Configurations that are no shipped scenarios."""
    level: str = SESSIONS
    """The scenario's key that the level of a point is of."""

    def source(self, configuration: str) -> Source:
        """Return what a configuration is."""
        return self.sources.get(configuration, Source(configuration))


class Made(NamedTuple):
    """A run that was made."""

    workload: str
    point: Point
    replicate: Replicate
    scenario: Scenario
    run: Run

    @property
    def hung(self) -> bool:
        """Whether requests were left that could never end: a benchmark that gives no numbers."""
        return bool(self.run.numbers["requests.unfinished"])

    @property
    def numbers(self) -> Numbers:
        """Its numbers; none of a run that hung."""
        return {} if self.hung else self.run.numbers


class Study:
    """All runs that were made."""

    def __init__(self, plans: Plans, made: Sequence[Made]) -> None:
        """Arrange the runs."""
        self.plans = plans
        self.made = made
        times = made[0].scenario.coefficients() if made else None
        self.times = f"{times.origin}: {times.summary}" if times else "none, no row needs a run"
        """What the step times rest on."""
        summaries = [one.run.summary for one in made if one.run.summary is not None]
        self.versions = versions_in(summaries)
        """Whose rules the runs follow."""
        self._by_place = {(one.workload, one.point, one.replicate): one for one in made}

    def values(self, target: Target, cell: Cell, workload: Workload) -> list[float]:
        """Return a row's number in a cell for every replicate that has it, in the row's unit.

        Of replicates that are of sets, for every set.
        """
        found = (
            (
                one,
                cell.value(
                    target, [self._by_place[workload.name, point, one].numbers for point in cell.points]
                ),
            )
            for one in workload.replicates
        )
        return by_set((one, value) for one, value in found if value is not None)

    def fingerprints(self, workload: Workload, cell: Cell) -> list[str]:
        """Return the fingerprints of a cell's runs."""
        return [
            fingerprint(self._by_place[workload.name, point, one].scenario)
            for point in cell.points
            for one in workload.replicates
        ]


OnTotal = Callable[[int], Callable[[], None]]
"""Is told how many runs there are; what it returns is called after each."""


@dataclass(frozen=True, slots=True)
class Maker:
    """How runs are made, and where they are kept."""

    engine: Engine
    journal: Journal | None = None
    """Has runs that are not made again."""
    on_total: OnTotal = lambda total: lambda: None


def make(points: Sequence[Point], plans: Plans, maker: Maker) -> Study:
    """Make the runs of all points.

    Raises:
        InputError: a scenario is wrong, or a run failed.

    """
    places = [
        (workload.name, point, one, scenario_at(workload, point, one, plans))
        for workload in plans.workloads
        for point, one in product(points, workload.replicates)
    ]
    jobs = [Job(point.configuration, scenario, {}, {}) for _, point, _, scenario in places]
    on_one_more = maker.on_total(len(jobs))

    def on_run(run: Run) -> None:
        if run.summary is None:
            raise InputError(f"{run.scenario}, seed {run.seed}: {run.error}")
        on_one_more()

    runs = execute(jobs, maker.engine, on_run, maker.journal)
    return Study(plans, [Made(*place, run) for place, run in zip(places, runs, strict=True)])


def scenario_at(workload: Workload, point: Point, replicate: Replicate, plans: Plans) -> Scenario:
    """Return what one run of a point runs."""
    draw = [] if replicate.draw is None else [f"timing.draw={replicate.draw}"]
    sessions = [] if replicate.set is None else [f"workload.session_set={replicate.set}"]
    source = plans.source(point.configuration)
    own = (*source.settings, *workload.settings, *point.settings(plans.level))
    settings = (*own, *heard(source, plans.overrides), *sessions, *draw)
    return _loaded(source.scenario, settings).model_copy(update={"seed": replicate.seed})


def heard(source: Source, overrides: Sequence[str]) -> list[str]:
    """Return the overrides that mean anything to a configuration."""
    lacking = _lacking(source)
    return [text for text in overrides if not text.startswith(lacking)]


@cache
def _lacking(source: Source) -> tuple[str, ...]:
    """Return the sections, with a dot, that mean nothing to a configuration."""
    scenario = load_scenario(source.scenario, source.settings)
    has = {"offload.": scenario.offload is not None, "disaggregation.": scenario.workers.count is None}
    return tuple(section for section, there in has.items() if not there)


@lru_cache(maxsize=64)
def _loaded(scenario: str | Path, settings: tuple[str, ...]) -> Scenario:
    return load_scenario(scenario, settings)
