"""Which worker holds, or ever held, which attention block, in GPU memory or in its CPU tier: the truth.

The router's index is what events made it believe; this is what the caches did, at the moment they did it.
A block id stands for the whole prefix up to the block's end, so equal ids are equal contents.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from operator import add, and_, or_
from typing import Literal

from sim.kv.spans import Spans

Where = Literal["here", "evicted_here", "elsewhere", "gone"]
"""Of a block, as one worker sees it: it has it; it had it; only others have it, or nobody any more."""

_TIERS = {"GPU": 1, "CPU": 2}
_HOLDS = 3
_HELD = 4


class Holders:
    """Copies of blocks by worker and tier. One block may have several copies in one tier (vLLM 0.28.0)."""

    def __init__(self, workers: int) -> None:
        self._states = Spans(0)
        """Per block a number of one octal digit a worker: what of `_TIERS` it has, and `_HELD` ever since."""
        self._spare: defaultdict[tuple[int, str], Spans[int]] = defaultdict(lambda: Spans(0))
        """By worker and tier: copies beside the first."""
        self._anyone_holds = int(f"0{'3' * workers}", 8)

    def stored(self, worker: int, tier: str, runs: Sequence[range]) -> None:
        """Count one more copy of each block."""
        shift = 3 * worker
        copy = _TIERS[tier] << shift
        put = partial(or_, copy | _HELD << shift)
        for run in runs:
            for start, stop, state in self._states.pieces(run.start, run.stop):
                if state & copy:
                    self._spare[worker, tier].update(start, stop, partial(add, 1))
            self._states.update(run.start, run.stop, put)

    def removed(self, worker: int, tier: str, runs: Sequence[range]) -> None:
        """Count one copy less of each block.

        Raises:
            ValueError: the worker has no copy there to lose; the events do not tell the truth.

        """
        copy = _TIERS[tier] << 3 * worker
        take = partial(and_, ~copy)
        spare = self._spare.get((worker, tier))
        for run in runs:
            for start, _, state in self._states.pieces(run.start, run.stop):
                if not state & copy:
                    raise ValueError(
                        f"worker {worker} lost block {start}, of which its {tier} tier has no copy"
                    )
            if not spare:
                self._states.update(run.start, run.stop, take)
                continue
            for start, stop, copies in spare.pieces(run.start, run.stop):
                if copies:
                    spare.update(start, stop, partial(add, -1))
                else:
                    self._states.update(start, stop, take)

    def where(self, worker: int, start: int, stop: int) -> Iterator[tuple[int, int, Where]]:
        """Yield (start, stop, where it is for this worker) along a run of blocks."""
        shift = 3 * worker
        others = self._anyone_holds & ~(_HOLDS << shift)
        for first, last, state in self._states.pieces(start, stop):
            own = state >> shift
            if own & _HOLDS:
                yield first, last, "here"
            elif own & _HELD:
                yield first, last, "evicted_here"
            else:
                yield first, last, "elsewhere" if state & others else "gone"
