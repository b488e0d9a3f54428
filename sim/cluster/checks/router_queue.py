"""Who waits at a router has reason to, and goes in order; nobody is forgotten there."""

from sim.base.errors import InvariantError
from sim.cluster.checks.index import Index
from sim.cluster.checks.loads import Loads
from sim.cluster.pool import Pool
from sim.cluster.router_line import RouterLine
from sim.router.query import Query
from sim.router.queue.classes import QueueClass
from sim.router.queue.lanes import Waiting

RULE = "who waits at the router waits for busy workers, and goes in order"
Lane = tuple[int, int | None]
"""A class, by number, and the rank that requests are pinned to."""


class WaitingAtRouter:
    """The `LineObserver` of one router."""

    def __init__(
        self, pool: Pool, line: RouterLine, loads: Loads, index: Index, *, before: Loads | None
    ) -> None:
        """Listen to a line; `before` are the loads of the stage before it, which is done with who waits."""
        self._pool = pool
        self._classes = line.queue.classes.classes
        self._loads = loads
        self._index = index
        self._before = before
        self._lanes: dict[Lane, dict[int, tuple[int, float, int]]] = {}
        """Of those that wait in each lane, by index, what orders them: the least goes first."""
        self._queries: dict[int, Query] = {}
        self._came = 0
        self._early: set[int] = set()
        """Requests that are about to be booked by what was known when they came."""

    def waits(self, waiting: Waiting, now_s: float) -> None:
        """See `LineObserver`."""
        query, settings = waiting.query, self._classes[waiting.number]
        lane = waiting.number, query.pinned
        if not self._lanes.get(lane) and self._can_go(query, settings):
            self._fail("waits beside a worker that is not busy", query.request, now_s)
        self._came += 1
        order = _order(query, settings, now_s, waiting.cached_tokens, self._came)
        self._lanes.setdefault(lane, {})[query.request] = order
        self._queries[query.request] = query
        if self._before is not None:
            self._before.returned(query.request)
        self._index.looked_up(query, waiting.overlap, now_s)

    def goes(self, query: Query, now_s: float) -> None:
        """See `LineObserver`."""
        lane = next((lane for lane in self._lanes.values() if query.request in lane), None)
        if lane is None:
            self._fail("goes, but did not wait", query.request, now_s)
            return
        if min(lane, key=lane.__getitem__) != query.request:
            self._fail("goes before another one of its class that is to go first", query.request, now_s)
        if query.overlap is not None:
            self._early.add(query.request)
        self.left(query.request)

    def left(self, request: int) -> None:
        """See `LineObserver`."""
        del self._queries[request]
        for lane in self._lanes.values():
            lane.pop(request, None)

    def looked(self, now_s: float) -> None:
        """See `LineObserver`: nobody who is first in a lane may go."""
        for (number, _), lane in self._lanes.items():
            if not lane:
                continue
            first = min(lane, key=lane.__getitem__)
            if self._can_go(self._queries[first], self._classes[number]):
                self._fail("still waits beside a worker that is not busy", first, now_s)

    def over(self, request: int, now_s: float) -> None:
        """A request has ended."""
        if request in self._queries:
            self._fail("has ended, and still waits", request, now_s)

    def booked(self, request: int) -> bool:
        """A request was booked; return whether that was by what was known when it came."""
        early = request in self._early
        self._early.discard(request)
        return early

    def _can_go(self, query: Query, settings: QueueClass) -> bool:
        """Whether a rank that may serve a request is not busy, or there is none that might."""
        alive = self._pool.alive
        ranks = [
            rank
            for rank in range(len(self._pool.members))
            if (alive is None or rank in alive)
            and query.pinned in (None, rank)
            and (query.allowed is None or rank in query.allowed)
        ]
        booked = self._loads.prefill_tokens()
        busy_tokens = settings.busy_tokens
        return not ranks or busy_tokens is None or any(booked[rank] <= busy_tokens for rank in ranks)

    def _fail(self, detail: str, request: int, now_s: float) -> None:
        raise InvariantError(RULE, detail, request=request, now_s=now_s)


def _order(
    query: Query, settings: QueueClass, now_s: float, cached_tokens: int, came: int
) -> tuple[int, float, int]:
    """Return what orders a lane, of this room's own."""
    ahead_s = max(0.0, query.priority_jump)
    if settings.order == "wspt":
        place = -(ahead_s + 1.0) / max(query.isl_tokens - cached_tokens, 1)
    else:
        place = now_s - ahead_s if settings.order == "fcfs" else -(now_s + ahead_s)
    return -query.strict_priority, place, came
