"""The rows of a trace file as columns: a million of them take the memory of their numbers."""

from array import array
from collections.abc import Iterator, Sequence
from math import isnan, nan
from operator import eq
from typing import overload

import numpy as np
from numpy.typing import NDArray

from sim.workload.formats.row import Row
from sim.workload.request import Request

NO_ROW = -1


class Rows:
    """Rows in the order of the file. Those of one session are its turns; one that names none has its own.

    Times are in the file's unit, nan where there is none. Rows are numbered from 0, and so are sessions, in
    order of first appearance.
    """

    def __init__(self) -> None:
        self.line = array("q")
        self.session = array("q")
        self.turn = array("q")
        self.before = array("q")
        """The turn before, `NO_ROW` for the first of a session."""
        self.timestamp = array("d")
        self.delay = array("d")
        self.input_length = array("q")
        self.output_length = array("q")
        self.ids = array("Q")
        """The hash ids of all rows."""
        self.ids_start = array("q")
        self.ids_count = array("q")
        self.n_sessions = 0
        self.n_unnamed = 0
        """Rows that name no session."""
        self._names: dict[int, str] = {}
        self._latest: dict[str, int] = {}
        """The newest row of each session that has a name."""

    def __len__(self) -> int:
        return len(self.line)

    def append(self, row: Row) -> None:
        """Add a row."""
        number, before = len(self.line), NO_ROW
        if row.session is None:
            self.n_unnamed += 1
        else:
            before = self._latest.get(row.session, NO_ROW)
            self._latest[row.session] = number
        if before == NO_ROW:
            if row.session is not None:
                self._names[self.n_sessions] = row.session
            self.session.append(self.n_sessions)
            self.turn.append(0)
            self.n_sessions += 1
        else:
            self.session.append(self.session[before])
            self.turn.append(self.turn[before] + 1)
        self.before.append(before)
        self.line.append(row.line)
        self.timestamp.append(nan if row.timestamp is None else row.timestamp)
        self.delay.append(nan if row.delay is None else row.delay)
        self.input_length.append(row.input_length)
        self.output_length.append(row.output_length)
        self.ids_start.append(len(self.ids))
        self.ids_count.append(len(row.hash_ids))
        self.ids.extend(row.hash_ids)

    def holds(self, number: int, row: Row) -> bool:
        """Return whether a row that was added is equal to another one but for the line."""
        return (
            self._names.get(self.session[number]) == row.session
            and _known(self.timestamp[number]) == row.timestamp
            and _known(self.delay[number]) == row.delay
            and self.input_length[number] == row.input_length
            and self.output_length[number] == row.output_length
            and self.hash_ids(number) == row.hash_ids
        )

    def session_name(self, row: int) -> str:
        """Return the name of a row's session; one without is called after its line."""
        name = self._names.get(self.session[row])
        return f"line {self.line[row]}" if name is None else name

    def hash_ids(self, row: int) -> "array[int]":
        """Return the ids of a row."""
        start = self.ids_start[row]
        return self.ids[start : start + self.ids_count[row]]


class RowRequests(Sequence[Request]):
    """Rows as requests, each made when it is asked for: `order` are their rows, by index."""

    def __init__(self, rows: Rows, order: "array[int]", origin: float, units_per_s: float) -> None:
        self._rows = rows
        self._order = order
        self._origin = origin
        self._units_per_s = units_per_s

    @property
    def lines(self) -> "array[int]":
        """The line of each request in the file."""
        lines = whole_numbers(self._rows.line)
        return array("q", lines[whole_numbers(self._order)].tobytes())

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Request]:
        return map(self._request, range(len(self._order)))

    @overload
    def __getitem__(self, index: int) -> Request: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Request]: ...
    def __getitem__(self, index: int | slice) -> Request | Sequence[Request]:
        numbers = range(len(self._order))[index]
        return self._request(numbers) if isinstance(numbers, int) else [*map(self._request, numbers)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def _request(self, index: int) -> Request:
        rows, row = self._rows, self._order[index]
        turn, timestamp, delay = rows.turn[row], rows.timestamp[row], rows.delay[row]
        return Request(
            index,
            rows.session_name(row),
            turn,
            None if isnan(timestamp) else (timestamp - self._origin) / self._units_per_s,
            None if isnan(delay) or turn == 0 else delay / self._units_per_s,
            rows.input_length[row],
            max(rows.output_length[row], 1),
            rows.hash_ids(row),
        )


def _known(time: float) -> float | None:
    return None if isnan(time) else time


def whole_numbers(column: "array[int]") -> NDArray[np.int64]:
    """Return a column of whole numbers as NumPy sees it."""
    return np.frombuffer(column, np.int64)


def times(column: "array[float]") -> NDArray[np.float64]:
    """Return a column of times as NumPy sees it."""
    return np.frombuffer(column, np.float64)
