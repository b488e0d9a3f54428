"""A sample in which values come with counts: percentiles without writing every copy down.

All requests of a batch get their next token after the same step, so one gap between tokens counts as often
as the batch is large; and many steps take equally long.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from math import fsum

import numpy as np
from numpy.typing import ArrayLike, NDArray

_SMALLEST_COMPACTION = 1 << 19
_SUMMED_AT_ONCE = 1 << 12
_MOST_EXACT_VALUES = 1 << 23
_DROPPED_BITS = 32


class WeightedSample:
    """Values with whole counts. Equal values are merged as the sample grows.

    What it says is exact as long as no more than 2**23 values are distinct (128 MiB). Of a larger sample each
    value is rounded to 20 binary digits behind the first one: percentiles, maximum and mean are then off by
    less than 5e-7 of themselves, and memory is bounded. Neither depends on the order of adding.
    """

    def __init__(self) -> None:
        self._values: NDArray[np.float64] = np.empty(0)
        self._counts: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._exact = True
        self._new: defaultdict[int, array[float]] = defaultdict(_no_values)
        """By count: values not merged yet."""
        self._room = _SMALLEST_COMPACTION
        self.n = 0
        """Sample size: the sum of all counts."""

    def add(self, value: float, count: int = 1) -> None:
        """Add a value `count` times; a count of 0 adds nothing."""
        if count:
            self._new[count].append(value)
            self.n += count
            self._room -= 1
            if self._room <= 0:
                self._compact()

    def add_many(self, values: ArrayLike, count: int = 1) -> None:
        """Add each of the values `count` times."""
        found = np.ascontiguousarray(values, dtype=np.float64)
        if count and found.size:
            self._new[count].frombytes(found.data.cast("B"))
            self.n += found.size * count
            self._room -= found.size
            if self._room <= 0:
                self._compact()

    @property
    def nbytes(self) -> int:
        """What the sample takes in memory, in bytes."""
        self._compact()
        return self._values.nbytes + self._counts.nbytes

    @property
    def max(self) -> float | None:
        """The largest value; None of an empty sample."""
        self._compact()
        return float(self._values[-1]) if self.n else None

    @property
    def mean(self) -> float | None:
        """The mean, independent of the order of adding; None of an empty sample."""
        self._compact()
        if not self.n:
            return None
        sums = self._values * self._counts
        parts = np.array_split(sums, -(-sums.size // _SUMMED_AT_ONCE))
        return fsum(chain.from_iterable(part.tolist() for part in parts)) / self.n

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

    def rounded(self, binary_digits: int) -> list[tuple[float, int]]:
        """Return a small form of the sample: ascending values, and how often each occurs.

        Values are rounded to so many digits behind the first one: off by at most 2**-(binary_digits + 1) of
        themselves.
        """
        self._compact()
        if not self.n:
            return []
        values, counts = _merged(_rounded(self._values, 52 - binary_digits), self._counts)
        return list(zip(values.tolist(), counts.tolist(), strict=True))

    def _at(self, rank: float, ends: NDArray[np.int64]) -> float:
        """Return the value at a fractional place, from 0, of the sorted sample."""
        below = int(rank)
        above = min(below + 1, self.n - 1)
        low, high = (float(v) for v in self._values[np.searchsorted(ends, (below, above), side="right")])
        share = rank - below
        # Measured from the nearer end, as NumPy does: the result is never beyond it.
        return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)

    def _compact(self) -> None:
        """Merge what is new into the sorted distinct values."""
        if self._new:
            self._merge([_distinct(np.array(self._new.pop(count)), count) for count in list(self._new)])
        if self._exact and self._values.size > _MOST_EXACT_VALUES:
            self._exact = False
            self._merge([])
        self._room = max(_SMALLEST_COMPACTION, self._values.size)

    def _merge(self, new: list[tuple[NDArray[np.float64], NDArray[np.int64]]]) -> None:
        values = np.concatenate([self._values, *(values for values, _ in new)])
        counts = np.concatenate([self._counts, *(counts for _, counts in new)])
        if not self._exact:
            values = _rounded(values, _DROPPED_BITS)
        order = np.argsort(values, kind="stable")
        values = values[order]
        counts = counts[order]
        del order
        self._values, self._counts = _merged(values, counts)


def _no_values() -> "array[float]":
    return array("d")


def _distinct(values: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct values of a sample in which each stands for `count`, and how often each occurs."""
    # Steps get longer while a batch decodes: mostly in order already, of which this sort makes use.
    values.sort(kind="stable")
    starts = _starts_of_equals(values)
    return values[starts], np.diff(starts, append=values.size) * count


def _merged(
    values: NDArray[np.float64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct ones of sorted values, each with the sum of its counts."""
    starts = _starts_of_equals(values)
    return values[starts], np.add.reduceat(counts, starts)


def _starts_of_equals(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places in a sorted array at which another value begins."""
    return np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))


def _rounded(values: NDArray[np.float64], dropped_bits: int) -> NDArray[np.float64]:
    """Return values with the last of their 52 binary digits rounded away; a rounded one stays what it is."""
    half = 1 << dropped_bits - 1
    return (values.view(np.int64) + half >> dropped_bits << dropped_bits).view(np.float64)
