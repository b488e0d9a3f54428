"""One number at a time of a comparison: of one run, and at one point for every scenario."""

from collections.abc import Sequence
from typing import NamedTuple

from sim.runs.paired import Estimate
from sim.runs.spread import Spread

Value = str | int | float | bool | None
"""What a key of a scenario is set to; a table stands for itself as text."""
Point = tuple[Value, ...]
"""Values of the swept keys, in their order."""
Case = tuple[int, int]
"""A seed and a draw: runs of equal cases are pairs."""


class Record(NamedTuple):
    """One number of one run."""

    scenario: str
    point: Point
    seed: int
    draw: int
    metric: str
    value: float


class Row(NamedTuple):
    """One number at one point, for every scenario."""

    metric: str
    point: Point
    spreads: dict[str, Spread]
    """Over seeds or, if there are any, over draws, by scenario."""
    differences: dict[str, Estimate]
    """Less the first scenario, by scenario: all but the first."""
    ratios: dict[str, Estimate]
    """Divided by the first scenario."""
    thin: Sequence[str]
    """The scenarios where it is a percentile with too few samples beyond it, in some run."""
