"""The books of one pool: what its router heard, and what is booked there."""

from collections.abc import Sequence

from sim.cluster.checks.index import Index
from sim.cluster.checks.loads import Loads
from sim.events.clock import Clock
from sim.kv.events import KvEvent


class PoolBooks:
    """The `PoolObserver` of one pool."""

    def __init__(self, clock: Clock, index: Index, loads: Loads) -> None:
        self._clock = clock
        self._index = index
        self._loads = loads

    def heard(self, rank: int, events: Sequence[KvEvent]) -> None:
        """See `PoolObserver`."""
        self._index.heard(rank, events)

    def dropped(self, rank: int, messages: int) -> None:
        """See `PoolObserver`."""
        self._index.dropped(rank, messages)

    def forgotten(self, rank: int) -> None:
        """See `PoolObserver`."""
        self._index.forgotten(rank)

    def cleared(self) -> None:
        """See `PoolObserver`."""
        self._index.cleared()

    def unbooked(self) -> None:
        """See `PoolObserver`."""
        self._loads.forgotten(self._clock.now_s)
