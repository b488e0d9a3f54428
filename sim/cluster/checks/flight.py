"""Little's law for the requests in flight, and for those of them that are with no worker but on their way."""

from array import array
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from sim.cluster.checks.queues import compare
from sim.results.gauge import Gauge
from sim.results.rows import Table


class Flight:
    """The requests in flight, of `count` in all.

    How long one was on its way is in its row, as long as no worker of it was lost: its times there are then
    those of all that it went through. It is counted here too, for those of which that does not hold.
    """

    def __init__(self, count: int) -> None:
        self._in_flight = Gauge()
        # A request leaves one worker, or a second one after that.
        self._left_s = array("d", [nan]) * count, array("d", [nan]) * count
        self._since_s = array("d", [nan]) * count
        """Since when requests are on their way; nan: they are not."""
        self._way_s = array("d", [0.0]) * count
        """How long they have been before."""
        self._again = bytearray(count)
        """Whether they came to a worker in place of another one."""

    def grow(self, more: int) -> None:
        """There are so many more requests than was known."""
        for times_s in (*self._left_s, self._since_s):
            times_s.extend([nan] * more)
        self._way_s.extend([0.0] * more)
        self._again.extend(bytes(more))

    def in_flight(self, count: int, now_s: float) -> None:
        """So many are in flight from now on."""
        self._in_flight.set(count, now_s)

    def sent(self, index: int, now_s: float) -> None:
        """A client sends a request."""
        self._since_s[index] = now_s

    def came_to_worker(self, index: int, now_s: float) -> None:
        """A request came to a worker."""
        self._arrived(index, now_s)

    def left_worker(self, index: int, now_s: float) -> None:
        """A request left a worker, or found none there."""
        self._arrived(index, now_s)
        self._since_s[index] = now_s
        first, second = self._left_s
        if first[index] != first[index]:  # nan: not yet
            first[index] = now_s
        else:
            second[index] = now_s

    def tried_again(self, index: int) -> None:
        """A request is to be served otherwise, its worker or what it was to read there having been lost."""
        self._again[index] = 1

    def over(self, index: int, now_s: float) -> None:
        """A request has ended."""
        self._arrived(index, now_s)

    def _arrived(self, index: int, now_s: float) -> None:
        since_s = self._since_s[index]
        if not isnan(since_s):
            self._way_s[index] += now_s - since_s
            self._since_s[index] = nan

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
        ways_s = (
            np.where(np.isnan(queued_s), end_s, queued_s) - send_s,
            again_s - first_s,
            end_s - np.where(np.isnan(again_s), first_s, second_s),
        )
        once = np.frombuffer(self._again, np.bool_)[index] == 0
        on_the_way_s = 0.0
        for way_s in ways_s:
            on_the_way_s += _total(way_s[once])
        told_s = np.array(self._way_s) + np.nan_to_num(now_s - np.array(self._since_s))
        on_the_way_s += _total(told_s[index][~once])
        compare("on the way", self._in_flight.area(now_s) - with_workers_s, on_the_way_s, now_s)


def _total(durations_s: NDArray[np.float64]) -> float:
    """Return the sum of those that there are."""
    return float(np.nansum(durations_s))
