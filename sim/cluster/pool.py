"""Workers behind a router, of which each front end has its own."""

from collections.abc import Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Protocol

from sim.cluster.event_way import EventWay
from sim.cluster.gate import Gate
from sim.cluster.replica import Replica
from sim.engine.active import ActiveRequest
from sim.engine.engine import Engine
from sim.kv.events import Tier
from sim.router import Router

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


class Pool:
    """Workers that the routers of the front ends choose among: to them they are ranks 0, 1, ...

    Which of them may be chosen all front ends know alike: what one has found out, or discovery says.

    Args:
        routers: know them by rank, one for each front end.
        workers: all workers of the cluster, by index; complete before the first request.
        members: indices of the pool's workers, in order of rank.
        router_tiers: by what workers call a tier, what routers take it for; they hear of no other.
        ways: of KV events to each front end; none: they come when they usually do.
        gate: says where requests may go; None: to every rank that is alive. Front ends tell each other where
            sessions are bound.
    """

    __slots__ = ("_workers", "alive", "gate", "members", "replicas", "router_tiers")

    def __init__(
        self,
        routers: Sequence[Router],
        workers: Sequence[PoolWorker],
        members: range,
        router_tiers: Mapping[str, Tier] = DEVICE_ONLY,
        *,
        ways: Sequence[EventWay] = (),
        gate: Gate | None = None,
    ) -> None:
        self.gate = gate
        self.members = members
        self.router_tiers = dict(router_tiers)
        self.replicas = [
            Replica(place, router, router_tiers, ways[place] if ways else None)
            for place, router in enumerate(routers)
        ]
        """What each front end has for them."""
        self._workers = workers
        self.alive: frozenset[int] | None = None
        """Ranks that may be chosen; None: all."""

    def __contains__(self, worker: int) -> bool:
        """Whether a worker, by index, is one of the pool."""
        return worker in self.members

    @property
    def router(self) -> Router:
        """Its router, where there is one front end."""
        (replica,) = self.replicas
        return replica.router

    @property
    def hears_events(self) -> bool:
        """Whether its routers have a use for KV events; all are told the same at their start."""
        return self.replicas[0].router.hears_events

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
        self._tell()

    def let_in(self, rank: int) -> None:
        """Choose this rank again."""
        if self.alive is not None:
            alive = self.alive | {rank}
            self.alive = alive if len(alive) < len(self.members) else None
            self._tell()

    def forget(self, rank: int) -> None:
        """What a rank held is gone, and so is what it sent and nobody has read."""
        for replica in self.replicas:
            replica.forget(rank)

    def drop(self, rank: int, since_s: float = -inf) -> None:
        """What arrives from a rank from a time on was never sent."""
        for replica in self.replicas:
            replica.drop(rank, since_s)

    def _tell(self) -> None:
        for replica in self.replicas:
            replica.tell()


def pool_of(pools: Sequence[Pool], worker: int) -> Pool:
    """Return that of the pools which a worker, by index, is one of."""
    return next(pool for pool in pools if worker in pool)
