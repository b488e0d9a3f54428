"""The way of KV events from workers to the routers of their pool."""

from collections.abc import Iterable, Sequence

from sim.cluster.delays import Delays
from sim.cluster.front_door import Published
from sim.cluster.pool import Pool, pool_of
from sim.kv.events import KvEvent


class EventPost:
    """Sends the routers' indexes what they are to hear of.

    Args:
        pools: of all stages.
        delays: who says how long the way takes.
        attention_group: of the engines, full: routers hear of no other, and without one of nothing.
        published: is told of the KV events of every worker's output.
    """

    __slots__ = ("_attention_group", "_delays", "_pools", "_published")

    def __init__(
        self, pools: Sequence[Pool], delays: Delays, attention_group: int | None, published: Published | None
    ) -> None:
        self._pools = pools
        self._delays = delays
        self._attention_group = attention_group
        self._published = published

    def send(self, worker: int, events: list[KvEvent], output_s: float) -> None:
        """A worker publishes KV events with the output of this time."""
        if self._published is not None:
            self._published(worker, events, output_s)
        pool = pool_of(self._pools, worker)
        rank = pool.rank(worker)
        seen = self.heard_by(pool, events)
        if seen:
            usual_s = self._delays.heard(worker, output_s)
            for replica in pool.replicas:
                replica.send(rank, seen, output_s, usual_s)

    def heard_by(self, pool: Pool, events: Iterable[KvEvent]) -> list[KvEvent]:
        """Return those of a worker's events that the routers of its pool are to hear of."""
        if not pool.hears_events:
            return []
        group, tiers = self._attention_group, pool.router_tiers
        return [
            event
            for event in events
            if event.group == group and not event.tail and event.tier in tiers and event.blocks
        ]
