"""Axes of charts: from values to places, and which values get a tick."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.ticker import Locator

_LOG_TICKS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
"""What each power of ten gets, the most first."""
_LOG_FROM = 20.0
"""An axis whose largest value is so many times the smallest one is logarithmic."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Places of values from `low` to `high` between two ends, in units of the drawing."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        low, high = self._on_axis(self.low), self._on_axis(self.high)
        return self.start + (self._on_axis(value) - low) / (high - low) * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Return round values to mark, about so many at most."""
        from matplotlib.ticker import LogLocator, MaxNLocator  # noqa: PLC0415 - slow to import

        if not self.logarithmic:
            return self._within(MaxNLocator(most, steps=[1, 2, 5, 10]))
        for subs in _LOG_TICKS:
            ticks = self._within(LogLocator(subs=subs, numticks=99))
            if len(ticks) <= most:
                break
        return ticks

    def _within(self, locator: "Locator") -> list[float]:
        values = map(float, locator.tick_values(self.low, self.high))
        return [value for value in values if self.low <= value <= self.high]

    def _on_axis(self, value: float) -> float:
        return log10(value) if self.logarithmic else value


def spanning(low: float, high: float, start: float, end: float) -> Scale:
    """Return a scale for values of this range: logarithmic where it is wide, from 0 where it is not."""
    if 0 < low * _LOG_FROM <= high:
        return Scale(low, high, start, end, logarithmic=True)
    return Scale(0.0, high or 1.0, start, end)


Written = Callable[[float], str]
"""How an axis writes a value."""


def time_tick(seconds: float) -> str:
    """Return a time as short as an axis needs it: "20 ms", "1.5 s", "0"."""
    if not seconds:
        return "0"
    return f"{seconds:,g} s" if seconds >= 1 else f"{1000 * seconds:,g} ms"


def count_tick(value: float) -> str:
    """Return a count as short as an axis needs it: "500", "1.5M"."""
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if value >= factor:
            return f"{value / factor:g}{letter}"
    return f"{value:g}"


def percent_tick(share: float) -> str:
    """Return a share as an axis writes it: "20 %"."""
    return f"{float(f'{100 * share:.3g}'):,g} %"
