"""What the talk prints, as rows: a number, the cluster and session counts it is of, and what it may be.

The file is `calibration/published/talk/targets.csv`; "Benchmarking Disaggregated Serving on vLLM + Dynamo with a Real
Coding-Agent Workload", K. Tsuyuzaki, vLLM Community Meetup Tokyo 4, 9 October 2026.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, FiniteFloat, PositiveInt, ValidationError, model_validator

from sim.base.errors import InputError
from sim.base.first_problem import first_problem
from sim.base.settings import Settings
from sim.base.shipped import did_you_mean, scenario_names, shipped_root
from sim.results.quantities import check_number, names_before_runs

SESSION_STEP = 4
"""A range of session counts stands for its multiples of this."""

Kind = Literal["static", "dynamic", "information"]
Combine = Literal["each", "difference", "ratio", "open-loop less turn-dependent"]
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


def _empty_is_none(value: object) -> object:
    return None if value == "" else value


def _words(value: object) -> object:
    return tuple(value.split()) if isinstance(value, str) else value


Sessions = Annotated[PositiveInt | None, BeforeValidator(_empty_is_none)]
Limit = Annotated[FiniteFloat | None, BeforeValidator(_empty_is_none)]
Words = Annotated[tuple[str, ...], BeforeValidator(_words)]


class Target(Settings):
    """A row of the file; fields are its columns."""

    id: str
    kind: Kind
    """Static: needs no run. Information: has no number, is not scored."""
    metric: str
    """Dynamic: the name of a number in the JSON summary."""
    unit: str
    """Of low and high; "ms" is the only one that differs from the summary's."""
    configurations: Words = ()
    """Shipped scenarios."""
    combine: Annotated[Combine | None, BeforeValidator(_empty_is_none)] = None
    """Each on its own; the size of the second less the first; the first over the second; or each replayed in
    two ways."""
    replay: str = ""
    sessions_min: Sessions = None
    sessions_max: Sessions = None
    excepted: Words = Field(default=(), alias="except")
    """configuration@sessions: places in the range that the row does not speak of."""
    holds: Annotated[Holds | None, BeforeValidator(_empty_is_none)] = None
    """Whether a row holds that holds everywhere, or one that holds anywhere."""
    relation: Literal["in", "about", "at least", "at most", "close to turn-dependent"]
    low: Limit = None
    high: Limit = None
    tolerance: Limit = None
    """Relative, of relation "about"."""
    may_be_fitted: Literal["yes", "no"]
    """Whether coefficients may be fitted to it; every other row is a prediction."""
    slide: PositiveInt
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
        if self.combine in {"difference", "ratio"} and len(self.configurations) != 2:
            raise ValueError(f"combine = {self.combine} takes two configurations")
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
        """The session counts that it speaks of: multiples of 4 in its range."""
        if self.sessions_min is None or self.sessions_max is None:
            return ()
        first = -(-self.sessions_min // SESSION_STEP) * SESSION_STEP
        return tuple(range(first, self.sessions_max + 1, SESSION_STEP))

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


def shipped_targets() -> Path:
    """Return the file that comes with the simulator."""
    return shipped_root() / "calibration" / "published" / "talk" / "targets.csv"


def read_targets(path: Path) -> TargetFile:
    """Return the rows of a file with the columns of `Target`.

    Raises:
        InputError: the file cannot be read, or a row is wrong; names line, column and value.

    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {error}") from error
    rows = tuple(_rows(csv.DictReader(lines), path))
    if not rows:
        raise InputError(f"{path}: holds no row")
    names = [row.id for row in rows]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{path}: id = {twice}: is there twice")
    return TargetFile(path, rows)


def _rows(reader: "csv.DictReader[str]", path: Path) -> Iterator[Target]:
    for record in reader:
        try:
            row = Target.model_validate(_without_missing(record))
        except ValidationError as error:
            raise InputError(f"{path}: line {reader.line_num}: {first_problem(error)}") from error
        where = f"{path}: line {reader.line_num}:"
        if row.kind == "dynamic":
            check_number(row.metric, names_before_runs(), f"{where} metric")
        for name in row.configurations:
            if name not in scenario_names():
                known = did_you_mean(name, scenario_names())
                raise InputError(f"{where} configurations = {name}: no shipped scenario{known}")
        yield row


def _without_missing(record: Mapping[str, str | None]) -> dict[str, str]:
    """Leave out columns that a short line does not reach: the model says which of them it needs."""
    return {name: value for name, value in record.items() if value is not None}
