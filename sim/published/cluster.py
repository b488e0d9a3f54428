"""A published cluster as a folder: what is printed of it, what that leaves open, what stands beside it.

    study.toml          what it is, and what the rows need: see `ClusterSettings`
    targets.csv         what is printed, a row each: see `Target`
    assumptions.csv     what is left open: see `Assumption`; may be missing
    scenario.toml       what its variants set their settings in, where it has variants
    scenarios/          configurations that are no shipped scenarios, a TOML file each; may be missing

Those that are shipped stand in `calibration/published/`, with stored results beside.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from sim.base.errors import InputError
from sim.base.messages import did_you_mean, first_problem
from sim.base.shipped import published_path, read_toml, scenario_path
from sim.published.assumptions import Assumption
from sim.published.cells import Point, points
from sim.published.csv_rows import read_rows
from sim.published.sensitivity import narrowed
from sim.published.settings import ClusterSettings, FitSettings
from sim.published.static import OF_ANY, StaticScore, score_static
from sim.published.study import SESSIONS, Plans, Source, Workload, heard
from sim.published.targets import Target, TargetFile, read_targets
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario


@dataclass(frozen=True, slots=True)
class PublishedCluster:
    """A published cluster."""

    folder: Path
    settings: ClusterSettings
    targets: TargetFile
    assumptions: tuple[Assumption, ...]
    sources: Mapping[str, Source]
    """Its own configurations."""

    @property
    def file(self) -> Path:
        """Its settings."""
        return _file(self.folder)

    def plans(self, workloads: Sequence[Workload], overrides: Sequence[str]) -> Plans:
        """Return what is to be run for every point."""
        return Plans(workloads, overrides, self.sources, self.level)

    @property
    def level(self) -> str:
        """The scenario's key that the levels of rows are of."""
        return self.settings.level or SESSIONS

    def scenarios_key(self, points: Sequence[Point]) -> str:
        """Return a short text that differs once what these points run differs: scenario files and settings.

        Nothing of presets, coefficients and code is in it: those are in the fingerprints of runs.
        """
        digest = hashlib.sha256()
        for point in points:
            source = self.sources.get(point.configuration, Source(point.configuration))
            path = source.scenario if isinstance(source.scenario, Path) else scenario_path(source.scenario)
            settings = (*source.settings, *point.settings(self.level))
            digest.update(path.read_bytes() + "\n".join(settings).encode())
        return digest.hexdigest()[:16]

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
        source = self.sources.get(configuration, Source(configuration))
        return load_scenario(source.scenario, source.settings)


def read_cluster(name_or_folder: str, targets: Path | None = None) -> PublishedCluster:
    """Return a published cluster.

    Args:
        name_or_folder: a folder below `calibration/published/`, or the path of any.
        targets: rows in place of its own.

    Raises:
        InputError: no such folder, or what is in it cannot be used; names file, line or key, and value.

    """
    folder = published_path(name_or_folder)
    settings = _settings(_file(folder))
    sources = _sources(folder, settings)
    rows = read_targets(
        targets or folder / "targets.csv",
        sources,
        session_step=settings.session_step,
        tag_level=settings.tag_level,
    )
    named = [row.model_copy(update={"title": row.title or settings.row_name(row)}) for row in rows.rows]
    rows = TargetFile(rows.path, tuple(named))
    path = folder / "assumptions.csv"
    assumptions = [*read_rows(path, Assumption)] if path.exists() else []
    cluster = PublishedCluster(folder, settings, rows, tuple(row for _, row in assumptions), sources)
    _check_static(cluster)
    _check_levels(cluster)
    _check_variants(cluster)
    _check_settings(cluster, assumptions)
    return cluster


def _file(folder: Path) -> Path:
    """Return the file of a cluster's settings; one that was written down before has cluster.toml."""
    before = folder / "cluster.toml"
    return before if before.is_file() and not (folder / "study.toml").is_file() else folder / "study.toml"


def _sources(folder: Path, settings: ClusterSettings) -> dict[str, Source]:
    found = {path.stem: Source(path) for path in sorted((folder / "scenarios").glob("*.toml"))}
    for name, variant in settings.variants.items():
        if name in found:
            raise InputError(f"{_file(folder)}: variants.{name}: is a scenario of the folder already")
        found[name] = Source(folder / str(settings.scenario), variant.set)
    return found


def _settings(path: Path) -> ClusterSettings:
    try:
        return ClusterSettings.model_validate(read_toml(path))
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from error


def _check_static(cluster: PublishedCluster) -> None:
    """Refuse static rows whose metric nothing is said of."""
    static = cluster.settings.static
    for row in cluster.targets.of_kind("static"):
        if row.memory_of and row.metric not in OF_ANY:
            raise InputError(
                f"{cluster.targets.path}: {row.id}: metric = {row.metric}: is no number of a worker's memory"
                f"{did_you_mean(row.metric, OF_ANY)}"
            )
        if not row.memory_of and row.metric not in static.metrics:
            raise InputError(
                f"{cluster.targets.path}: {row.id}: metric = {row.metric}: [static] of {cluster.file} does "
                f"not say what it is{did_you_mean(row.metric, static.metrics)}"
            )
    for name, part in (("memory", static.memory), ("routing", static.routing)):
        if part is not None:
            with _named(f"{cluster.file}: static.{name}.configuration:"):
                cluster.scenario(part.configuration)


def _check_levels(cluster: PublishedCluster) -> None:
    """Refuse a level where nothing is said of what it sets, and A/B pairs of what is nowhere printed."""
    rows = [row for row in cluster.targets.rows if row.printed is not None]
    for row in rows:
        if row.level is not None and cluster.settings.level is None:
            raise InputError(
                f"{cluster.targets.path}: {row.id}: level = {row.level}: {cluster.file} has no level, the "
                f"scenario's key that it sets"
            )
    printed = {name for row in rows for name in row.configurations}
    for number, pair in enumerate(cluster.settings.ab):
        for side, name in (("base", pair.base), ("other", pair.other)):
            if name not in printed:
                raise InputError(
                    f"{cluster.file}: ab.{number}.{side} = {name}: nothing is printed of it"
                    f"{did_you_mean(name, printed)}"
                )


def _check_variants(cluster: PublishedCluster) -> None:
    """Refuse what no scenario can be made of: each configuration at the first level that is printed of it."""
    plans = cluster.plans([], ())
    firsts = {point.configuration: point for point in reversed(points(cluster.targets.of_kind("dynamic")))}
    for name in cluster.settings.variants:
        source, point = plans.source(name), firsts.get(name)
        with _named(f"{cluster.file}: variants.{name}:"):
            load_scenario(
                source.scenario, (*source.settings, *(point.settings(plans.level) if point else ()))
            )


def _check_settings(cluster: PublishedCluster, assumptions: Sequence[tuple[str, Assumption]]) -> None:
    """Refuse what baselines and assumptions set, where the first configuration that it is for refuses it."""
    plans = cluster.plans([], ())
    rows = points(cluster.targets.of_kind("dynamic"))
    sources = [plans.source(name) for name in dict.fromkeys(point.configuration for point in rows)]
    scenarios = [load_scenario(source.scenario, source.settings) for source in sources]

    def check(settings: Sequence[str]) -> None:
        for source in sources:
            if own := heard(source, settings):
                load_scenario(source.scenario, (*source.settings, *own))
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
