"""What perfect routing could save: the fewest blocks that must be computed, whoever gets which request.

**Bound.** Let requests be looked up one after another, each at some worker, and let all caches of the cluster
together, in GPU memory and below, have room for C blocks. Whatever is routed where, and whatever caches keep
and drop, at least `fewest_misses` blocks of the prompts are computed.

**Proof.** A block of a prompt is hit only if some cache holds it when its request is looked up. What is held
anywhere was computed by an earlier request, of whose prompt (or answer) the block is a part. Take of a hit
the last such request: from its look-up to that of the hit, the block is in some cache all the time, as nobody
computes it in between. So the hits are a choice of intervals (from the last request with the block to the
next) of which no more than C cover one look-up. `fewest_misses` finds the greatest number of such intervals,
so no cluster has more hits. It keeps at each look-up the C blocks that are wanted again the soonest (Belady),
which for intervals is known to be optimal (Faigle and Nawijn, 1995; Carlisle and Lloyd, 1995).

What the bound leaves out makes real clusters compute more: a hit must be on the one worker that was chosen
and reach from the prompt's first block on, running requests hold their blocks, the last token of a prompt is
always computed. Without a capacity it is the number of different blocks, whatever the order; with one it is a
bound for requests that are looked up in this order, which other decisions may change.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from sim.kv.interval_map import IntervalMap
from sim.kv.runs import BlockRuns


class LookUp(NamedTuple):
    """A request that is looked up."""

    blocks: BlockRuns
    """The full blocks of its prompt."""
    counts: bool = True
    """Whether they are to be hit or computed; else they are there afterwards at no cost."""
    answer: BlockRuns | None = None
    """Blocks that it generates, which are there afterwards too."""


def fewest_misses(look_ups: Sequence[LookUp], capacity_blocks: int | None = None) -> int:
    """Return the fewest blocks that are computed of the prompts that count, looked up in this order."""
    total = sum([len(each.blocks) for each in look_ups if each.counts])
    again = _wanted_again(look_ups)
    if capacity_blocks is None:
        return total - sum([count for ends in again for _, count in ends])
    return total - _most_hits(again, capacity_blocks)


def _wanted_again(look_ups: Iterable[LookUp]) -> list[list[tuple[int, int]]]:
    """Return, by look-up, (next look-up with them, if that counts; number of blocks) of what it leaves."""
    last: IntervalMap[int] = IntervalMap(0)
    again: list[list[tuple[int, int]]] = []
    for place, (blocks, counts, answer) in enumerate(look_ups):
        again.append([])
        now = _always(place + 1)
        for run in blocks.ranges:
            for start, stop, before in last.segments(run.start, run.stop) if counts else ():
                if before:
                    again[before - 1].append((place, stop - start))
            last.update(run.start, run.stop, now)
        for run in answer.ranges if answer is not None else ():
            last.update(run.start, run.stop, now)
    return again


def _always(value: int) -> Callable[[int], int]:
    return lambda _: value


def _most_hits(again: Sequence[Sequence[tuple[int, int]]], capacity_blocks: int) -> int:
    kept: dict[int, int] = {}
    """Blocks that are kept, by the look-up that wants them."""
    latest: list[int] = []
    """The look-ups that want some, negative, so that the latest comes first; some want none any more."""
    size = hits = 0
    for place, ends in enumerate(again):
        hit = kept.pop(place, 0)
        size -= hit
        hits += hit
        for end, count in ends:
            if end not in kept:
                heappush(latest, -end)
            kept[end] = kept.get(end, 0) + count
            size += count
        while size > capacity_blocks:
            end = -latest[0]
            dropped = min(kept.get(end, 0), size - capacity_blocks)
            size -= dropped
            if dropped < kept.get(end, 0):
                kept[end] -= dropped
            else:
                kept.pop(end, None)
                heappop(latest)
    return hits
