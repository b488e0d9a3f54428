"""KV events of one engine, told twice: as they happen, and as they are published."""

from sim.engine.connector import OffloadingConnector
from sim.kv.events import KvEvent
from sim.kv.hybrid import KvCache


class KvEvents:
    """Collects what the pool and the connector note, for two readers each of whom hears everything once."""

    __slots__ = ("_below", "_device", "_offload", "_pool", "_seen")

    def __init__(self, cache: KvCache, offload: OffloadingConnector | None) -> None:
        self._pool = cache.pool
        self._offload = offload
        self._seen: list[KvEvent] = []
        """What `drain_events` has not told."""
        self._device: list[KvEvent] = []
        self._below: list[KvEvent] = []
        """What was not published."""

    def drain_events(self) -> list[KvEvent]:
        """Events since the last call, as they happened, published or not."""
        if self._offload is not None or self._pool.events:
            self._collect()
        news, self._seen = self._seen, []
        return news

    def publish(self) -> list[KvEvent]:
        """Events not published yet: the device's first, then those of the tiers below."""
        if self._offload is not None or self._pool.events:
            self._collect()
        device, self._device = self._device, []
        if self._offload is None:
            return device
        below, self._below = self._below, []
        return device + below

    def _collect(self) -> None:
        pool, offload = self._pool, self._offload
        if pool.events:
            self._seen += pool.events
            self._device += pool.events
            pool.events = []
        if offload is not None and offload.events:
            self._seen += offload.events
            self._below += offload.events
            offload.events.clear()
