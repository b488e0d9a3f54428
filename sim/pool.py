"""Workers behind one router, and what the router hears of their caches."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field

from sim.kv.events import KvEvent
from sim.mailbox import Mailbox
from sim.router import Overrides, Router, Tier
from sim.router.copies import Copies
from sim.router.query import NO_OVERRIDES
from sim.worker.worker import Worker

_ROUTER_TIERS: dict[str, Tier] = {"GPU": "device", "CPU": "host"}


@dataclass(slots=True)
class Pool:
    """Workers that one router chooses among: ranks 0, 1, ... are the workers `first`, `first` + 1, ..."""

    leg: str
    """What its workers do: "aggregated", "prefill" or "decode"."""
    router: Router
    overrides: Overrides = NO_OVERRIDES
    """Of every query."""
    first: int = 0
    workers: Sequence[Worker] = ()
    alive: frozenset[int] | None = None
    """Ranks whose engine is not dead; None: all."""
    news: Mailbox[list[KvEvent]] = field(init=False)
    """KV events on their way to the router's index, from ranks."""
    _copies: dict[tuple[int, str], Copies] = field(default_factory=dict)
    """By rank and tier."""

    def __post_init__(self) -> None:
        self.news = Mailbox(self._index)

    def for_leg(self, leg: str) -> "Pool":
        """Return the same workers behind the same router for another leg, without overrides."""
        pool = copy(self)
        pool.leg, pool.overrides = leg, NO_OVERRIDES
        return pool

    def _index(self, rank: int, events: list[KvEvent]) -> None:
        router = self.router
        for event in events:
            tier = _ROUTER_TIERS[event.tier]
            copies = self._copies.get((rank, tier))
            if copies is None:
                copies = self._copies[rank, tier] = Copies()
            if event.stored:
                copies.stored(event.blocks)
                router.stored(rank, event.parent, event.blocks, tier)
            elif gone := copies.removed(event.blocks):
                router.removed(rank, gone, tier)
