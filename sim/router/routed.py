"""Which prompts were sent where: all that a router knows of caches that hears of none of them."""

from collections import OrderedDict
from collections.abc import Callable

from sim.kv.interval_map import IntervalMap
from sim.kv.runs import BlockRuns
from sim.router.ranks import follow, joins, leaves


class RoutedPrefixes:
    """The blocks of prompts by the ranks that they were sent to.

    `capacity_blocks`: of each rank; beyond it go the blocks of the prompt that was sent there the longest
    ago, but for those that it shares with a later one. None: nothing is ever forgotten.
    """

    __slots__ = (
        "_capacity",
        "_counts",
        "_first",
        "_found",
        "_holders",
        "_join",
        "_leave",
        "_prompts",
        "_sizes",
    )

    def __init__(self, ranks: int, capacity_blocks: int | None = None) -> None:
        self._capacity = capacity_blocks
        self._holders: IntervalMap[int] = IntervalMap(0)
        self._first: IntervalMap[int] = IntervalMap(0)
        """The rank that had a block first, plus 1; 0 where nobody has it."""
        self._join, self._leave = joins(ranks), leaves(ranks)
        self._found = [_founder(rank) for rank in range(ranks)]
        self._counts: list[IntervalMap[int]] = [IntervalMap(0) for _ in range(ranks)]
        """In how many of a rank's prompts a block is."""
        self._prompts: list[OrderedDict[int, BlockRuns]] = [OrderedDict() for _ in range(ranks)]
        """By their last block, that of the prompt sent last at the end."""
        self._sizes = [0] * ranks

    def size_blocks(self, rank: int) -> int:
        """Return how many blocks are remembered of a rank, where there is a capacity."""
        return self._sizes[rank]

    def deepest(self, blocks: BlockRuns, among: int) -> tuple[int, int]:
        """Return how many of a prompt's first blocks some rank of a set had, and the set of those."""
        return follow(self._holders, blocks, [(0, among)])[-1]

    def first(self, block: int, ranks: int) -> int:
        """Return which rank of a set had a block first; the lowest of them if that one has it no more."""
        rank = self._first.get(block) - 1
        if rank >= 0 and ranks >> rank & 1:
            return rank
        return (ranks & -ranks).bit_length() - 1

    def add(self, rank: int, blocks: BlockRuns) -> None:
        """A prompt is sent to a rank."""
        if not blocks:
            return
        if self._capacity is not None and not self._remember(rank, blocks):
            return
        for run in blocks.ranges:
            self._holders.update(run.start, run.stop, self._join[rank])
            self._first.update(run.start, run.stop, self._found[rank])
        if self._capacity is not None:
            while self._sizes[rank] > self._capacity:
                self._forget_oldest(rank)

    def _remember(self, rank: int, blocks: BlockRuns) -> bool:
        """Count the blocks of a prompt; return whether it is new."""
        prompts, last = self._prompts[rank], blocks[-1]
        if last in prompts:
            prompts.move_to_end(last)
            return False
        prompts[last] = blocks
        counts = self._counts[rank]
        for run in blocks.ranges:
            for start, stop, count in counts.segments(run.start, run.stop):
                if not count:
                    self._sizes[rank] += stop - start
            counts.update(run.start, run.stop, _one_more)
        return True

    def _forget_oldest(self, rank: int) -> None:
        _, blocks = self._prompts[rank].popitem(last=False)
        counts = self._counts[rank]
        for run in blocks.ranges:
            counts.update(run.start, run.stop, _one_less)
            for start, stop, count in counts.segments(run.start, run.stop):
                if not count:
                    self._sizes[rank] -= stop - start
                    self._holders.update(start, stop, self._leave[rank])
            for start, stop, held in self._holders.segments(run.start, run.stop):
                if not held:
                    self._first.update(start, stop, _nobody)


def _founder(rank: int) -> Callable[[int], int]:
    return lambda first: first or rank + 1


def _one_more(count: int) -> int:
    return count + 1


def _one_less(count: int) -> int:
    return count - 1


def _nobody(_: int) -> int:
    return 0
