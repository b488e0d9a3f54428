"""What workers have planned ahead, so that whoever looks at caches sees them as they are by then.

A worker takes many decode steps at once. Where such steps take blocks, they evict others; that must be
visible to a routing decision, and to the ledger, that comes after them, and to nobody before. Held here is,
for each worker that is ahead, when it changes its cache next: a look costs those that have something to catch
up on, not all workers.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

CatchUp = Callable[[float, float], None]
"""Called with (now_s, worker): carry out what comes before this worker's schedule at this time."""


class LazyUpdates:
    """Next changes by time and worker. At equal times workers change their caches in order of their index."""

    def __init__(self) -> None:
        self._next: list[tuple[float, int]] = []
        self._due_s: dict[int, float] = {}
        """When each worker changes its cache next; other entries of the heap are out of date."""
        self._catch_up: dict[int, CatchUp] = {}

    def enter(self, worker: int, catch_up: CatchUp) -> None:
        """Make a worker known."""
        self._catch_up[worker] = catch_up

    def note(self, worker: int, time_s: float) -> None:
        """A worker changes its cache next at this time, unless it says otherwise; infinity: not at all."""
        if time_s == self._due_s.get(worker, inf):
            return
        self._due_s[worker] = time_s
        if time_s < inf:
            heappush(self._next, (time_s, worker))

    def settle(self, now_s: float, worker: float = inf) -> None:
        """Let every worker catch up that changes its cache before `worker` has its say at `now_s`."""
        entries = self._next
        while entries and entries[0] < (now_s, worker):
            time_s, behind = heappop(entries)
            if self._due_s.get(behind) == time_s:
                del self._due_s[behind]
                self._catch_up[behind](now_s, worker)
