"""A map from whole numbers to values that is constant over runs: what is known of many blocks at once.

Ids that were given together mostly share their fate (a prompt is stored as a whole and evicted from its end),
so that a map over millions of ids is a few segments a prompt. It costs time and memory by segments, not by
ids.
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import Final, Generic, TypeVar

V = TypeVar("V")

PAGE_BITS: Final = 12
"""Pieces are kept by pages of 2 to the power of so many ids: a change moves only what is behind it there."""


class IntervalMap(Generic[V]):
    """Every number has a value, `empty` until it is changed; pages on which all is `empty` take no memory."""

    __slots__ = ("_pages", "empty")

    def __init__(self, empty: V) -> None:
        self.empty = empty
        self._pages: dict[int, tuple[list[int], list[V]]] = {}
        """Starts of the segments of a page, ascending, behind them the page's end; and their values."""

    def __bool__(self) -> bool:
        """Whether any number has a value other than `empty`."""
        return bool(self._pages)

    def get(self, key: int) -> V:
        """Return the value of one number."""
        page = self._pages.get(key >> PAGE_BITS)
        if page is None:
            return self.empty
        return page[1][bisect_right(page[0], key) - 1]

    def segments(self, start: int, stop: int) -> list[tuple[int, int, V]]:
        """Return (start, stop, value) of the segments that make up a range, in order; neighbours differ."""
        found: list[tuple[int, int, V]] = []
        while start < stop:
            number = start >> PAGE_BITS
            page_end = (number + 1) << PAGE_BITS
            end = page_end if page_end < stop else stop
            page = self._pages.get(number)
            if page is None:
                _append(found, start, end, self.empty)
                start = end
                continue
            starts, values = page
            at = bisect_right(starts, start)
            if end == stop <= starts[at] and not found:
                return [(start, stop, values[at - 1])]
            while (upto := starts[at]) < end:
                _append(found, start, upto, values[at - 1])
                start = upto
                at += 1
            _append(found, start, end, values[at - 1])
            start = end
        return found

    def changed(self) -> list[tuple[int, int, V]]:
        """Return (start, stop, value) of the segments that are not `empty`, in no order, none past a page."""
        found: list[tuple[int, int, V]] = []
        for starts, values in self._pages.values():
            segments = zip(starts, starts[1:], values, strict=False)
            found += [segment for segment in segments if segment[2] != self.empty]
        return found

    def update(self, start: int, stop: int, change: Callable[[V], V]) -> None:
        """Change the value of every number of a range; `change` is called once a segment."""
        pages = self._pages
        while start < stop:
            number = start >> PAGE_BITS
            page_end = (number + 1) << PAGE_BITS
            end = page_end if page_end < stop else stop
            page = pages.get(number)
            if page is None:
                page = pages[number] = ([number << PAGE_BITS, page_end], [self.empty])
            starts, values = page
            high = bisect_right(starts, start)
            if end <= starts[high]:
                before = values[high - 1]
                value = change(before)
                if value != before:
                    _update_piece(page, high, start, end, value)
            else:
                _update_page(page, high, start, end, change)
            if values[0] == self.empty and len(values) == 1:
                del pages[number]
            start = end


def _update_piece(page: tuple[list[int], list[V]], high: int, start: int, end: int, value: V) -> None:
    """Give a range inside the segment before `high` another value: cut the segment, or join others."""
    starts, values = page
    low = high - 1
    if end < starts[high]:
        starts.insert(high, end)
        values.insert(high, values[low])
    elif high < len(values) and values[high] == value:
        del starts[high], values[high]
    if starts[low] < start:
        starts.insert(high, start)
        values.insert(high, value)
    elif low and values[low - 1] == value:
        del starts[low], values[low]
    else:
        values[low] = value


def _update_page(
    page: tuple[list[int], list[V]], high: int, start: int, end: int, change: Callable[[V], V]
) -> None:
    """Put new segments in place of those that a range touches, the first of them before `high`.

    What became equal is joined, at both ends too.
    """
    starts, values = page
    low = high - 1
    while starts[high] < end:
        high += 1
    new_starts: list[int] = []
    new_values: list[V] = []
    before = low if starts[low] < start else low - 1
    if before >= 0:
        new_starts.append(starts[before])
        new_values.append(values[before])
    at = start
    for place in range(low, high):
        value = change(values[place])
        if not new_values or new_values[-1] != value:
            new_starts.append(at)
            new_values.append(value)
        at = starts[place + 1]
    if end < starts[high]:
        if new_values[-1] != values[high - 1]:
            new_starts.append(end)
            new_values.append(values[high - 1])
    elif high < len(values) and new_values[-1] == values[high]:
        high += 1
    low = before if before >= 0 else low
    starts[low:high] = new_starts
    values[low:high] = new_values


def _append(found: list[tuple[int, int, V]], start: int, stop: int, value: V) -> None:
    if found and found[-1][2] == value:
        found[-1] = (found[-1][0], stop, value)
    else:
        found.append((start, stop, value))
