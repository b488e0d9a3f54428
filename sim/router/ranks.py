"""Sets of ranks as the bits of an int, and the walk that follows a prompt on all of them at once."""

from collections.abc import Mapping, Sequence
from itertools import repeat

Ends = list[tuple[int, int]]
"""(depth in blocks, ranks) in order of depth: so far do these ranks hold a prompt. Each rank is in one."""


def members(ranks: int) -> list[int]:
    """Return the ranks in a set, ascending."""
    found = []
    while ranks:
        lowest = ranks & -ranks
        found.append(lowest.bit_length() - 1)
        ranks ^= lowest
    return found


def follow(holders: Mapping[int, int], blocks: Sequence[int], starts: Ends) -> Ends:
    """Return how far each rank holds the prompt without a gap, going on from where it starts.

    `holders` maps a block to the ranks that hold it. The prompt is walked once, whatever the number of
    ranks, and no further than the last of them.
    """
    if not holders:
        return starts
    ends: Ends = []
    holding = 0
    find = holders.get
    stops = [depth for depth, _ in starts[1:]]
    stops.append(len(blocks))
    for (start, joining), stop in zip(starts, stops, strict=True):
        holding |= joining
        for depth, held in enumerate(map(find, blocks[start:stop], repeat(0)), start):
            still = holding & held
            if still != holding:
                ends.append((depth, holding ^ still))
                holding = still
                if not holding:
                    break
    if holding:
        ends.append((len(blocks), holding))
    return ends


def depths(ends: Ends, count: int) -> list[int]:
    """Return the depth in blocks of each of the ranks 0 to `count` - 1; of no meaning for one in no set."""
    # Most ranks of a large pool stop at one depth: theirs is filled in without naming them.
    common, most = max(ends, key=lambda end: end[1].bit_count())
    reached = [common] * count
    for depth, ranks in ends:
        if ranks is not most:
            for rank in members(ranks):
                reached[rank] = depth
    return reached
