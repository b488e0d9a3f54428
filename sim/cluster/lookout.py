"""What a front door must know when it scans for bookings without progress: whose answers went on.

Chunks of an answer are no events of the simulation, and a worker takes many at once. So nobody tells a router
of them as they come: it is told before each of its scans, of every booked request, when the last one came.
"""

from collections.abc import Mapping, Sequence
from math import floor, inf

from sim.cluster.pool import Pool
from sim.cluster.replica import Replica
from sim.cluster.request_state import RequestState
from sim.engine.active import Status


class Lookout:
    """Looks at workers before each scan.

    Args:
        pools: their routers are told.
        records: requests under way, by index.
        interval_s: from scan to scan.
        way_s: how long an output is on its way from a worker to the front door.
    """

    def __init__(
        self,
        pools: Sequence[Pool],
        records: Mapping[int, RequestState],
        *,
        interval_s: float,
        way_s: float,
    ) -> None:
        self._pools = pools
        self._records = records
        self._interval_s = interval_s
        self._way_s = way_s
        self._scan = 1

    @property
    def due_s(self) -> float:
        """When to look next: what workers put out before is known at the front door by the scan."""
        return self._scan * self._interval_s - self._way_s

    def look(self, until_s: float) -> None:
        """Look as often as is due by a time; nothing has happened since the first of these moments."""
        while self.due_s <= until_s:
            due_s, nothing_booked = self.due_s, True
            last_scan_s = min(due_s, (self._scan - 1) * self._interval_s)
            for pool in self._pools:
                for replica in pool.replicas:
                    told = self._tell(replica, due_s, last_scan_s)
                    nothing_booked = nothing_booked and not told
            self._scan += 1
            if nothing_booked:  # nor will anything be before `until_s`
                self._scan = max(self._scan, floor((until_s + self._way_s) / self._interval_s))

    def _tell(self, replica: Replica, due_s: float, last_scan_s: float) -> bool:
        """Tell a router of the requests of its front end; return whether there are any."""
        any_booked, router = False, replica.router
        for booking in list(router.loads.open):
            record = self._records.get(booking.request)
            if record is not None and record.front_end == replica.front_end:
                any_booked = True
                router.progress(booking, _last_output_s(record, due_s) + self._way_s, last_scan_s)
        return any_booked


def _last_output_s(record: RequestState, before_s: float) -> float:
    visit = record.visit
    if visit is None or visit.active is None or not record.last_token_s:
        return -inf
    if visit.active.status is not Status.RUNNING:
        return record.last_token_s
    return max(record.last_token_s, visit.worker.last_output_s(before_s))
