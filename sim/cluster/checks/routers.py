"""The books of all routers, of every pool and front end: what they heard, what is booked, who waits."""

from collections.abc import Callable
from itertools import chain

from sim.cluster.checks.index import Index
from sim.cluster.checks.loads import Loads
from sim.cluster.checks.pools import PoolBooks
from sim.cluster.checks.router_queue import WaitingAtRouter
from sim.cluster.pool import Pool
from sim.cluster.request_state import RequestState
from sim.cluster.watcher import Watched
from sim.router import Booking, Decision

LOOK_EVERY = 8
"""How many decisions until all candidates of one are compared with their events."""
SUM_EVERY = 32
"""How many requests end until the booked loads are added up."""


class Routers:
    """Of one run; `prefilled` says whether the prefill worker of a request, by index, has answered."""

    def __init__(self, cluster: Watched, prefilled: Callable[[int], bool]) -> None:
        """Listen to the routers of a cluster that was built."""
        self._pools = cluster.frontend.pools
        self._until_sums = SUM_EVERY
        self.indexes: list[list[Index]] = []
        """Of each pool and front end."""
        self.loads: list[list[Loads]] = []
        """Of each pool and front end."""
        self._waiting: dict[tuple[int, int], WaitingAtRouter] = {}
        """At routers that have a queue, by the place of their stage, and the front end."""
        expiry_s = cluster.scenario.router.active_request_expiry_secs
        ttl_s = cluster.scenario.router.predicted_ttl_secs
        for pool in self._pools:
            indexes = [Index(pool, replica, LOOK_EVERY, ttl_s) for replica in pool.replicas]
            first = (prefilled,) if pool is self._pools[0] else ()
            loads = [Loads(pool, replica.router, expiry_s, *first) for replica in pool.replicas]
            for replica, index, booked in zip(pool.replicas, indexes, loads, strict=True):
                replica.observer = PoolBooks(cluster.clock, index, booked)
            self.indexes.append(indexes)
            self.loads.append(loads)
        for place, stage in enumerate(cluster.frontend.stages):
            for front_end, line in enumerate(stage.lines):
                line.observer = self._waiting[place, front_end] = WaitingAtRouter(
                    stage.pool,
                    line,
                    self.loads[place][front_end],
                    self.indexes[place][front_end],
                    before=self.loads[place - 1][front_end] if place else None,
                )

    def booked(
        self, record: RequestState, pool: Pool, decision: Decision, booking: Booking, now_s: float
    ) -> None:
        """A request was put on a router's books."""
        place = self._pools.index(pool)
        if place:
            self.loads[0][record.front_end].returned(booking.request)  # the first stage has answered
        self.loads[place][record.front_end].booked(booking, now_s)
        waiting = self._waiting.get((place, record.front_end))
        if waiting is None or not waiting.booked(booking.request):
            self.indexes[place][record.front_end].decided(record, decision, now_s)
        self.indexes[place][record.front_end].booked(record, booking.rank, now_s)

    def returned(self, index: int) -> None:
        """A request is to be on no books any more."""
        for loads in chain.from_iterable(self.loads):
            loads.returned(index)

    def over(self, index: int, now_s: float) -> None:
        """A request has come to its end."""
        self.returned(index)
        for waiting in self._waiting.values():
            waiting.over(index, now_s)
        self._until_sums -= 1
        if not self._until_sums:
            self._until_sums = SUM_EVERY
            for loads in chain.from_iterable(self.loads):
                loads.check_sums(now_s)

    def sent(self, pool: Pool) -> None:
        """A worker of a pool sent a message of KV events."""
        for index in self.indexes[self._pools.index(pool)]:
            index.sent += 1

    def stopped(self, now_s: float) -> None:
        """Nothing can happen any more."""
        for loads in chain.from_iterable(self.loads):
            loads.check_sign(now_s)
            loads.check_sums(now_s)
        for index in chain.from_iterable(self.indexes):
            index.check(now_s)
        for waiting in self._waiting.values():
            waiting.looked(now_s)
