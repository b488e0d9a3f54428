"""A sample in which values come with counts: exact percentiles without writing every copy down.

All requests of a batch get their next token after the same step, so one gap between tokens counts as often
as the batch is large.
"""

from collections.abc import Iterable
from math import fsum

import numpy as np
from numpy.typing import ArrayLike, NDArray

_SMALLEST_COMPACTION = 1 << 16


class WeightedSample:
    """Values with whole counts. Equal values are merged as the sample grows."""

    def __init__(self) -> None:
        self._values: NDArray[np.float64] = np.empty(0)
        self._counts: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._new_values: list[float] = []
        self._new_counts: list[int] = []
        self._new_arrays: list[tuple[NDArray[np.float64], int]] = []
        self._pending = 0
        self.n = 0
        """Sample size: the sum of all counts."""

    def add(self, value: float, count: int = 1) -> None:
        """Add a value `count` times; a count of 0 adds nothing."""
        if count:
            self._new_values.append(value)
            self._new_counts.append(count)
            self._grown(1, count)

    def add_many(self, values: ArrayLike, count: int = 1) -> None:
        """Add each of the values `count` times."""
        array = np.array(values, dtype=np.float64).ravel()
        if count and array.size:
            self._new_arrays.append((array, count))
            self._grown(array.size, array.size * count)

    @property
    def max(self) -> float | None:
        """The largest value; None of an empty sample."""
        self._compact()
        return float(self._values[-1]) if self.n else None

    @property
    def mean(self) -> float | None:
        """The mean, independent of the order of adding; None of an empty sample."""
        self._compact()
        return fsum((self._values * self._counts).tolist()) / self.n if self.n else None

    def percentiles(self, percents: Iterable[float]) -> list[float | None]:
        """Return percentiles (0 to 100) by linear interpolation between order statistics.

        Bit for bit what `numpy.percentile` gives for the sample written out; None of an empty sample.
        """
        percents = list(percents)
        if not self.n:
            return [None] * len(percents)
        self._compact()
        ends = np.cumsum(self._counts)
        return [self._at((self.n - 1) * (percent / 100), ends) for percent in percents]

    def _at(self, rank: float, ends: NDArray[np.int64]) -> float:
        """Return the value at a fractional place, from 0, of the sorted sample."""
        below = int(rank)
        above = min(below + 1, self.n - 1)
        low, high = (float(v) for v in self._values[np.searchsorted(ends, (below, above), side="right")])
        share = rank - below
        # Measured from the nearer end, as NumPy does: the result is never beyond it.
        return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)

    def _grown(self, entries: int, count: int) -> None:
        self.n += count
        self._pending += entries
        if self._pending >= max(_SMALLEST_COMPACTION, self._values.size):
            self._compact()

    def _compact(self) -> None:
        """Merge what is new into the sorted distinct values."""
        if not self._pending:
            return
        arrays = self._new_arrays
        values = np.concatenate([self._values, self._new_values, *(array for array, _ in arrays)])
        counts = np.concatenate(
            [
                self._counts,
                np.array(self._new_counts, dtype=np.int64),
                *(np.full(array.size, count, dtype=np.int64) for array, count in arrays),
            ]
        )
        order = np.argsort(values)
        values, counts = values[order], counts[order]
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        self._values, self._counts = values[starts], np.add.reduceat(counts, starts)
        self._new_values, self._new_counts, self._new_arrays, self._pending = [], [], [], 0
