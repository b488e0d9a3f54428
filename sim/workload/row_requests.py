"""Rows as requests, each made when it is asked for."""

from array import array
from collections.abc import Iterator, Sequence
from math import isnan
from operator import eq
from typing import overload

from sim.workload.recorded import Recorded
from sim.workload.request import Answer, Request
from sim.workload.rows import Rows, whole_numbers


class RowRequests(Sequence[Request]):
    """Rows as requests, each made when it is asked for: `order` are their rows, by index."""

    def __init__(self, rows: Rows, order: "array[int]", origin: float, units_per_s: float) -> None:
        self._rows = rows
        self._order = order
        self._origin = origin
        self._units_per_s = units_per_s
        self._index_of: dict[int, int] | None = None

    @property
    def lines(self) -> "array[int]":
        """The line of each request in its file."""
        lines = whole_numbers(self._rows.line)
        return array("q", lines[whole_numbers(self._order)].tobytes())

    @property
    def file_of(self) -> Sequence[int]:
        """Which file each request is in, if there are several."""
        return array("i", map(self._rows.file_of, self._order)) if self._rows.files else ()

    @property
    def recorded(self) -> Sequence[Recorded]:
        """What was measured of each request; empty if the rows say nothing of that."""
        return [*map(self._rows.recorded, self._order)] if self._rows.has_recorded else ()

    @property
    def has_tags(self) -> bool:
        """Whether any row has a tag."""
        return bool(self._rows.tag)

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
        waits, answer, cancel = rows.waits_for(row), rows.answer(row), rows.cancel_after_s.get(row)
        return Request(
            index,
            rows.session_name(row),
            turn,
            None if isnan(timestamp) else (timestamp - self._origin) / self._units_per_s,
            None if isnan(delay) or (turn == 0 and not waits) else delay / self._units_per_s,
            rows.input_length[row],
            max(rows.output_length[row], 1),
            rows.hash_ids(row),
            self._indices(waits) if waits else (),
            self._answer(answer) if answer is not None else None,
            int(rows.priority.get(row)),
            rows.model.get(row),
            None if isnan(cancel) else cancel,
            int(rows.strict_priority.get(row)),
            rows.policy_class.get(row),
            rows.tag.get(row),
        )

    def _answer(self, answer: Answer) -> Answer | None:
        request = self._indices((answer.request,))
        return Answer(request[0], answer.start, answer.end) if request else None

    def _indices(self, rows: tuple[int, ...]) -> tuple[int, ...]:
        """Return the requests that rows are; those that are not taken are none."""
        if self._index_of is None:
            self._index_of = {row: index for index, row in enumerate(self._order)}
        return tuple([self._index_of[row] for row in rows if row in self._index_of])
