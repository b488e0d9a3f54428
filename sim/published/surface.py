"""How rows move with coefficients: near a centre, the logarithm of each number is a straight line in them.

A response surface of the first order (G. E. P. Box, K. B. Wilson, On the Experimental Attainment of Optimum
Conditions, 1951): a few runs of the simulator around a centre stand for all that would be tried there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log

from sim.base.sums import added
from sim.published.scores import distance
from sim.published.targets import Target

Z = tuple[float, ...]
"""Coefficients, each in standard deviations from its prior."""


@dataclass(frozen=True, slots=True)
class Line:
    """One place of one row: its number along every coefficient."""

    target: Target
    centre: float
    """The number at the centre, its logarithm where all that was seen of it is above 0."""
    slopes: Z
    """What a standard deviation of each coefficient adds to that."""
    logarithmic: bool

    def off(self, move: Sequence[float]) -> float:
        """Return how far the number is from its band after a move from the centre: see `scores.distance`."""
        at = self.centre + added(slope * step for slope, step in zip(self.slopes, move, strict=True))
        value = exp(min(at, 700.0)) if self.logarithmic else at
        sized = self.target.combine == "difference"
        return distance(abs(value) if sized else value, self.target.band)


def line(target: Target, centre: float, sides: Sequence[tuple[float, float, float, float]]) -> Line:
    """Return a place's line through what was seen of it.

    Args:
        target: its row.
        centre: its number at the centre.
        sides: of each coefficient, how far it went down and up, and the numbers there.

    """
    numbers = [centre, *(number for side in sides for number in side[2:])]
    logarithmic = all(number > 0 for number in numbers)
    shown: Callable[[float], float] = log if logarithmic else float
    slopes = tuple(
        (shown(above) - shown(below)) / (up - down) if up > down else 0.0 for down, up, below, above in sides
    )
    return Line(target, shown(centre), slopes, logarithmic)
