"""Sets of ranks as the bits of an int, and the walk that follows a prompt on all of them at once."""

from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sim.kv.interval_map import IntervalMap
from sim.kv.runs import BlockRuns

Ends = list[tuple[int, int]]
"""(depth in blocks, ranks) in order of depth: so far do these ranks hold a prompt. Each rank is in one."""


@lru_cache(maxsize=1024)
def members(ranks: int) -> NDArray[np.intp]:
    """Return the ranks in a set, ascending, as an array that is kept and cannot be written to."""
    octets = np.frombuffer(ranks.to_bytes(-(-ranks.bit_length() // 8), "little"), np.uint8)
    found = np.flatnonzero(np.unpackbits(octets, bitorder="little"))
    found.setflags(write=False)
    return found


def joins(count: int) -> list[Callable[[int], int]]:
    """Return for each of `count` ranks what makes a set the one with that rank."""
    return [(1 << rank).__or__ for rank in range(count)]


def leaves(count: int) -> list[Callable[[int], int]]:
    """Return for each of `count` ranks what makes a set the one without that rank."""
    return [(~(1 << rank)).__and__ for rank in range(count)]


def follow(holders: IntervalMap[int], blocks: BlockRuns, starts: Ends) -> Ends:
    """Return how far each rank holds the prompt without a gap, going on from where it starts.

    `holders` maps a block to the ranks that hold it. The prompt is walked once, whatever the number of
    ranks, and no further than the last of them.
    """
    if not holders:
        return starts
    ends: Ends = []
    holding = 0
    length = len(blocks)
    stops = [depth for depth, _ in starts[1:]]
    stops.append(length)
    for (start, joining), stop in zip(starts, stops, strict=True):
        holding |= joining
        whole = start == 0 and stop == length
        runs = blocks.ranges if whole else blocks.between(start, stop)
        holding = _walk(holders, runs, start, holding, ends)
    if holding:
        ends.append((length, holding))
    return ends


def _walk(holders: IntervalMap[int], runs: Iterable[range], depth: int, holding: int, ends: Ends) -> int:
    """Go on along runs of blocks; add where ranks stop to `ends` and return those that do not."""
    for run in runs:
        if not holding:
            break
        for start, stop, held in holders.segments(run.start, run.stop):
            still = holding & held
            if still != holding:
                ends.append((depth, holding ^ still))
                holding = still
                if not holding:
                    break
            depth += stop - start
    return holding


def depths(ends: Ends, count: int) -> NDArray[np.int64]:
    """Return the depth in blocks of each of the ranks 0 to `count` - 1; of no meaning for one in no set."""
    (common, _), *others = ends
    reached = np.empty(count, np.int64)
    reached.fill(common)
    for depth, ranks in others:
        reached[members(ranks)] = depth
    return reached
