"""What is printed of a published cluster, as rows: a number, the places that it is of, and what it may be."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self, get_args

from pydantic import BeforeValidator, Field, FiniteFloat, PositiveInt, model_validator

from sim.base.errors import InputError
from sim.base.messages import did_you_mean
from sim.base.settings import Settings
from sim.base.shipped import scenario_names
from sim.published.csv_rows import Words, empty_is_none, read_rows
from sim.results.quantities import check_number, names_before_runs
from sim.workload.settings import ReplaySettings

Kind = Literal["static", "dynamic", "information"]
Combine = Literal["each", "difference", "ratio", "open-loop less turn-dependent"]
PAIRS: frozenset[Combine | None] = frozenset(("difference", "ratio"))
"""Are of two configurations."""
Holds = Literal["every", "any"]


class Band(NamedTuple):
    """What a number may be, both ends included; None: no limit."""

    low: float | None
    high: float | None

    def holds(self, value: float) -> bool:
        """Return whether a number lies in the band."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


class Place(NamedTuple):
    """A configuration with so many sessions."""

    configuration: str
    sessions: int


MOST_SESSIONS = 100_000
Number = Annotated[int | None, Field(gt=0, le=MOST_SESSIONS), BeforeValidator(empty_is_none)]
Limit = Annotated[FiniteFloat | None, BeforeValidator(empty_is_none)]


class Target(Settings):
    """A row of the file; fields are its columns."""

    id: str
    kind: Kind
    """Static: needs no run. Information: has no number, is not scored."""
    metric: str
    """Dynamic: the name of a number in the JSON summary. Static: a name that `cluster.toml` explains."""
    unit: str
    """Of low and high; "ms" is the only one that differs from the summary's."""
    configurations: Words = ()
    """Scenarios: of the cluster's folder, else shipped ones."""
    combine: Annotated[Combine | None, BeforeValidator(empty_is_none)] = None
    """Each on its own; the size of the second less the first; the first over the second; or each replayed in
    two ways."""
    replay: str = ""
    sessions_min: Number = None
    sessions_max: Number = None
    excepted: Words = Field(default=(), alias="except")
    """configuration@sessions: places in the range that the row does not speak of."""
    holds: Annotated[Holds | None, BeforeValidator(empty_is_none)] = None
    """Whether a row holds that holds everywhere, or one that holds anywhere."""
    relation: Literal["in", "about", "at least", "at most", "close to turn-dependent"]
    low: Limit = None
    high: Limit = None
    tolerance: Limit = None
    """Relative, of relation "about"."""
    may_be_fitted: Literal["yes", "no"]
    """Whether coefficients may be fitted to it; every other row is a prediction."""
    slide: Number = None
    """Or page, that prints it."""
    session_step: PositiveInt = 1
    """A range of session counts stands for its multiples of this; not given: the cluster's."""
    note: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed: dict[str, object] = {}
        if self.kind == "dynamic":
            needed = {
                "configurations": self.configurations,
                "combine": self.combine,
                "sessions_min": self.sessions_min,
                "sessions_max": self.sessions_max,
                "holds": self.holds,
            }
        if self.kind != "information":
            needed["low or high"] = self.low is not None or self.high is not None
        if missing := [name for name, value in needed.items() if not value]:
            raise ValueError(f"a {self.kind} row needs {', '.join(missing)}")
        if self.combine in PAIRS and len(self.configurations) != 2:
            raise ValueError(f"combine = {self.combine} takes two configurations")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low = {self.low:g} is above high = {self.high:g}")
        return self

    @property
    def band(self) -> Band:
        """What the number may be, in the row's unit."""
        if self.relation == "about":
            slack = self.tolerance or 0.0
            return Band(_times(self.low, 1 - slack), _times(self.high, 1 + slack))
        return Band(self.low, self.high)

    @property
    def fitted(self) -> bool:
        """Whether coefficients may be fitted to it."""
        return self.may_be_fitted == "yes"

    @property
    def session_counts(self) -> tuple[int, ...]:
        """The session counts that it speaks of: multiples of the step in its range."""
        if self.sessions_min is None or self.sessions_max is None:
            return ()
        first = -(-self.sessions_min // self.session_step) * self.session_step
        return tuple(range(first, self.sessions_max + 1, self.session_step))

    def speaks_of(self, place: Place) -> bool:
        """Return whether a place in its range is no exception."""
        return f"{place.configuration}@{place.sessions}" not in self.excepted


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


@dataclass(frozen=True, slots=True)
class TargetFile:
    """All rows, and where they are from."""

    path: Path
    rows: tuple[Target, ...]

    def of_kind(self, kind: Kind) -> list[Target]:
        """Return the rows of a kind."""
        return [row for row in self.rows if row.kind == kind]


def read_targets(
    path: Path, sources: Mapping[str, Path] | None = None, *, session_step: int = 1
) -> TargetFile:
    """Return the rows of a file with the columns of `Target`.

    Args:
        path: the file.
        sources: configurations that are no shipped scenarios.
        session_step: of rows that do not say.

    Raises:
        InputError: the file cannot be read, or a row is wrong; names line, column and value.

    """
    known = {*scenario_names(), *(sources or {})}
    rows: dict[str, Target] = {}
    for where, row in read_rows(path, Target, {"session_step": session_step}):
        if row.id in rows:
            raise InputError(f"{where} id = {row.id}: is there twice")
        for name in row.configurations:
            if name not in known:
                raise InputError(f"{where} configurations = {name}: no scenario{did_you_mean(name, known)}")
        if row.kind == "dynamic":
            _check_dynamic(row, where)
        rows[row.id] = row
    if not rows:
        raise InputError(f"{path}: holds no row")
    return TargetFile(path, (*rows.values(),))


def _check_dynamic(row: Target, where: str) -> None:
    """Refuse what no run could answer."""
    check_number(row.metric, names_before_runs(), f"{where} metric")
    clients = get_args(ReplaySettings.model_fields["client"].annotation)
    if row.replay not in clients:
        raise InputError(f"{where} replay = {row.replay!r}: must be one of {', '.join(clients)}")
    places = [f"{name}@{count}" for name in row.configurations for count in row.session_counts]
    if not places:
        raise InputError(
            f"{where} sessions_min = {row.sessions_min}, sessions_max = {row.sessions_max}: must have a "
            f"multiple of {row.session_step} between them"
        )
    for place in row.excepted:
        if place not in places:
            raise InputError(f"{where} except = {place}: no place of the row{did_you_mean(place, places)}")
    enough = all if row.combine in PAIRS else any
    if not any(
        enough(row.speaks_of(Place(name, count)) for name in row.configurations)
        for count in row.session_counts
    ):
        raise InputError(f"{where} except = {' '.join(row.excepted)}: leaves no place of the row")
