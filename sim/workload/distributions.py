"""Distributions by inverse CDF: one uniform number in, one value out.

Names and parameters are those of scipy.stats with loc 0: shapes first, then the scale.
"""

from bisect import bisect_right
from dataclasses import dataclass
from math import exp, expm1, log, log1p, pow
from statistics import NormalDist
from typing import Protocol

_STANDARD_NORMAL = NormalDist()


class Distribution(Protocol):
    """A continuous distribution of a positive quantity."""

    def quantile(self, u: float) -> float:
        """Return the value below which a share `u` lies, 0 < u < 1."""

    def cdf(self, x: float) -> float:
        """Return the share that lies below `x`, x > 0."""


@dataclass(frozen=True, slots=True)
class Lognorm:
    """exp(s Z) x scale, Z standard normal."""

    s: float
    scale: float

    def quantile(self, u: float) -> float:
        """See `Distribution`."""
        return self.scale * exp(self.s * _STANDARD_NORMAL.inv_cdf(u))

    def cdf(self, x: float) -> float:
        """See `Distribution`."""
        return _STANDARD_NORMAL.cdf(log(x / self.scale) / self.s)


@dataclass(frozen=True, slots=True)
class Weibull:
    """1 - exp(-(x / scale)^c): `weibull_min`."""

    c: float
    scale: float

    def quantile(self, u: float) -> float:
        """See `Distribution`."""
        return self.scale * pow(-log1p(-u), 1 / self.c)

    def cdf(self, x: float) -> float:
        """See `Distribution`."""
        return -expm1(-pow(x / self.scale, self.c))


@dataclass(frozen=True, slots=True)
class Burr12:
    """1 - (1 + (x / scale)^c)^-d."""

    c: float
    d: float
    scale: float

    def quantile(self, u: float) -> float:
        """See `Distribution`."""
        return self.scale * pow(expm1(-log1p(-u) / self.d), 1 / self.c)

    def cdf(self, x: float) -> float:
        """See `Distribution`."""
        return -expm1(-self.d * log1p(pow(x / self.scale, self.c)))


@dataclass(frozen=True, slots=True)
class Fisk:
    """1 / (1 + (x / scale)^-c): the log-logistic distribution."""

    c: float
    scale: float

    def quantile(self, u: float) -> float:
        """See `Distribution`."""
        return self.scale * pow(u / (1 - u), 1 / self.c)

    def cdf(self, x: float) -> float:
        """See `Distribution`."""
        return 1 / (1 + pow(x / self.scale, -self.c))


@dataclass(frozen=True, slots=True)
class Below:
    """Another distribution given that the value lies below `limit`."""

    whole: Distribution
    limit: float

    def quantile(self, u: float) -> float:
        """See `Distribution`."""
        return min(self.whole.quantile(u * self.whole.cdf(self.limit)), self.limit)

    def cdf(self, x: float) -> float:
        """See `Distribution`."""
        return min(self.whole.cdf(x) / self.whole.cdf(self.limit), 1.0)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """What was measured: values at some shares, and between them straight lines in their logarithms.

    `shares` go from 0 to 1 and rise; `values` are positive and do not fall. The greatest value ends the tail,
    so that there is a mean.
    """

    shares: tuple[float, ...]
    values: tuple[float, ...]

    def quantile(self, u: float) -> float:
        """See `Distribution`."""
        place = min(bisect_right(self.shares, u), len(self.shares) - 1) - 1
        low, high = self.shares[place], self.shares[place + 1]
        return self.values[place] * pow(self.values[place + 1] / self.values[place], (u - low) / (high - low))

    def cdf(self, x: float) -> float:
        """See `Distribution`."""
        place = bisect_right(self.values, x) - 1
        if place < 0:
            return 0.0
        if place == len(self.values) - 1:
            return 1.0
        low, high = self.values[place], self.values[place + 1]
        part = log(x / low) / log(high / low)
        return self.shares[place] + part * (self.shares[place + 1] - self.shares[place])
