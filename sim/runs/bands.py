"""Several runs that draw what is not known: the median of every number, and the band that most draws lie in.

A band is a statement about one run of the real system, as far as the ranges of the coefficients are right. It
does not narrow with the number of draws, as the confidence interval of a mean would.
"""

from collections.abc import Sequence
from typing import NamedTuple

COVERAGE = 0.95
_ENDS = (0.025, 0.975)
FEW = 40
"""Of fewer draws the ends of the band are about those of the draws."""


class Band(NamedTuple):
    """A median over draws, the 2.5th and 97.5th percentile, and the extremes."""

    median: float | None
    low: float | None
    """None for fewer than two values."""
    high: float | None
    least: float | None
    most: float | None
    n: int
    """Runs that had a value."""

    @property
    def middle(self) -> float | None:
        """The number to show when there is room for one."""
        return self.median


def band(values: Sequence[float]) -> Band:
    """Return the band of some draws; percentiles lie on straight lines between neighbours."""
    n = len(values)
    if not n:
        return Band(None, None, None, None, None, 0)
    ordered = sorted(values)
    if n == 1:
        return Band(values[0], None, None, values[0], values[0], 1)
    low, high = (_quantile(ordered, share) for share in _ENDS)
    return Band(_quantile(ordered, 0.5), low, high, ordered[0], ordered[-1], n)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return low + (high - low) * (place - below)
