"""The router that one front end has for a pool, and what it hears of the workers' caches."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Protocol

from sim.cluster.event_way import EventWay
from sim.events.delayed_queue import DelayedQueue
from sim.kv.events import KvEvent, Tier
from sim.router import Booking, Router
from sim.router.copies import Copies


class PoolObserver(Protocol):
    """Who is told what a router hears and forgets, of ranks."""

    def heard(self, rank: int, events: Sequence[KvEvent]) -> None:
        """It hears of KV events now."""

    def dropped(self, rank: int, messages: int) -> None:
        """So many messages of KV events will never be heard."""

    def asked(self, rank: int) -> None:
        """It asks for what it missed: that is a message more."""

    def forgotten(self, rank: int) -> None:
        """The rank is gone: what it held is, and how often."""

    def cleared(self) -> None:
        """Of no rank it is known any more what it holds."""

    def told(self, front_end: int, booking: Booking, *, booked: bool) -> None:
        """It hears that another front end's router has booked a request, or has let it go."""

    def unbooked(self) -> None:
        """No request is booked any more."""


class Replica:
    """One front end's router of a pool.

    Args:
        front_end: which one, from 0.
        router: knows the pool's workers by rank.
        router_tiers: by what workers call a tier, what the router takes it for; it hears of no other.
        way: of KV events to this front end; None: they come when they usually do.
    """

    __slots__ = (
        "_copies",
        "_router_tiers",
        "changed",
        "front_end",
        "observer",
        "router",
        "undelivered",
        "way",
    )

    def __init__(
        self,
        front_end: int,
        router: Router,
        router_tiers: Mapping[str, Tier],
        way: EventWay | None = None,
    ) -> None:
        self.front_end = front_end
        self.router = router
        self.way = way
        self.observer: PoolObserver | None = None
        self.changed: list[Callable[[], None]] = []
        """Who is told that ranks came or went, or that bookings changed that are not of its own requests."""
        self.undelivered: DelayedQueue[list[KvEvent]] = DelayedQueue(self._index)
        """KV events on their way to the router's index, from ranks."""
        self._router_tiers = dict(router_tiers)
        self._copies: dict[tuple[int, Tier], Copies] = {}
        """By rank and tier of the router."""

    def send(self, rank: int, events: list[KvEvent], output_s: float, usual_s: float) -> None:
        """Put the events of an output on their way, on which they are until `usual_s` if nothing happens."""
        if self.way is None:
            self.undelivered.send(usual_s, rank, events)
            return
        arrived = self.way.arrival(rank, events, output_s, usual_s)
        if arrived is not None:
            self.undelivered.send(arrived.time_s, rank, arrived.events)
        elif self.observer is not None:
            self.observer.dropped(rank, 1)

    def forget(self, rank: int) -> None:
        """What a rank held is gone, and so is what it sent and nobody has read."""
        self.drop(rank)
        self.router.cleared(rank)
        if self.way is not None:
            self.way.recovered(rank)
        for place in [place for place in self._copies if place[0] == rank]:
            del self._copies[place]
        if self.observer is not None:
            self.observer.forgotten(rank)

    def drop(self, rank: int, since_s: float = -inf) -> None:
        """What arrives from a rank from a time on was never sent."""
        dropped = self.undelivered.drop(rank, since_s)
        if self.observer is not None:
            self.observer.dropped(rank, dropped)

    def clear(self, ranks: range) -> None:
        """The router's index is empty again; how many copies of a block they have the workers know."""
        for rank in ranks:
            self.router.cleared(rank)
        if self.observer is not None:
            self.observer.cleared()

    def recover(self, ranks: range) -> None:
        """The router asks all workers what they hold: it hears now what it missed."""
        if self.way is None:
            return
        for rank in ranks:
            missed = self.way.recovered(rank)
            if missed:
                if self.observer is not None:
                    self.observer.asked(rank)
                self._index(rank, missed)

    def forget_bookings(self) -> None:
        """The router starts anew: it knows of no request that it has routed."""
        self.router.forget_bookings()
        if self.observer is not None:
            self.observer.unbooked()
        self.tell()

    def tell(self) -> None:
        """Say that ranks came or went, or that bookings changed."""
        for told in self.changed:
            told()

    def _index(self, rank: int, events: list[KvEvent]) -> None:
        router = self.router
        if self.observer is not None:
            self.observer.heard(rank, events)
        for event in events:
            tier = self._router_tiers[event.tier]
            copies = self._copies.get((rank, tier))
            if copies is None:
                copies = self._copies[rank, tier] = Copies()
            if event.stored:
                copies.stored(event.blocks)
                router.stored(rank, event.parent, event.blocks, tier)
            elif gone := copies.removed(event.blocks):
                router.removed(rank, gone, tier)
