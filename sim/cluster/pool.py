"""Workers behind one router, and what the router hears of their caches."""

from collections.abc import Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Protocol

from sim.cluster.gate import Gate
from sim.engine.active import ActiveRequest
from sim.engine.engine import Engine
from sim.events.delayed_queue import DelayedQueue
from sim.kv.events import KvEvent, Tier
from sim.router import Router
from sim.router.copies import Copies

DEVICE_ONLY: Mapping[str, Tier] = MappingProxyType({"device": "device"})
"""Of a router that hears of no tier below GPU memory."""


class PoolWorker(Protocol):
    """A worker as the front door knows it: see `Worker`."""

    engine: Engine

    def add(self, request: ActiveRequest) -> None:
        """Queue a request now."""

    def last_output_s(self, before_s: float) -> float:
        """Return when running requests had their last token before a time, of those not told yet."""

    def abort(self, request: ActiveRequest) -> None:
        """Nobody waits for a request any more."""

    def report(self, *, pulled: Sequence[int] = (), read: Sequence[int] = ()) -> None:
        """Hear of what was read from other workers or by them."""


class PoolObserver(Protocol):
    """Who is told what a router hears and forgets, of ranks."""

    def heard(self, rank: int, events: Sequence[KvEvent]) -> None:
        """It hears of KV events now."""

    def dropped(self, rank: int, messages: int) -> None:
        """So many messages of KV events will never be heard."""

    def forgotten(self, rank: int) -> None:
        """The rank is gone: what it held is, and how often."""

    def cleared(self) -> None:
        """Of no rank it is known any more what it holds."""

    def unbooked(self) -> None:
        """No request is booked any more."""


class Pool:
    """Workers that one router chooses among: to it they are ranks 0, 1, ...

    Args:
        router: knows them by rank.
        workers: all workers of the cluster, by index; complete before the first request.
        members: indices of the pool's workers, in order of rank.
        router_tiers: by what workers call a tier, what the router takes it for; it hears of no other.
        gate: says where requests may go; None: to every rank that is alive.
    """

    __slots__ = (
        "_copies",
        "_workers",
        "alive",
        "gate",
        "members",
        "observer",
        "router",
        "router_tiers",
        "undelivered",
    )

    def __init__(
        self,
        router: Router,
        workers: Sequence[PoolWorker],
        members: range,
        router_tiers: Mapping[str, Tier] = DEVICE_ONLY,
        gate: Gate | None = None,
    ) -> None:
        self.router = router
        self.gate = gate
        self.members = members
        self.router_tiers = dict(router_tiers)
        self._workers = workers
        self.alive: frozenset[int] | None = None
        """Ranks that may be chosen; None: all."""
        self.observer: PoolObserver | None = None
        self.undelivered: DelayedQueue[list[KvEvent]] = DelayedQueue(self._index)
        """KV events on their way to the router's index, from ranks."""
        self._copies: dict[tuple[int, Tier], Copies] = {}
        """By rank and tier of the router."""

    def __contains__(self, worker: int) -> bool:
        """Whether a worker, by index, is one of the pool."""
        return worker in self.members

    def worker(self, rank: int) -> PoolWorker:
        """Return the worker of a rank."""
        return self._workers[self.members[rank]]

    def rank(self, worker: int) -> int:
        """Return the rank of a worker, by index."""
        return self.members.index(worker)

    def leave_out(self, rank: int) -> None:
        """Choose this rank no more."""
        alive = self.alive if self.alive is not None else frozenset(range(len(self.members)))
        self.alive = alive - {rank}
        if self.gate is not None:
            self.gate.leave_out(rank)

    def let_in(self, rank: int) -> None:
        """Choose this rank again."""
        if self.alive is not None:
            alive = self.alive | {rank}
            self.alive = alive if len(alive) < len(self.members) else None

    def forget(self, rank: int) -> None:
        """What a rank held is gone, and so is what it sent and nobody has read."""
        self.drop(rank)
        self.router.cleared(rank)
        for place in [place for place in self._copies if place[0] == rank]:
            del self._copies[place]
        if self.observer is not None:
            self.observer.forgotten(rank)

    def drop(self, rank: int, since_s: float = -inf) -> None:
        """What arrives from a rank from a time on was never sent."""
        dropped = self.undelivered.drop(rank, since_s)
        if self.observer is not None:
            self.observer.dropped(rank, dropped)

    def clear(self) -> None:
        """The router's index is empty again; how many copies of a block they have the workers know."""
        for rank in range(len(self.members)):
            self.router.cleared(rank)
        if self.observer is not None:
            self.observer.cleared()

    def forget_bookings(self) -> None:
        """The router starts anew: it knows of no request that it has routed."""
        self.router.forget_bookings()
        if self.gate is not None:
            self.gate.start_anew()
        if self.observer is not None:
            self.observer.unbooked()

    def _index(self, rank: int, events: list[KvEvent]) -> None:
        router = self.router
        if self.observer is not None:
            self.observer.heard(rank, events)
        for event in events:
            tier = self.router_tiers[event.tier]
            copies = self._copies.get((rank, tier))
            if copies is None:
                copies = self._copies[rank, tier] = Copies()
            if event.stored:
                copies.stored(event.blocks)
                router.stored(rank, event.parent, event.blocks, tier)
            elif gone := copies.removed(event.blocks):
                router.removed(rank, gone, tier)
