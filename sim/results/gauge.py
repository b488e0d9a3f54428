"""A level that changes over time, such as blocks in use: its mean over time and its maximum."""

from collections.abc import Iterable
from typing import NamedTuple

from sim.base.sums import added


class Gauge:
    """Remembers a level exactly, however often it is told that nothing changed."""

    __slots__ = ("_area", "_from_s", "_level", "_since_s", "_until_s", "_window_area", "_windowed", "max")

    def __init__(self, level: float = 0, now_s: float = 0.0) -> None:
        self._level = self.max = level
        """The greatest level, of the window if there is one."""
        self._since_s = now_s
        self._area = 0.0
        self._windowed = False
        self._from_s = self._until_s = self._window_area = 0.0

    def look_only(self, from_s: float, until_s: float) -> None:
        """Let `seen` count only a window, which begins after the last change."""
        self._windowed = True
        self._from_s, self._until_s, self._window_area = from_s, until_s, 0.0
        self.max = 0.0

    def set(self, level: float, now_s: float) -> None:
        """The level is this from now on."""
        # Adding only at changes keeps the sum the same to the last bit whether steps are skipped or not.
        if level != self._level:
            self._area += self._level * (now_s - self._since_s)
            if self._windowed:
                self._see(now_s)
            self._level, self._since_s = level, now_s
            if not self._windowed:
                self.max = max(self.max, level)

    def area(self, until_s: float) -> float:
        """Return level times seconds up to a time after the last change."""
        return self._area + self._level * (until_s - self._since_s)

    def seen(self, until_s: float) -> tuple[float, float]:
        """Return the area up to a time and the greatest level; those of the window if there is one."""
        if not self._windowed:
            return self.area(until_s), self.max
        held_s = self._held_s(until_s)
        return self._window_area + self._level * held_s, max(self.max, self._level if held_s > 0 else 0.0)

    def _see(self, now_s: float) -> None:
        """Enter the level that has held since the last change."""
        held_s = self._held_s(now_s)
        if held_s > 0:
            self._window_area += self._level * held_s
            self.max = max(self.max, self._level)

    def _held_s(self, now_s: float) -> float:
        """Return how long of the window the level has held."""
        return max(0.0, min(now_s, self._until_s) - max(self._since_s, self._from_s))


class Occupancy(NamedTuple):
    """How full something was: shares of its capacity, from 0 to 1."""

    mean: float | None
    """Over time and over all workers; None if no time passed."""
    max: float
    """The fullest moment of the fullest worker."""


def occupancy(gauges: Iterable[Gauge], capacity: float, until_s: float, from_s: float = 0.0) -> Occupancy:
    """Return the occupancy of equal capacities, a gauge a worker, between two times."""
    seen = [gauge.seen(until_s) for gauge in gauges]
    whole = capacity * (until_s - from_s) * len(seen)
    mean = added(area for area, _ in seen) / whole if whole > 0 else None
    return Occupancy(mean, max(most for _, most in seen) / capacity)
