"""Columns of numbers that most rows have no value for: one is as long as the last row that has one."""

from array import array
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Sparse:
    """A number by row; rows behind the end, all of them where a column is empty, have a default."""

    __slots__ = ("_default", "_values")

    def __init__(self, default: float) -> None:
        self._default = default
        self._values = array("d")

    def __len__(self) -> int:
        return len(self._values)

    def put(self, row: int, value: float) -> None:
        """Give a row a value; the rows before it that have none get the default."""
        missing = row - len(self._values)
        if missing >= 0:
            self._values.extend(array("d", [self._default]) * (missing + 1))
        self._values[row] = value

    def get(self, row: int) -> float:
        """Return what a row has."""
        return self._values[row] if row < len(self._values) else self._default


class Shared(Generic[T]):
    """Values of which many rows have the same, such as names of models."""

    __slots__ = ("_number_of", "_numbers", "_values")

    def __init__(self) -> None:
        self._numbers = Sparse(-1)
        self._number_of: dict[T, int] = {}
        self._values: list[T] = []

    def put(self, row: int, value: T) -> None:
        """Give a row a value."""
        number = self._number_of.setdefault(value, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        self._numbers.put(row, number)

    def __bool__(self) -> bool:
        """Whether any row has one."""
        return bool(self._values)

    def get(self, row: int) -> T | None:
        """Return what a row has."""
        number = int(self._numbers.get(row))
        return None if number < 0 else self._values[number]
