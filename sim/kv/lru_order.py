"""The order of an LRU over runs of keys: what it costs is runs, not keys.

A run may cover keys that do not take part just now, absent or busy ones: they count for nothing, and leave it
for the end of the order when they do.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping

from sim.kv.key_runs import Key


class _Run:
    """Neighbouring hashes of one group that have their place in the order together."""

    __slots__ = ("after", "before", "group", "rising", "start", "stop")

    after: "_Run"
    before: "_Run"

    def __init__(self, group: int, start: int, stop: int, *, rising: bool) -> None:
        self.group = group
        self.start = start
        self.stop = stop
        self.rising = rising
        """Whether the lowest hash is the first to go; else the highest."""

    def enqueue(self, after: "_Run") -> None:
        """Stand directly before another."""
        before = after.before
        self.before = before
        self.after = after
        before.after = after.before = self

    def leave(self) -> None:
        """Stand nowhere."""
        before, after = self.before, self.after
        before.after = after
        after.before = before

    def split(self, at: int) -> "_Run":
        """Give up the hashes from one on; they become a run of their own and keep their place."""
        rest = _Run(self.group, at, self.stop, rising=self.rising)
        self.stop = at
        rest.enqueue(self.after if self.rising else self)
        return rest


class LruOrder:
    """All runs, from the first to go to the last."""

    __slots__ = ("_by_group", "_end")

    def __init__(self) -> None:
        self._by_group: dict[int, tuple[list[int], list[_Run]]] = {}
        """The runs of a group, disjoint and ascending, after their first hashes."""
        end = self._end = _Run(-1, 0, 0, rising=True)
        end.before = end.after = end

    def append(self, group: int, start: int, stop: int) -> None:
        """These become the last to go, the highest of them the very last, whether they were here or not."""
        starts, runs = self._by_group.setdefault(group, ([], []))
        low, high = self._cut(starts, runs, start, stop)
        self._put(starts, runs, low, high, _Run(group, start, stop, rising=True))

    def touch(self, group: int, start: int, stop: int) -> None:
        """Those of these that are here become the last to go, the lowest of them the very last."""
        place = self._by_group.get(group)
        if place is None:
            return
        starts, runs = place
        at = bisect_right(starts, start) - 1
        if at >= 0:
            run = runs[at]
            if run.stop == stop and run.start == start:
                run.rising = False
                run.leave()
                run.enqueue(self._end)
                return
        low, high = self._cut(starts, runs, start, stop)
        if low < high:
            self._put(starts, runs, low, high, _Run(group, start, stop, rising=False))

    def take(
        self, count: int, states: Mapping[Key, int], idle: int, spared: Collection[Key]
    ) -> list[Key] | None:
        """Return the first so many to go, of those whose state is `idle` and that are not spared, and drop
        them; None, and nothing changed, if there are fewer.
        """
        taken: list[Key] = []
        spent: list[_Run] = []
        run = self._end.after
        while run is not self._end:
            group, clean = run.group, True
            for block in range(run.start, run.stop) if run.rising else range(run.stop - 1, run.start - 1, -1):
                key = block, group
                if states.get(key) != idle:
                    continue
                if key in spared:
                    clean = False
                    continue
                taken.append(key)
                if len(taken) == count:
                    self._drop(spent)
                    if clean:
                        self._shorten(run, block)
                    return taken
            if clean:
                spent.append(run)
            run = run.after
        return None

    def _cut(self, starts: list[int], runs: list[_Run], start: int, stop: int) -> tuple[int, int]:
        """Return from where to where the runs stand that make up some hashes, cut where they reach beyond."""
        low = bisect_right(starts, start)
        high = bisect_left(starts, stop, low)
        if low and (first := runs[low - 1]).stop > start:
            if first.start == start:
                low -= 1
            else:
                runs.insert(low, first.split(start))
                starts.insert(low, start)
                high += 1
        if low < high and (last := runs[high - 1]).stop > stop:
            runs.insert(high, last.split(stop))
            starts.insert(high, stop)
        return low, high

    def _put(self, starts: list[int], runs: list[_Run], low: int, high: int, new: _Run) -> None:
        """Put a run at the end in place of some others."""
        for run in runs[low:high]:
            run.leave()
        new.enqueue(self._end)
        starts[low:high] = [new.start]
        runs[low:high] = [new]

    def _drop(self, spent: list[_Run]) -> None:
        for run in spent:
            run.leave()
            starts, runs = self._by_group[run.group]
            at = bisect_left(starts, run.start)
            del starts[at], runs[at]

    def _shorten(self, run: _Run, block: int) -> None:
        """Leave a run what goes after a hash."""
        if run.rising and block + 1 < run.stop:
            starts, _ = self._by_group[run.group]
            starts[bisect_left(starts, run.start)] = run.start = block + 1
        elif not run.rising and run.start < block:
            run.stop = block
        else:
            self._drop([run])
