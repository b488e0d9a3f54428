"""What is printed of a published cluster, as rows: a number, the places that it is of, and what it may be."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import AliasChoices, BeforeValidator, Field, FiniteFloat, PositiveInt, model_validator

from sim.base.errors import InputError
from sim.base.messages import did_you_mean
from sim.base.settings import Settings
from sim.base.shipped import scenario_names
from sim.published.csv_rows import Words, empty_is_none, read_rows
from sim.published.measures import (
    MADE,
    MOST_LEVEL,
    SHARES,
    UNITS,
    Level,
    ReadLevel,
    ReadTolerance,
    check_unit,
    without_tag,
)
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
    """A configuration at a level, such as so many sessions."""

    configuration: str
    level: Level | None


Number = Annotated[int | None, Field(gt=0, le=MOST_LEVEL), BeforeValidator(empty_is_none)]
Limit = Annotated[FiniteFloat | None, BeforeValidator(empty_is_none)]


_OF_PRINTED = {"combine": "each", "holds": "every", "relation": "about"}
"""What a row is whose number is printed as it is."""


class Target(Settings):
    """A row of the file; fields are its columns.

    Either a number is printed of one configuration at one level, with a tolerance; or a relation says what a
    number, or what is made of two, may be at every level of a range, or at any.
    """

    id: str
    """In files, and where one line has to do."""
    title: str = ""
    """What a person reads of it; empty: its configurations, and what its number is called."""
    kind: Kind
    """Static: needs no run. Information: has no number, is not scored."""
    metric: str
    """Dynamic: the name of a number in the JSON summary, or one of `measures.MADE`. Static: a name that
    `study.toml` explains; of a row that names a configuration, one of `static.MemoryNumber`."""
    unit: str
    """Of printed, low and high: one of `measures.UNITS`."""
    configurations: Words = ()
    """Variants or scenarios of the cluster's folder, else shipped scenarios."""
    level: ReadLevel = None
    """What the cluster's level is set to; empty: the scenario's own. Of a cluster whose level is a tag: the
    number that stands for the tag, whose numbers `metric` names."""
    printed: Limit = None
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
    tolerance: ReadTolerance = None
    """Around what is printed, or of relation "about"."""
    may_be_fitted: Literal["yes", "no"] = Field(validation_alias=AliasChoices("fitted", "may_be_fitted"))
    """Whether coefficients may be fitted to it, or were; every other row is a prediction."""
    slide: Number = None
    """Or page, that prints it."""
    tag_level: bool = False
    """Whether the level stands for a tag: of the cluster, no column."""
    session_step: PositiveInt = 1
    """A range of session counts stands for its multiples of this; not given: the cluster's."""
    note: str = Field(default="", validation_alias=AliasChoices("why", "note"))
    """Why this tolerance, what may differ."""

    @model_validator(mode="before")
    @classmethod
    def _printed_as_it_is(cls, columns: Any) -> Any:
        if not isinstance(columns, dict) or columns.get("printed") in (None, ""):
            return columns
        return {**columns, **{name: columns.get(name) or usual for name, usual in _OF_PRINTED.items()}}

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.printed is not None:
            self._check_printed()
            return self
        if self.level is not None:
            raise ValueError(f"level = {self.level}: only beside printed; a range has sessions_min and _max")
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
        self._check_points()
        return self

    def _check_printed(self) -> None:
        if self.kind == "information":
            raise ValueError("printed: information has no number")
        others = ("low", "high", "sessions_min", "sessions_max", "excepted")
        for name in others:
            if getattr(self, name):
                raise ValueError(f"{name}: not beside printed, which is of one place")
        for name, usual in _OF_PRINTED.items():
            if (found := getattr(self, name)) != usual:
                raise ValueError(f"{name} = {found}: is {usual} beside printed")
        if self.tolerance is None:
            raise ValueError('printed needs a tolerance, such as 0.15, or "3 points" of a share')
        if len(self.configurations) > 1 or (self.kind == "dynamic" and not self.configurations):
            raise ValueError("printed is of one configuration")
        self._check_points()

    def _check_points(self) -> None:
        if self.tolerance and self.tolerance.points and self.unit not in SHARES:
            raise ValueError(f"tolerance = {self.tolerance}: unit must be {' or '.join(SHARES)}")

    @property
    def name(self) -> str:
        """What tables and pictures call it."""
        return self.title or self.id

    @property
    def number(self) -> str:
        """The name of its number, without the tag where the level says which that is."""
        return without_tag(self.metric) if self.tag_level and self.level is not None else self.metric

    @property
    def band(self) -> Band:
        """What the number may be, in the row's unit."""
        low, high = (self.low, self.high) if self.printed is None else (self.printed, self.printed)
        if self.tolerance is None or self.relation != "about":
            return Band(low, high)
        around = self.tolerance.around(low or 0.0, high or 0.0, self.unit)
        return Band(None if low is None else around[0], None if high is None else around[1])

    @property
    def one_number(self) -> float | None:
        """The number that is printed, in the row's unit; None where a limit or a range is."""
        if self.printed is not None:
            return self.printed
        return self.low if self.relation == "about" and self.low == self.high else None

    @property
    def scale(self) -> float:
        """How many of its unit are one of the summary's."""
        return UNITS.get(self.unit, 1.0)

    @property
    def fitted(self) -> bool:
        """Whether coefficients may be fitted to it."""
        return self.may_be_fitted == "yes"

    @property
    def memory_of(self) -> str:
        """The configuration whose memory a static row is of; "": what `study.toml` says of its metric."""
        return self.configurations[0] if self.printed is not None and self.configurations else ""

    @property
    def levels(self) -> tuple[Level | None, ...]:
        """The levels that it speaks of: its own; of a range of sessions, multiples of the step."""
        if self.printed is not None:
            return (self.level,)
        if self.sessions_min is None or self.sessions_max is None:
            return ()
        first = -(-self.sessions_min // self.session_step) * self.session_step
        return tuple(range(first, self.sessions_max + 1, self.session_step))

    def speaks_of(self, place: Place) -> bool:
        """Return whether a place in its range is no exception."""
        return f"{place.configuration}@{place.level}" not in self.excepted


@dataclass(frozen=True, slots=True)
class TargetFile:
    """All rows, and where they are from."""

    path: Path
    rows: tuple[Target, ...]

    def of_kind(self, kind: Kind) -> list[Target]:
        """Return the rows of a kind."""
        return [row for row in self.rows if row.kind == kind]


def read_targets(
    path: Path, own: Collection[str] = (), *, session_step: int = 1, tag_level: bool = False
) -> TargetFile:
    """Return the rows of a file with the columns of `Target`.

    Args:
        path: the file.
        own: configurations that are no shipped scenarios.
        session_step: of rows that do not say.
        tag_level: whether levels stand for tags of a run.

    Raises:
        InputError: the file cannot be read, or a row is wrong; names line, column and value.

    """
    known = {*scenario_names(), *own}
    rows: dict[str, Target] = {}
    for where, row in read_rows(path, Target, {"session_step": session_step, "tag_level": tag_level}):
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
    if row.metric not in MADE:
        check_number(row.metric, names_before_runs(), f"{where} metric")
    if row.printed is not None:
        check_unit(row.metric, row.unit, where)
    if row.tag_level:
        _check_tag(row, where)
    clients = get_args(ReplaySettings.model_fields["client"].annotation)
    if row.replay not in clients and not (row.printed is not None and not row.replay):
        raise InputError(f"{where} replay = {row.replay!r}: must be one of {', '.join(clients)}")
    places = [f"{name}@{level}" for name in row.configurations for level in row.levels]
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
        enough(row.speaks_of(Place(name, level)) for name in row.configurations) for level in row.levels
    ):
        raise InputError(f"{where} except = {' '.join(row.excepted)}: leaves no place of the row")


def _check_tag(row: Target, where: str) -> None:
    """Refuse a level that stands for no tag."""
    if row.printed is None:
        raise InputError(
            f"{where} sessions_min = {row.sessions_min}: levels are tags here, printed one by one"
        )
    if row.level is not None and without_tag(row.metric) == row.metric:
        raise InputError(f"{where} metric = {row.metric}: must be by_tag.TAG.NUMBER, of the tag of its level")
