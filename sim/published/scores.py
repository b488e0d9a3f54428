"""Whether rows hold: simulated numbers against bands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log
from statistics import median

from sim.published.cells import Cell, cells
from sim.published.study import Study, Workload
from sim.published.targets import Band, Target
from sim.runs.spread import ends


@dataclass(frozen=True, slots=True)
class CellScore:
    """What the simulator says in one cell."""

    cell: Cell
    values: tuple[float, ...]
    """One for each run that has it."""
    holds: bool
    """Whether the median is in the row's band; the size of it, of a difference."""
    share: float | None
    """Of the runs that are in the band each for itself."""
    off: float
    """How far the median is from the band: see `distance`."""

    @property
    def median(self) -> float | None:
        """The typical run."""
        return median(self.values) if self.values else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % of the runs: what one measured run may be expected to give; None for fewer than two."""
        return ends(self.values) if len(self.values) > 1 else None


@dataclass(frozen=True, slots=True)
class RowScore:
    """What the simulator says of a row on one workload."""

    target: Target
    workload: str
    cells: tuple[CellScore, ...]

    @property
    def holds(self) -> bool:
        """Whether the row holds, at every place or at any, as it says."""
        held = [score.holds for score in self.cells]
        return any(held) if self.target.holds == "any" else bool(held) and all(held)

    @property
    def deciding(self) -> CellScore:
        """The cell that is furthest from the band; the nearest, where one that holds is enough."""
        return (min if self.target.holds == "any" else max)(self.cells, key=lambda score: score.off)


Values = Callable[[Cell], Sequence[float]]
"""Returns a row's number in a cell, one for each run that has it."""


def score(target: Target, study: Study, workload: Workload) -> RowScore:
    """Return the score of a dynamic row."""
    return score_values(target, lambda cell: study.values(target, cell, workload), workload.name)


def score_values(target: Target, values: Values, workload: str) -> RowScore:
    """Return the score of a dynamic row whose numbers come from anywhere."""
    return RowScore(
        target, workload, tuple(_cell_score(target, cell, values(cell)) for cell in cells(target))
    )


def _cell_score(target: Target, cell: Cell, values: Sequence[float]) -> CellScore:
    if not values:
        return CellScore(cell, (), holds=False, share=None, off=inf)
    band, sized = target.band, target.combine == "difference"
    typical = median(values)
    shares = [band.holds(abs(value) if sized else value) for value in values]
    judged = abs(typical) if sized else typical
    return CellScore(
        cell, tuple(values), band.holds(judged), sum(shares) / len(shares), distance(judged, band)
    )


def distance(value: float, band: Band) -> float:
    """Return how far a number is from a band; inside, how near to its nearest edge it is, negative.

    In logarithms, so that half and twice are equally far, where the band and the number are above 0; else in
    units of the band's greater limit.
    """
    low, high = band
    limits = [limit for limit in (low, high) if limit is not None]
    if min(limits) > 0 and value > 0:
        value, limits = log(value), [log(limit) for limit in limits]
        low, high = low and log(low), high and log(high)
        scale = 1.0
    else:
        scale = max(map(abs, limits)) or 1.0
    below = -inf if low is None else low - value
    above = -inf if high is None else value - high
    return max(below, above) / scale
