"""A time series of levels, thinned to at most one row a worker and interval once it gets long."""

from typing import Any

Row = tuple[Any, ...]
"""Time (s), worker, four levels, and the highest of each since the row before."""

FIRST_ROWS = 1000
"""So many changes of a worker are all kept: a run that ends within them loses none."""
_LEVELS = slice(2, 6)


class Levels:
    """Keeps the last change of every interval, and how high each level was in it.

    A worker's first `first_rows` changes are kept if there are no more; an interval of 0 s keeps every one. A
    level that did not last for any time is none.
    """

    def __init__(self, workers: int, interval_s: float, first_rows: int = FIRST_ROWS) -> None:
        self._interval_s = interval_s
        self._first_rows = first_rows
        self._latest: list[Row | None] = [None] * workers
        """The change that came last, without highest levels."""
        self._highest: list[Row | None] = [None] * workers
        """Those of changes left out since the last row."""
        self._first: list[list[Row] | None] = [[] for _ in range(workers)]
        """All rows but the latest; None once there were too many."""

    def set(self, worker: int, now_s: float, levels: Row) -> list[Row]:
        """A worker's levels are these from now on; return the rows that are settled by that."""
        latest = self._latest[worker]
        if latest is not None and latest[_LEVELS] == levels:
            return []
        self._latest[worker] = (now_s, worker, *levels)
        if latest is None or latest[0] == now_s:
            return []
        first = self._first[worker]
        if first is None:
            return self._thinned(worker, latest, now_s)
        first.append(latest)
        if len(first) <= self._first_rows:
            return []
        self._first[worker] = None
        ends_s = [row[0] for row in first[1:]] + [now_s]
        return [
            row
            for early, end_s in zip(first, ends_s, strict=True)
            for row in self._thinned(worker, early, end_s)
        ]

    def allocated(self, worker: int, now_s: float, used_blocks: int) -> list[Row]:
        """The blocks in use, third of the levels, are these from now on, and the rest as before."""
        latest = self._latest[worker]
        assert latest is not None
        return self.set(worker, now_s, (*latest[2:4], used_blocks, *latest[5:]))

    def rest(self) -> list[Row]:
        """The rows not settled yet, at the end of a run."""
        rows = [self._settled(row, None) for first in self._first for row in first or ()]
        latest = zip(self._latest, self._highest, strict=True)
        return rows + [self._settled(row, highest) for row, highest in latest if row is not None]

    def _thinned(self, worker: int, row: Row, end_s: float) -> list[Row]:
        """Return a change that lasted until `end_s`, unless a later one of its interval stands for it."""
        highest = self._highest[worker]
        if self._same_interval(row[0], end_s):
            self._highest[worker] = _higher(row[_LEVELS], highest)
            return []
        self._highest[worker] = None
        return [self._settled(row, highest)]

    @staticmethod
    def _settled(row: Row, highest: Row | None) -> Row:
        return (*row, *_higher(row[_LEVELS], highest))

    def _same_interval(self, earlier_s: float, later_s: float) -> bool:
        if self._interval_s == 0:
            return earlier_s == later_s
        return earlier_s // self._interval_s == later_s // self._interval_s


def _higher(levels: Row, highest: Row | None) -> Row:
    """Return the greater of each; a level that is None stays so."""
    if highest is None:
        return levels
    pairs = zip(levels, highest, strict=True)
    return tuple([None if a is None else max(a, b) for a, b in pairs])
