"""A published cluster as a folder: what is printed of it, what that leaves open, what stands beside it.

    cluster.toml        its name, and what else the rows need: see `ClusterSettings`
    targets.csv         what is printed, a row each: see `Target`
    assumptions.csv     what is left open: see `Assumption`; may be missing
    scenarios/          configurations that are no shipped scenarios, a TOML file each; may be missing

Those that are shipped stand in `calibration/published/`, with stored results beside.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, PositiveInt, ValidationError, field_validator

from sim.base.errors import InputError
from sim.base.messages import did_you_mean, first_problem
from sim.base.settings import Settings
from sim.base.shipped import published_path, read_toml
from sim.hardware.coefficient_file import FrontendCoefficients
from sim.hardware.step_time import StepCoefficients
from sim.published.assumptions import Assumption
from sim.published.baselines import Baseline
from sim.published.cells import points
from sim.published.csv_rows import read_rows
from sim.published.sensitivity import narrowed
from sim.published.static import StaticScore, StaticSettings, score_static
from sim.published.study import Plans, Workload, heard
from sim.published.targets import Target, TargetFile, read_targets
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario


class FitSettings(Settings):
    """What a fit to the rows moves."""

    rows: str
    """What the rows that may be fitted are called: "rows of ..."."""
    coefficients: tuple[str, ...] = Field(min_length=1)
    """What these rows can tell anything of."""

    @field_validator("coefficients")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        known = [*StepCoefficients.model_fields, *FrontendCoefficients.model_fields]
        for name in names:
            if name not in known:
                raise ValueError(f"{name} is none{did_you_mean(name, known)}")
            if names.count(name) > 1:
                raise ValueError(f"{name} is there twice")
        return names


class ClusterSettings(Settings):
    """The file `cluster.toml`."""

    name: str
    """In sentences: "fitted to ..."."""
    source: str
    """Where it was published."""
    session_step: PositiveInt = 1
    """A range of session counts stands for its multiples of this."""
    typical_sessions: tuple[PositiveInt, ...] = ()
    """Session counts that stand for a range, or the nearest to them, where runs are many: in the study of
    assumptions and in a fit. None: all stand for themselves."""
    static: StaticSettings = StaticSettings()
    """What the metrics of static rows are."""
    baseline: tuple[Baseline, ...] = ()
    fit: FitSettings | None = None
    """Unset: nothing is fitted."""


@dataclass(frozen=True, slots=True)
class PublishedCluster:
    """A published cluster."""

    folder: Path
    settings: ClusterSettings
    targets: TargetFile
    assumptions: tuple[Assumption, ...]
    sources: Mapping[str, Path]
    """Its own scenarios, by the name of the configuration."""

    @property
    def file(self) -> Path:
        """Its settings."""
        return self.folder / "cluster.toml"

    def plans(self, workloads: Sequence[Workload], overrides: Sequence[str]) -> Plans:
        """Return what is to be run for every point."""
        return Plans(workloads, overrides, self.sources)

    def dynamic_rows(self) -> list[Target]:
        """Return the rows that need runs; raises InputError if there is none."""
        if not (rows := self.targets.of_kind("dynamic")):
            raise InputError(f"{self.targets.path}: has no dynamic row")
        return rows

    def fit(self) -> FitSettings:
        """Return what a fit moves; raises InputError if nothing is said of one."""
        if self.settings.fit is None:
            raise InputError(f"{self.file}: has no table [fit] with rows and coefficients")
        return self.settings.fit

    def fitted_rows(self) -> list[Target]:
        """Return the rows that coefficients may be fitted to; raises InputError if there is none."""
        rows = [row for row in self.dynamic_rows() if row.fitted]
        if not rows:
            raise InputError(f"{self.targets.path}: no dynamic row has may_be_fitted = yes")
        return rows

    def few_places(self, rows: Sequence[Target]) -> list[Target]:
        """Return rows that speak of typical session counts only."""
        return [narrowed(row, self.settings.typical_sessions) for row in rows]

    def static_scores(self) -> Iterator[StaticScore]:
        """Yield the scores of static rows."""
        for row in self.targets.of_kind("static"):
            yield score_static(row, self.settings.static, self.scenario)

    def scenario(self, configuration: str) -> Scenario:
        """Return the scenario of a configuration."""
        return load_scenario(self.sources.get(configuration, configuration))


def read_cluster(name_or_folder: str, targets: Path | None = None) -> PublishedCluster:
    """Return a published cluster.

    Args:
        name_or_folder: a folder below `calibration/published/`, or the path of any.
        targets: rows in place of its own.

    Raises:
        InputError: no such folder, or what is in it cannot be used; names file, line or key, and value.

    """
    folder = published_path(name_or_folder)
    settings = _settings(folder / "cluster.toml")
    sources = {path.stem: path for path in sorted((folder / "scenarios").glob("*.toml"))}
    rows = read_targets(targets or folder / "targets.csv", sources, session_step=settings.session_step)
    path = folder / "assumptions.csv"
    assumptions = [*read_rows(path, Assumption)] if path.exists() else []
    cluster = PublishedCluster(folder, settings, rows, tuple(row for _, row in assumptions), sources)
    _check_static(cluster)
    _check_settings(cluster, assumptions)
    return cluster


def _settings(path: Path) -> ClusterSettings:
    try:
        return ClusterSettings.model_validate(read_toml(path))
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from error


def _check_static(cluster: PublishedCluster) -> None:
    """Refuse static rows whose metric nothing is said of."""
    static = cluster.settings.static
    for row in cluster.targets.of_kind("static"):
        if row.metric not in static.metrics:
            raise InputError(
                f"{cluster.targets.path}: {row.id}: metric = {row.metric}: [static] of {cluster.file} does "
                f"not say what it is{did_you_mean(row.metric, static.metrics)}"
            )
    for name, part in (("memory", static.memory), ("routing", static.routing)):
        if part is not None:
            with _named(f"{cluster.file}: static.{name}.configuration:"):
                cluster.scenario(part.configuration)


def _check_settings(cluster: PublishedCluster, assumptions: Sequence[tuple[str, Assumption]]) -> None:
    """Refuse what baselines and assumptions set, where the first configuration that it is for refuses it."""
    plans = cluster.plans([], ())
    rows = points(cluster.targets.of_kind("dynamic"))
    sources = [plans.source(name) for name in dict.fromkeys(point.configuration for point in rows)]
    scenarios = [load_scenario(source) for source in sources]

    def check(settings: Sequence[str]) -> None:
        for source in sources:
            if own := heard(source, settings):
                load_scenario(source, own)
                return

    for number, baseline in enumerate(cluster.settings.baseline):
        with _named(f"{cluster.file}: baseline.{number} ({baseline.name}):"):
            check(baseline.settings)
    for where, assumption in assumptions:
        with _named(where):
            for moved in assumption.moved(scenarios):
                check(moved.variant.settings)


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Put where something stands before what is wrong with it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where} {error}") from error
