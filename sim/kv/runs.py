"""Ids as runs of consecutive numbers: what a long prompt costs is its runs, not its blocks or chunks.

Ids of blocks are given along a prompt in ascending order (`sim.kv.prefix`), so that the blocks of a prompt
are a few runs: one for every place where it left what was known. Wherever blocks are asked for as a
`Sequence[int]`, a list does as well; `runs_of` takes either.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np


class BlockRuns(Sequence[int]):
    """An immutable sequence of ids, of blocks or of a trace's chunks, held as ascending ranges of step 1."""

    __slots__ = ("_ends", "_every", "_length", "ranges")

    def __init__(self, ranges: Iterable[range]) -> None:
        self.ranges: list[range] = []
        """Not empty, and no two of them join."""
        for run in ranges:
            if self.ranges and self.ranges[-1].stop == run.start:
                self.ranges[-1] = range(self.ranges[-1].start, run.stop)
            elif run:
                self.ranges.append(run)
        length = 0
        self._ends: list[int] = []
        for run in self.ranges:
            length += run.stop - run.start
            self._ends.append(length)
        self._length = length
        self._every: dict[int, BlockRuns] | None = None

    def every(self, n: int) -> "BlockRuns":
        """Return the last of each `n` ids: the identities of blocks that are `n` times as large."""
        if n == 1:
            return self
        if self._every is None:
            self._every = {}
        found = self._every.get(n)
        if found is None:
            found = self._every[n] = BlockRuns(
                [range(self[at], self[at] + 1) for at in range(n - 1, self._length, n)]
            )
        return found

    @classmethod
    def of(cls, blocks: Sequence[int]) -> "BlockRuns":
        """Return any sequence of ids as runs."""
        return blocks if isinstance(blocks, BlockRuns) else cls(runs_of(blocks))

    def words(self) -> bytes:
        """Return the ids as unsigned numbers of 64 bits each, in the byte order of the machine."""
        runs = [
            np.arange(run.stop - run.start, dtype=np.uint64) + np.uint64(run.start) for run in self.ranges
        ]
        return np.concatenate(runs).tobytes() if runs else b""

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[int]:
        for run in self.ranges:
            yield from run

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> "BlockRuns": ...
    def __getitem__(self, index: int | slice) -> "int | BlockRuns":
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step != 1:
                raise ValueError(f"blocks are taken in order, not in steps of {step}")
            return BlockRuns(self.between(start, stop))
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(f"block {index} of {self._length}")
        place = bisect_right(self._ends, index)
        return self.ranges[place].stop + index - self._ends[place]

    def between(self, start: int, stop: int) -> list[range]:
        """Return the runs at positions `start` to `stop`, that one not included, as far as there are any."""
        found = []
        ranges, ends = self.ranges, self._ends
        place = bisect_right(ends, start)
        while start < stop and place < len(ends):
            end = ends[place]
            first = ranges[place].stop - end  # id = first + position
            last = end if end < stop else stop
            found.append(range(first + start, first + last))
            start = last
            place += 1
        return found

    def __eq__(self, other: object) -> bool:
        if isinstance(other, BlockRuns):
            return self.ranges == other.ranges
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.ranges))

    def __repr__(self) -> str:
        return f"BlockRuns({self.ranges})"


def runs_of(blocks: Sequence[int]) -> Sequence[range]:
    """Return ids as ascending ranges, in the order of the sequence; a descending range comes as one run."""
    if type(blocks) is range and blocks:  # before the other, whose look into a class of `abc` takes longer
        if blocks.step == 1:
            return (blocks,)
        if blocks.step == -1:
            return (range(blocks.stop + 1, blocks.start + 1),)
    if isinstance(blocks, BlockRuns):
        return blocks.ranges
    found: list[range] = []
    start = stop = 0
    for block in blocks:
        if block != stop or start == stop:
            if start != stop:
                found.append(range(start, stop))
            start = block
        stop = block + 1
    if start != stop:
        found.append(range(start, stop))
    return found
