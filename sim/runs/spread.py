"""One number over several runs: its middle, between what it lies, and the extremes.

Over seeds it is the mean with its confidence interval, which narrows with every run. Over draws of what is
not known it is the median with the band that most draws lie in: a statement about one run of the real system,
as far as the ranges of the coefficients are right, that does not narrow.
"""

from collections.abc import Sequence
from functools import cache
from math import exp, fsum, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from sim.results.quantities import is_part_of_one

CONFIDENCE = 0.95
"""Of an interval."""
COVERAGE = 0.95
"""Of a band."""
_ENDS = (0.025, 0.975)
FEW = 40
"""Of fewer draws the ends of the band are about those of the draws."""


class Spread(NamedTuple):
    """One number of several runs; of no run all is None."""

    middle: float | None
    low: float | None
    """None for fewer than two values."""
    high: float | None
    least: float | None
    most: float | None
    n: int
    """Runs that had a value."""

    def named(self, middle: str) -> dict[str, Any]:
        """Return it ready for JSON, with what its middle is called: "mean" or "median"."""
        return {middle: self.middle, **dict(zip(self._fields[1:], self[1:], strict=True))}


def interval(values: Sequence[float], metric: str = "") -> Spread:
    """Return the mean of a number and its interval."""
    n = len(values)
    if n < 2:
        return _of_few(values)
    mean = fsum(values) / n
    low, high = around(mean, half_width(values), positive=min(values) >= 0, share=is_part_of_one(metric))
    return Spread(mean, low, high, min(values), max(values), n)


def band(values: Sequence[float]) -> Spread:
    """Return the median of some draws and what the middle 95 % of them lie in."""
    n = len(values)
    if n < 2:
        return _of_few(values)
    return Spread(float(np.median(values)), *ends(values), min(values), max(values), n)


def ends(values: Sequence[float]) -> tuple[float, float]:
    """Return what the middle 95 % of some values lie in; percentiles lie on straight lines between them."""
    low, high = np.quantile(values, _ENDS).tolist()
    return low, high


def _of_few(values: Sequence[float]) -> Spread:
    value = float(values[0]) if values else None
    return Spread(value, None, None, value, value, len(values))


def half_width(values: Sequence[float]) -> float:
    """Return half the interval of a mean, t s / sqrt(n), s the standard deviation of two or more values."""
    n = len(values)
    mean = fsum(values) / n
    variance = fsum((value - mean) ** 2 for value in values) / (n - 1)
    return student_t(n - 1) * sqrt(variance / n)


def around(mean: float, half: float, *, positive: bool, share: bool = False) -> tuple[float, float]:
    """Return the ends of an interval, within what its number can be.

    Args:
        mean: what it is of.
        half: its half width on a linear scale; on another one that divided by the slope there (delta method).
        positive: whether the number is never below 0: the interval is taken on a logarithmic scale,
        share: and where it is also never above 1, on that of log odds.

    """
    if not half or not positive:
        return mean - half, mean + half
    if share and 0 < mean < 1:
        odds, width = log(mean / (1 - mean)), half / (mean * (1 - mean))
        low, high = 1 / (1 + exp(width - odds)), 1 / (1 + exp(-width - odds))
    else:
        low, high = mean * exp(-half / mean), mean * exp(half / mean)
    return min(low, mean), max(high, mean)  # there and back again may round past it


@cache
def student_t(freedom: int) -> float:
    """Return the t with P(|T| < t) = 0.95 for so many degrees of freedom.

    T^2 / (freedom + T^2) has a beta distribution (M. Abramowitz, I. A. Stegun, Handbook of Mathematical
    Functions, 26.5.27).
    """
    from scipy.special import betaincinv  # noqa: PLC0415 - slow to import

    # Twelve decimals are the same from every release of SciPy, which those of its stdtrit are not.
    share = float(betaincinv(0.5, freedom / 2, CONFIDENCE))
    return round(sqrt(freedom * share / (1 - share)), 12)
