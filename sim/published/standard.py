"""A coefficient in standard deviations from its value: how a search moves what differs by powers of ten."""

from sim.base.uncertainty import Uncertain

_ENDS = 2.0
"""Without a standard deviation, the ends of the range are taken to be so many of them away."""


class Standard:
    """The scale of one coefficient: 0 is its value, `low` and `high` are the ends of its range."""

    def __init__(self, known: Uncertain) -> None:
        """Take what is known of it."""
        self._known = known
        sigma = known.sigma
        self.low = -_ENDS if sigma is None else (known.low - known.value) / sigma
        self.high = _ENDS if sigma is None else (known.high - known.value) / sigma

    def value(self, z: float) -> float:
        """Return the coefficient at a place on the scale; without a standard deviation, evenly by factors."""
        known = self._known
        if known.sigma is not None:
            return min(max(known.value + z * known.sigma, known.low), known.high)
        end = known.low if z < 0 else known.high
        share = min(abs(z) / _ENDS, 1.0)
        if min(known.low, known.value) > 0:
            return float(known.value * (end / known.value) ** share)
        return known.value + (end - known.value) * share

    def z(self, value: float) -> float:
        """Return the place of a value, to a thousandth."""
        low, high = self.low, self.high
        while high - low > 1e-3:
            middle = (low + high) / 2
            low, high = (middle, high) if self.value(middle) < value else (low, middle)
        return (low + high) / 2

    def spread(self, z: float, sigmas: float) -> float:
        """Return half of what lies between so many standard deviations below and above a place."""
        return (self.value(z + sigmas) - self.value(z - sigmas)) / 2
