"""What is said of printed numbers: how far off each is, which sign an A/B pair has, how many are within."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import NamedTuple

from sim.published.measures import SHARES, Level
from sim.published.scores import RowScore
from sim.published.settings import AB
from sim.published.static import StaticScore
from sim.published.targets import Target


class Error(NamedTuple):
    """How far a simulated number is from the printed one."""

    size: float
    """Above 0: too high."""
    points: bool
    """Percentage points of a share; else a part of the printed number."""


def error(target: Target, simulated: float | None) -> Error | None:
    """Return how far off a number is, in the terms of its tolerance; None without either number."""
    printed = target.one_number
    if printed is None or simulated is None:
        return None
    judged = abs(simulated) if target.combine == "difference" else simulated
    if target.tolerance is not None and target.tolerance.points:
        return Error((judged - printed) * 100 / SHARES[target.unit], points=True)
    return Error((judged - printed) / abs(printed), points=False) if printed else None


@dataclass(frozen=True, slots=True)
class ABVerdict:
    """One number of two configurations at one level."""

    pair: AB
    target: Target
    """The row of `other`."""
    level: Level | None
    printed: float
    """By how much other is above base, as a part of base."""
    simulated: float | None
    """None: there is no number of one of them."""

    @property
    def right(self) -> bool:
        """Whether the simulator says too that it is above, below or the same."""
        return self.simulated is not None and self._sign(self.printed) == self._sign(self.simulated)

    def _sign(self, difference: float) -> int:
        return 0 if abs(difference) <= self.pair.same_within else 1 if difference > 0 else -1


def judged(pairs: Sequence[AB], rows: Sequence[RowScore]) -> Iterator[ABVerdict]:
    """Yield what is to be said of every number that is printed of both sides of a pair at a level."""
    found = {
        (row.target.metric, row.target.configurations[0], row.target.level): row
        for row in rows
        if row.target.printed is not None
    }
    for pair in pairs:
        for (metric, configuration, level), row in found.items():
            base = found.get((metric, pair.base, level))
            if configuration != pair.other or base is None:
                continue
            printed = _difference(_canonical(base, base.target.printed), _canonical(row, row.target.printed))
            if printed is not None:
                simulated = _difference(*(_canonical(one, one.deciding.median) for one in (base, row)))
                yield ABVerdict(pair, row.target, level, printed, simulated)


def _canonical(row: RowScore, value: float | None) -> float | None:
    """Return a number of a row in the summary's unit: two rows may be printed in two."""
    return None if value is None else value / row.target.scale


def _difference(base: float | None, other: float | None) -> float | None:
    return None if base is None or other is None or not base else (other - base) / abs(base)


@dataclass(frozen=True, slots=True)
class Counted:
    """Some rows of a cluster, counted."""

    rows: int
    within: int
    errors: tuple[float, ...]
    """Sizes of errors that are parts of a printed number; infinite where nothing was simulated."""
    points: tuple[float, ...]
    """The same of those in percentage points."""

    @property
    def median_error(self) -> float | None:
        """The typical error as a part of what is printed; infinite if most have no number."""
        return median(self.errors) if self.errors else None

    @property
    def median_points(self) -> float | None:
        """The typical error of shares, in points."""
        return median(self.points) if self.points else None


def counted(static: Sequence[StaticScore], dynamic: Sequence[RowScore]) -> Counted:
    """Count rows; of one with several places, the error is that of the place that decides."""
    scores: list[tuple[Target, float | None, bool]] = [(row.target, row.value, row.holds) for row in static]
    scores += [(row.target, row.deciding.median, row.holds) for row in dynamic]
    sizes: dict[bool, list[float]] = {False: [], True: []}
    for target, simulated, _ in scores:
        if target.one_number is None:
            continue
        off = error(target, simulated)
        if off is not None:
            sizes[off.points].append(abs(off.size))
        elif simulated is None:
            sizes[target.tolerance is not None and target.tolerance.points].append(inf)
    within = sum(holds for _, _, holds in scores)
    return Counted(len(scores), within, tuple(sizes[False]), tuple(sizes[True]))
