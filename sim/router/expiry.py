"""When a booking is let go although its request has not ended: two rules of Dynamo 1.5.0."""

from math import floor
from typing import Final, Protocol

from sim.router.load import Loads


class Expiry(Protocol):
    """Frees bookings from a router's loads. Times are seconds since the router's start."""

    def look(self, loads: Loads, now_s: float) -> None:
        """Free what has been due by now; called before anything else happens at this time."""

    def booking(self, loads: Loads, rank: int, now_s: float) -> None:
        """Free what is due because a request is booked on this rank next."""


class SecondChance:
    """The rule of the router in Dynamo's frontend.

    It scans every so often, counted from its start, and frees what made no progress since the scan before.
    Being booked, the first token and every output chunk are progress: a request that streams never expires,
    one of which nothing is heard does so after one to two intervals.
    """

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._scans = 0
        """How many scans there have been."""

    @property
    def next_scan_s(self) -> float:
        """When the next scan is."""
        return (self._scans + 1) * self._interval_s

    def look(self, loads: Loads, now_s: float) -> None:
        """Make up for the scans until now."""
        while now_s >= self.next_scan_s:
            last_scan_s = self._scans * self._interval_s
            for booking in list(loads.open):
                if booking.progress_s < last_scan_s:
                    loads.free(booking, self.next_scan_s)
            self._scans += 1
            if not loads.open:  # further scans find nothing
                self._scans = max(self._scans, floor(now_s / self._interval_s) - 1)

    def booking(self, loads: Loads, rank: int, now_s: float) -> None:
        """Do nothing."""


class AgeLimit:
    """The rule of Dynamo's SelectionService: what was booked longer ago than the limit is freed.

    It looks at a rank when a request is booked there, before that counts, and at all ranks every minute; but
    never twice within half a minute at the same rank.
    """

    SWEEP_S: Final = 60.0
    LEAST_S: Final = 30.0

    def __init__(self, limit_s: float, ranks: int) -> None:
        self._limit_s = limit_s
        self._looked_s = [0.0] * ranks
        self._swept_s = 0.0

    def look(self, loads: Loads, now_s: float) -> None:
        """Make up for the last sweep: it frees what those before it would have."""
        sweep_s = now_s // self.SWEEP_S * self.SWEEP_S
        if sweep_s > self._swept_s:
            self._swept_s = sweep_s
            for rank in range(len(self._looked_s)):
                self.booking(loads, rank, sweep_s)

    def booking(self, loads: Loads, rank: int, now_s: float) -> None:
        """Free what is too old on this rank, unless that was looked at just before."""
        if now_s - self._looked_s[rank] < self.LEAST_S:
            return
        self._looked_s[rank] = now_s
        for booking in list(loads.open):
            if booking.rank == rank and now_s - booking.booked_s > self._limit_s:
                loads.free(booking, now_s)
