"""Draws of a number that is known to an interval only.

Draw k of a number depends on k and its name alone: it is the same in every scenario and with every seed, and
a number more or less shifts no other. How a draw is spread:

- with a standard deviation: normal around the value, cut off at the ends of the range;
- without: the value is the median, and each half is spread evenly by factors between the value and the end of
  the range; evenly by amounts where the lower of the two is 0.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

from sim.base.settings import Settings
from sim.base.uniform import uniform

SettingsT = TypeVar("SettingsT", bound=Settings)

_LEAST, _MOST = 2.0**-54, 1.0 - 2.0**-53
"""The quantiles 0 and 1 of a normal distribution are infinite."""


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A number and what is known of it: low <= value <= high, all of one unit."""

    value: float
    low: float
    high: float
    sigma: float | None = None
    """One standard deviation, above 0; None if nobody knows."""

    def drawn(self, name: str, k: int) -> float:
        """Return draw `k`, from 1 on, of the number of this name; it lies in the range."""
        u = uniform(k, f"uncertain {name}", 0)
        if self.sigma is not None:
            return self._normal(u, self.sigma)
        if u < 0.5:
            return _between(self.low, self.value, 2 * u)
        return _between(self.value, self.high, 2 * u - 1)

    def _normal(self, u: float, sigma: float) -> float:
        normal = NormalDist(self.value, sigma)
        first, last = normal.cdf(self.low), normal.cdf(self.high)
        quantile = min(max(first + u * (last - first), _LEAST), _MOST)
        return min(max(normal.inv_cdf(quantile), self.low), self.high)


@dataclass(frozen=True, slots=True)
class Range:
    """What is known of the default of a setting, in the setting's unit; stands in its annotation."""

    low: float
    high: float
    sigma: float | None = None
    """See `Uncertain`."""


def draw_defaults(settings: SettingsT, name: str, k: int) -> SettingsT:
    """Return settings with draw `k` of each default that something is known of; other values stay."""
    drawn = {}
    for key, field in type(settings).model_fields.items():
        for known in field.metadata:
            if isinstance(known, Range) and getattr(settings, key) == field.default:
                number = Uncertain(field.default, known.low, known.high, known.sigma)
                drawn[key] = number.drawn(f"{name}.{key}", k)
    return settings.model_copy(update=drawn)


def _between(low: float, high: float, u: float) -> float:
    """Return what lies at `u` of the way, 0 to 1."""
    found: float = low * (high / low) ** u if low > 0 else low + (high - low) * u
    return min(max(found, low), high)
