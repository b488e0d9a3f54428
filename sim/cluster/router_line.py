"""The queue of one router on the clock: who waits there, and when it is looked who may go.

It is looked after every first token and every end that the router hears of, after a scan that may have let
bookings go, and when workers come or go: at that instant, once, after all that ends then and before what
arrives. Where loads fade, it is looked every tenth of a second besides.
"""

from collections.abc import Callable
from math import floor
from typing import Protocol

from sim.cluster.replica import Replica
from sim.events.clock import Clock, Phase
from sim.router.fading_prefill import RECHECK_S
from sim.router.query import Query
from sim.router.queue.lanes import Waiting
from sim.router.queue.queue import QueueRefusal, RouterQueue

Call = Callable[[Query], None]
"""Is given the query of a request that goes, to choose and book by."""


class LineObserver(Protocol):
    """Who is told what happens in a router's queue."""

    def waits(self, waiting: Waiting, now_s: float, /) -> None:
        """A request begins to wait."""

    def goes(self, query: Query, now_s: float, /) -> None:
        """A request is about to be booked that has waited."""

    def left(self, request: int, /) -> None:
        """A request is waited for no longer."""

    def looked(self, now_s: float, /) -> None:
        """All that may go have gone."""


class RouterLine:
    """Lets requests wait in front of a router, and calls them.

    Args:
        clock: of the cluster.
        queue: who waits, and who is next.
        replica: the router, and what its front end hears.
        scan_s: from one scan of the router's bookings to the next.
        place: among lines that are looked at in one instant.
    """

    def __init__(
        self, clock: Clock, queue: RouterQueue, replica: Replica, *, scan_s: float, place: int
    ) -> None:
        self.queue = queue
        self.observer: LineObserver | None = None
        self._clock = clock
        self._scan_s = scan_s
        self._place = place
        self._calls: dict[int, Call] = {}
        self._looks = False
        """Whether it is arranged to look at this instant."""
        self._scans = False
        """Whether it is arranged to look after the next scan."""
        self._rechecks = False
        """Whether it is arranged to look at loads that fade."""
        replica.changed.append(self.look)

    def enter(self, query: Query, call: Call) -> Waiting | QueueRefusal | None:
        """A request comes: see `RouterQueue.enter`. If it waits, `call` is called when it goes."""
        found = self.queue.enter(query, self._clock.now_s)
        if isinstance(found, Waiting):
            self._calls[query.request] = call
            self._look_after_scan()
            self._look_at_fading()
            if self.observer is not None:
                self.observer.waits(found, self._clock.now_s)
        return found

    def leave(self, request: int) -> None:
        """A request is waited for no longer."""
        if self.queue.leave(request):
            del self._calls[request]
            if self.observer is not None:
                self.observer.left(request)
            self.look()

    def look(self) -> None:
        """Somebody may go: let them at this instant."""
        if len(self.queue) and not self._looks:
            self._looks = True
            self._clock.at(self._clock.now_s, Phase.ROUTER, self._place, self._call_all)

    def _call_all(self) -> None:
        self._looks = False
        now_s = self._clock.now_s
        while (query := self.queue.next(now_s)) is not None:
            if self.observer is not None:
                self.observer.goes(query, now_s)
            self._calls.pop(query.request)(query)
        if self.observer is not None:
            self.observer.looked(now_s)
        self._look_at_fading()

    def _look_after_scan(self) -> None:
        """Arrange for a look when bookings may be let go of which nothing is heard: nobody else would."""
        if self._scans or not any(self.queue.router.loads.requests):
            return
        self._scans = True
        self._clock.at(self._next_s(self._scan_s), Phase.ROUTER, self._place, self._after_scan)

    def _next_s(self, period_s: float) -> float:
        """Return the first multiple of a period after now."""
        times = floor(self._clock.now_s / period_s) + 1
        if (times - 1) * period_s > self._clock.now_s:  # the quotient was rounded up
            times -= 1
        elif times * period_s <= self._clock.now_s:  # it was rounded down
            times += 1
        return times * period_s

    def _after_scan(self) -> None:
        self._scans = False
        self._call_all()
        if len(self.queue):
            self._look_after_scan()

    def _look_at_fading(self) -> None:
        """Arrange for a look while loads fade and somebody waits for that."""
        loads = self.queue.router.loads
        if self._rechecks or not len(self.queue) or not loads.prefill_fades:
            return
        if loads.prefill_left(self._clock.now_s).any():
            self._rechecks = True
            self._clock.at(self._next_s(RECHECK_S), Phase.ROUTER, self._place, self._recheck)

    def _recheck(self) -> None:
        self._rechecks = False
        self._call_all()
