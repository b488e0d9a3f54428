"""The books of one router of a pool: what it heard, and what is booked there."""

from collections.abc import Sequence

from sim.cluster.checks.index import Index
from sim.cluster.checks.loads import Loads
from sim.events.clock import Clock
from sim.kv.events import KvEvent
from sim.router import Booking


class PoolBooks:
    """The `PoolObserver` of one router."""

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

    def asked(self, rank: int) -> None:
        """See `PoolObserver`."""
        self._index.sent += 1

    def forgotten(self, rank: int) -> None:
        """See `PoolObserver`."""
        self._index.forgotten(rank)

    def cleared(self) -> None:
        """See `PoolObserver`."""
        self._index.cleared()

    def told(self, front_end: int, booking: Booking, *, booked: bool) -> None:
        """See `PoolObserver`."""
        self._loads.told(front_end, booking, self._clock.now_s, booked=booked)

    def unbooked(self) -> None:
        """See `PoolObserver`."""
        self._loads.forgotten(self._clock.now_s)
