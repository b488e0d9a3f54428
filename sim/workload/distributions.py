"""Distributions by inverse CDF: one uniform number in, one value out."""

from bisect import bisect_right
from dataclasses import dataclass
from math import log, pow


@dataclass(frozen=True, slots=True)
class Quantiles:
    """What was measured: values at some shares, and between them straight lines in their logarithms.

    `shares` go from 0 to 1 and rise; `values` are positive and do not fall. The greatest value ends the tail,
    so that there is a mean.
    """

    shares: tuple[float, ...]
    values: tuple[float, ...]

    def quantile(self, u: float) -> float:
        """Return the value below which a share `u` lies, 0 <= u <= 1."""
        place = min(bisect_right(self.shares, u), len(self.shares) - 1) - 1
        low, high = self.shares[place], self.shares[place + 1]
        return self.values[place] * pow(self.values[place + 1] / self.values[place], (u - low) / (high - low))

    def cdf(self, x: float) -> float:
        """Return the share that lies below `x`."""
        place = bisect_right(self.values, x) - 1
        if place < 0:
            return 0.0
        if place == len(self.values) - 1:
            return 1.0
        low, high = self.values[place], self.values[place + 1]
        part = log(x / low) / log(high / low)
        return self.shares[place] + part * (self.shares[place + 1] - self.shares[place])
