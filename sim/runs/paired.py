"""How far one scenario is from another, from runs of both with the same seeds and draws.

Equal seeds mean equal workloads, so runs are pairs: what a hard workload does to both cancels out, and so
does what slow coefficients do to both.
"""

from collections.abc import Sequence
from math import fsum, isclose
from typing import Any, NamedTuple

from sim.runs.spread import CONFIDENCE, around, band, half_width

LEAST_PAIRS = 3
"""An interval of fewer is too wide to say anything."""
_ROUNDING = 1e-9
"""Numbers that are closer than this share of them differ by how their sums were rounded, and are equal."""


class Estimate(NamedTuple):
    """A difference or ratio, with its 95 % confidence interval over seeds or the 95 % band of draws."""

    value: float | None
    """None without pairs, and for a ratio to 0."""
    low: float | None
    """None for too few pairs: three make an interval, two a band."""
    high: float | None
    n: int
    """Pairs."""

    def excludes(self, value: float) -> bool:
        """Whether there is an interval and a value lies outside."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


NO_ESTIMATE = Estimate(None, None, None, 0)


def difference(first: Sequence[float], other: Sequence[float]) -> Estimate:
    """Return mean(other) - mean(first), with Student's t interval of the pairs' differences."""
    return mean_of(differences(first, other))


def mean_of(values: Sequence[float]) -> Estimate:
    """Return the mean of what pairs came to, with Student's t interval."""
    return _estimate(_mean(values), _half_width(values), len(values)) if values else NO_ESTIMATE


def ratio(first: Sequence[float], other: Sequence[float]) -> Estimate:
    """Return r = mean(other) / mean(first), with the interval of a ratio estimator, on a logarithmic scale.

    Its variance is that of the mean of other - r first, over mean(first) squared (W. G. Cochran, Sampling
    Techniques, chapter 6): pairs that all have the same ratio leave no doubt about it.
    """
    n = len(first)
    if not n or not (below := _mean(first)):
        return Estimate(None, None, None, n)
    other = _rounded(first, other)
    r = _mean(other) / below
    half = _half_width([b - r * a for a, b in zip(first, other, strict=True)])
    if half is None:
        return Estimate(r, None, None, n)
    return Estimate(r, *around(r, half / abs(below), positive=min(*first, *other) >= 0), n)


def drawn_difference(first: Sequence[float], other: Sequence[float]) -> Estimate:
    """Return the median of other - first over pairs, with the band of the draws."""
    return _of_draws(differences(first, other))


def drawn_ratio(first: Sequence[float], other: Sequence[float]) -> Estimate:
    """Return the median of other / first over pairs, with the band of the draws; none if a first one is 0."""
    if not all(first):
        return Estimate(None, None, None, len(first))
    return _of_draws([b / a for a, b in zip(first, _rounded(first, other), strict=True)])


def _of_draws(values: Sequence[float]) -> Estimate:
    found = band(values)
    return Estimate(found.middle, found.low, found.high, found.n)


def bootstrap_difference(first: Sequence[float], other: Sequence[float]) -> Estimate:
    """Return mean(other) - mean(first), with a bootstrap interval (BCa) of the pairs' differences.

    It takes no shape of their distribution for granted. Equal pairs give equal intervals.
    """
    from scipy.stats import bootstrap  # noqa: PLC0415 - slow to import

    away = differences(first, other)
    n = len(away)
    if n < LEAST_PAIRS:
        return Estimate(_mean(away) if n else None, None, None, n)
    mean = _mean(away)
    if min(away) == max(away):
        return Estimate(mean, mean, mean, n)
    found = bootstrap((away,), _mean_along, confidence_level=CONFIDENCE, rng=0).confidence_interval
    return Estimate(mean, float(found.low), float(found.high), n)


def differences(first: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return other - first of every pair; 0 where rounding alone sets them apart."""
    return [b - a for a, b in zip(first, _rounded(first, other), strict=True)]


def _rounded(first: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return the other numbers, with the first one of a pair for one that differs by rounding alone."""
    return [a if isclose(a, b, rel_tol=_ROUNDING) else b for a, b in zip(first, other, strict=True)]


def _mean_along(values: Any, axis: int) -> Any:
    return values.mean(axis=axis)


def _estimate(value: float, half: float | None, n: int) -> Estimate:
    return Estimate(value, None, None, n) if half is None else Estimate(value, value - half, value + half, n)


def _half_width(values: Sequence[float]) -> float | None:
    """Return half of the interval of a mean; None for fewer than three values."""
    return half_width(values) if len(values) >= LEAST_PAIRS else None


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
