"""Which worker holds, or ever held, which attention block, in GPU memory or in its CPU tier: the truth.

The router's index is what events made it believe; this is what the caches did, at the moment they did it.
A block id stands for the whole prefix up to the block's end, so equal ids are equal contents.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from sim.kv.events import Tier
from sim.kv.interval_map import IntervalMap
from sim.kv.runs import runs_of

Where = Literal["here", "evicted_here", "elsewhere", "gone"]
"""Of a block, as one worker sees it: it has it; it had it; only others have it; nobody has it any more."""

_TIERS: Final = {"device": 1, "host": 2}
_HOLDS: Final = 3
_HELD: Final = 4
_WATCHED: Final = 1


class Holders:
    """Copies of watched blocks by worker and tier; a tier may have several of one block (vLLM 0.28.0).

    Blocks that are not watched are left out: nobody asks for those of generated tokens.
    """

    def __init__(self, workers: int) -> None:
        self._states = IntervalMap(0)
        """Per block an octal number. Its last digit is `_WATCHED`; each worker has a digit before it, from
        right to left: the sum of what of `_TIERS` it holds, and `_HELD` if it ever held one."""
        self._anyone_holds = int("3" * workers + "0", 8)
        self._spare: defaultdict[tuple[int, Tier], IntervalMap[int]] = defaultdict(lambda: IntervalMap(0))
        """By worker and tier: copies beside the first."""

    def watch(self, runs: Sequence[range]) -> None:
        """Begin to keep the books of blocks, before anyone stores them."""
        for run in runs:
            self._states.update(run.start, run.stop, lambda _: _WATCHED)

    def stored(self, worker: int, tier: Tier, blocks: Sequence[int]) -> None:
        """Count one more copy of each block."""
        digit = 3 * worker + 3
        copy = _TIERS[tier] << digit
        added = copy | _HELD << digit
        for run in runs_of(blocks):
            for start, stop, state in self._states.segments(run.start, run.stop):
                if state & copy:
                    self._spare[worker, tier].update(start, stop, lambda copies: copies + 1)
                elif state:
                    self._states.update(start, stop, lambda state: state | added)

    def removed(self, worker: int, tier: Tier, blocks: Sequence[int]) -> None:
        """Count one copy less of each block.

        Raises:
            ValueError: the worker has no copy there to lose; the events do not tell the truth.

        """
        copy = _TIERS[tier] << 3 * worker + 3
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
        digit = 7 << 3 * worker + 3
        for start, stop, state in self._states.changed():
            if state & digit:
                self._states.update(start, stop, lambda state: state & ~digit)
        for place in [place for place in self._spare if place[0] == worker]:
            del self._spare[place]

    def where(self, worker: int, start: int, stop: int) -> Iterator[tuple[int, int, Where]]:
        """Yield (start, stop, where it is for this worker) along a run of watched blocks."""
        digit = 3 * worker + 3
        others = self._anyone_holds & ~(_HOLDS << digit)
        for first, last, state in self._states.segments(start, stop):
            own = state >> digit
            if own & _HOLDS:
                yield first, last, "here"
            elif own & _HELD:
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
