"""How far the tokens of each block have been computed, by whichever request was the first."""

from collections.abc import Iterator, Sequence
from typing import Final

from sim.kv.interval_map import IntervalMap
from sim.kv.runs import BlockRuns

_UNSENT: Final = -3
"""No prompt that was sent has the block."""
_FRESH: Final = -2
"""No token of the block has been computed."""
_DONE: Final = -1
"""All of them have been."""
_MADE: Final = -4
"""All of them have been, the last ones by decode and by no prefill."""


class Frontiers:
    """The frontier of a block is the prompt position up to which its tokens count as computed.

    A block id stands for the whole prefix, so that a block has the same positions in every prompt.
    """

    __slots__ = ("_block_tokens", "_frontiers", "any_made")

    def __init__(self, block_tokens: int) -> None:
        self._block_tokens = block_tokens
        self._frontiers = IntervalMap(_UNSENT)
        """Of each block one of the above or, from 0 on, a frontier that lies inside it."""
        self.any_made = False
        """Whether answers have been noted."""

    def sent(self, blocks: BlockRuns, seen_tokens: int) -> list[range]:
        """Note a prompt's full blocks; return runs of those that no earlier prompt had.

        The leading `seen_tokens` belong to an earlier prompt, though it may end or branch off inside a block.
        """
        known = self._sent_blocks(blocks)
        new = blocks.between(known, len(blocks))
        for run in new:
            self._frontiers.update(run.start, run.stop, lambda _: _FRESH)
        if new and seen_tokens > known * self._block_tokens:
            self._frontiers.update(new[0].start, new[0].start + 1, lambda _: seen_tokens)
        return new

    def answered(self, runs: Sequence[range]) -> None:
        """Note blocks that decode completed; those of prompts that were sent meanwhile stay as they are."""
        self.any_made = True
        for run in runs:
            self._frontiers.update(run.start, run.stop, lambda state: _MADE if state == _UNSENT else state)

    def _sent_blocks(self, blocks: BlockRuns) -> int:
        """Return how many leading blocks earlier prompts contained; what is new lies behind them."""
        known = len(blocks)
        for run in reversed(blocks.ranges):
            if self._frontiers.get(run.stop - 1) != _UNSENT:
                break
            start, stop, _ = self._frontiers.segments(run.start, run.stop)[-1]
            known -= stop - start
            if start > run.start:
                break
        return known

    def done_until(self, blocks: BlockRuns, position: int) -> int:
        """Return the position, from `position` on, of the first block that is not computed to its end."""
        for run in blocks.between(position, len(blocks)):
            for done, start, stop in self.segments(run.start, run.stop):
                if not done:
                    return position
                position += stop - start
        return position

    def segments(self, start: int, stop: int) -> Iterator[tuple[bool, int, int]]:
        """Yield (whether computed to their ends, start, stop) along a run of blocks."""
        for first, last, frontier in self._frontiers.segments(start, stop):
            yield frontier in {_DONE, _MADE}, first, last

    def made(self, start: int, stop: int) -> Iterator[tuple[bool, int, int]]:
        """Yield (whether no prefill has computed them, but decode, start, stop) along a run of blocks."""
        for first, last, frontier in self._frontiers.segments(start, stop):
            yield frontier == _MADE, first, last

    def advance(self, blocks: BlockRuns, start: int, end: int) -> list[tuple[int, int]]:
        """Note that the tokens from `start` to `end` of a prompt are computed.

        Return the ranges of those that count as computed only now, in order, none over two runs of blocks.
        """
        size, frontiers = self._block_tokens, self._frontiers
        found = []
        position = start // size
        for run in blocks.between(position, -(-end // size)):
            run_position, moved = position, False
            for first, last, frontier in frontiers.segments(run.start, run.stop):
                fresh = frontier if frontier >= 0 else position * size
                position += last - first
                if frontier == _DONE or fresh >= end:
                    continue
                if frontier == _MADE:
                    moved = True
                    continue
                moved = True
                stop = position * size
                if stop > end:
                    stop = end
                    frontiers.update(last - 1, last, lambda _: end)
                found.append((fresh if fresh > start else start, stop))
            done = (position if position * size <= end else end // size) - run_position
            if moved and done:
                frontiers.update(run.start, run.start + done, lambda _: _DONE)
        return found
