"""A level that changes over time, such as blocks in use: its mean over time and its maximum."""

from collections.abc import Iterable
from typing import NamedTuple

from sim.base.sums import added


class Gauge:
    """Remembers a level exactly, however often it is told that nothing changed."""

    __slots__ = ("_area", "_level", "_since_s", "max")

    def __init__(self, level: float = 0, now_s: float = 0.0) -> None:
        self._level = self.max = level
        self._since_s = now_s
        self._area = 0.0

    def set(self, level: float, now_s: float) -> None:
        """The level is this from now on."""
        # Adding only at changes keeps the sum the same to the last bit whether steps are skipped or not.
        if level != self._level:
            self._area += self._level * (now_s - self._since_s)
            self._level, self._since_s = level, now_s
            self.max = max(self.max, level)

    def area(self, until_s: float) -> float:
        """Return level times seconds up to a time after the last change."""
        return self._area + self._level * (until_s - self._since_s)


class Occupancy(NamedTuple):
    """How full something was: shares of its capacity, from 0 to 1."""

    mean: float | None
    """Over time and over all workers; None if no time passed."""
    max: float
    """The fullest moment of the fullest worker."""


def occupancy(gauges: Iterable[Gauge], capacity: float, simulated_s: float) -> Occupancy:
    """Return the occupancy of equal capacities, a gauge a worker, all started at time 0."""
    gauges = list(gauges)
    whole = capacity * simulated_s * len(gauges)
    mean = added(gauge.area(simulated_s) for gauge in gauges) / whole if whole else None
    return Occupancy(mean, max(gauge.max for gauge in gauges) / capacity)
