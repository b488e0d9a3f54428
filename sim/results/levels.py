"""A time series of levels, thinned to at most one row a worker and interval."""

from typing import Any

Row = tuple[Any, ...]


class Levels:
    """Keeps the last change of every interval; an interval of 0 s keeps every change."""

    def __init__(self, workers: int, interval_s: float) -> None:
        self._interval_s = interval_s
        self._latest: list[Row | None] = [None] * workers

    def set(self, worker: int, now_s: float, levels: Row) -> Row | None:
        """A worker's levels are these from now on; return the row that is settled by that, if any."""
        latest = self._latest[worker]
        if latest is not None and latest[2:] == levels:
            return None
        self._latest[worker] = (now_s, worker, *levels)
        if latest is None or self._same_interval(latest[0], now_s):
            return None
        return latest

    def grew(self, worker: int, now_s: float, used_blocks: int) -> Row | None:
        """The blocks in use, third of the levels, are these from now on, and the rest as before."""
        latest = self._latest[worker]
        assert latest is not None
        return self.set(worker, now_s, (*latest[2:4], used_blocks, *latest[5:]))

    def rest(self) -> list[Row]:
        """The rows not settled yet, at the end of a run."""
        return [row for row in self._latest if row is not None]

    def _same_interval(self, earlier_s: float, later_s: float) -> bool:
        if self._interval_s == 0:
            return earlier_s == later_s
        return earlier_s // self._interval_s == later_s // self._interval_s
