"""Which worker holds, or ever held, which attention block, in any of its tiers: the truth.

The router's index is what events made it believe; this is what the caches did, at the moment they did it.
A block id stands for the whole prefix up to the block's end, so equal ids are equal contents.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from sim.kv.interval_map import IntervalMap
from sim.kv.runs import runs_of

Where = Literal["here", "evicted_here", "elsewhere", "gone"]
"""Of a block, as one worker sees it: it has it; it had it; only others have it; nobody has it any more."""

_WATCHED: Final = 1


class Holders:
    """Copies of watched blocks by worker and tier; a tier may have several of one block (vLLM 0.28.0).

    Blocks that are not watched are left out: nobody asks for those of answers that do not return.
    """

    def __init__(self, workers: int, tiers: Sequence[str]) -> None:
        self._states = IntervalMap(0)
        """Per block a number. Its last bit is `_WATCHED`; each worker has a digit before it, from right to
        left, of a bit for each tier that holds a copy, and the first bit, `_held`, if one ever did."""
        self._bits = {tier: 1 << place for place, tier in enumerate(tiers)}
        self._held = 1 << len(tiers)
        self._holds = self._held - 1
        """All tiers of a digit."""
        self._digits = [(len(self._bits) + 1) * worker + 1 for worker in range(workers)]
        """How many bits stand behind the digit of each worker."""
        self._anyone_holds = sum(self._holds << digit for digit in self._digits)
        self._spare: defaultdict[tuple[int, str], IntervalMap[int]] = defaultdict(lambda: IntervalMap(0))
        """By worker and tier: copies beside the first."""

    def watch(self, runs: Sequence[range]) -> None:
        """Begin to keep the books of blocks, before anyone stores them; those that are watched stay so."""
        for run in runs:
            self._states.update(run.start, run.stop, lambda state: state | _WATCHED)

    def stored(self, worker: int, tier: str, blocks: Sequence[int]) -> None:
        """Count one more copy of each block."""
        digit = self._digits[worker]
        copy = self._bits[tier] << digit
        added = copy | self._held << digit
        for run in runs_of(blocks):
            for start, stop, state in self._states.segments(run.start, run.stop):
                if state & copy:
                    self._spare[worker, tier].update(start, stop, lambda copies: copies + 1)
                elif state:
                    self._states.update(start, stop, lambda state: state | added)

    def removed(self, worker: int, tier: str, blocks: Sequence[int]) -> None:
        """Count one copy less of each block.

        Raises:
            ValueError: the worker has no copy there to lose; the events do not tell the truth.

        """
        copy = self._bits[tier] << self._digits[worker]
        spare = self._spare.get((worker, tier))
        for run in runs_of(blocks):
            for start, stop, state in self._states.segments(run.start, run.stop):
                if state & copy:
                    for first, last in _take(spare, start, stop) if spare else ((start, stop),):
                        self._states.update(first, last, lambda state: state ^ copy)
                elif state:
                    raise ValueError(
                        f"worker {worker} lost block {start}, of which its {tier} tier has no copy"
                    )

    def lost(self, worker: int) -> None:
        """Forget all that a worker holds or ever held: its process is another one from now on."""
        digit = (self._holds | self._held) << self._digits[worker]
        for start, stop, state in self._states.changed():
            if state & digit:
                self._states.update(start, stop, lambda state: state & ~digit)
        for place in [place for place in self._spare if place[0] == worker]:
            del self._spare[place]

    def where(self, worker: int, start: int, stop: int) -> Iterator[tuple[int, int, Where]]:
        """Yield (start, stop, where it is for this worker) along a run of watched blocks."""
        digit, holds, held = self._digits[worker], self._holds, self._held
        others = self._anyone_holds & ~(holds << digit)
        for first, last, state in self._states.segments(start, stop):
            own = state >> digit
            if own & holds:
                yield first, last, "here"
            elif own & held:
                yield first, last, "evicted_here"
            else:
                yield first, last, "elsewhere" if state & others else "gone"


def _take(spare: IntervalMap[int], start: int, stop: int) -> list[tuple[int, int]]:
    """Take one of the spare copies of each block of a run; return (start, stop) of blocks that had none."""
    single = []
    for first, last, copies in spare.segments(start, stop):
        if copies:
            spare.update(first, last, lambda copies: copies - 1)
        else:
            single.append((first, last))
    return single
