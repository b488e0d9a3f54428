"""Little's law for the requests in flight, and for those of them that are with no worker but on their way."""

from array import array
from math import nan

import numpy as np
from numpy.typing import NDArray

from sim.checks.queues import compare
from sim.results.gauge import Gauge
from sim.results.rows import Table


class Flight:
    """The requests in flight, of `count` in all."""

    def __init__(self, count: int) -> None:
        self._in_flight = Gauge()
        # A request leaves one worker, or a second one after that.
        self._left_s = array("d", [nan]) * count, array("d", [nan]) * count

    def in_flight(self, count: int, now_s: float) -> None:
        """So many are in flight from now on."""
        self._in_flight.set(count, now_s)

    def left_worker(self, index: int, now_s: float) -> None:
        """A request left a worker."""
        first, second = self._left_s
        if first[index] != first[index]:  # nan: not yet
            first[index] = now_s
        else:
            second[index] = now_s

    def check_rows(self, table: Table, with_workers_s: float, now_s: float) -> None:
        """Compare with the rows at the end of a run, and with the request seconds that workers had of it."""
        index = table.values("index").values
        send_s, queued_s, again_s, end_s = (
            np.where(measured, values, nan)
            for values, measured in map(table.values, ("send_s", "queued_s", "decode_queued_s", "end_s"))
        )
        end_s = np.where(np.isnan(end_s), now_s, end_s)
        first_s, second_s = (np.array(times_s)[index] for times_s in self._left_s)
        compare("in flight", self._in_flight.area(now_s), _total(end_s - send_s), now_s)
        on_the_way_s = (
            _total(np.where(np.isnan(queued_s), end_s, queued_s) - send_s)
            + _total(again_s - first_s)
            + _total(end_s - np.where(np.isnan(again_s), first_s, second_s))
        )
        compare("on the way", self._in_flight.area(now_s) - with_workers_s, on_the_way_s, now_s)


def _total(durations_s: NDArray[np.float64]) -> float:
    """Return the sum of those that there are."""
    return float(np.nansum(durations_s))
