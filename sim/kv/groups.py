"""How one cache group of a request grows, shrinks and becomes findable: attention, and recurrent state.

Rules of vLLM 0.28.0 with prefix caching on ("align" mode for recurrent state, no speculative decoding).
A group's `table` belongs to one request. Sizes are in tokens, `block_tokens` tokens a block.
"""

from collections.abc import Sequence
from typing import Protocol

from sim.kv.events import KvEvent
from sim.kv.extent import Extent, Part
from sim.kv.pool import NULL_BLOCK, BlockPool
from sim.kv.runs import BlockRuns


def blocks_for(tokens: int, block_tokens: int) -> int:
    """Blocks that hold so many tokens, the last perhaps partly."""
    return -(-tokens // block_tokens)


class Table:
    """The blocks of one request in one group."""

    __slots__ = ("length", "own", "parts", "registered", "state_position")

    def __init__(self) -> None:
        self.parts: dict[int, Part] = {}
        """What is held, by the first position of each part, ascending; a state is a part of its own."""
        self.length = 0
        """Positions covered, with or without a block."""
        self.registered = 0
        """Positions whose hash is registered (or that came from the cache)."""
        self.own: Extent | None = None
        """Attention groups: the blocks behind the hit."""
        self.state_position: int | None = None
        """Recurrent groups: where the state stood before the newest block was taken."""

    @property
    def held_blocks(self) -> int:
        """Blocks in the table: covered positions may have none."""
        return sum(stop - start for _, start, stop in self.parts.values())

    def from_the_end(self) -> list[Part]:
        """Return what is held, the deepest first."""
        return [*reversed(self.parts.values())]

    def numbers(self, start: int, stop: int) -> list[int]:
        """Return the block number of each of these positions, NULL_BLOCK where there is no block."""
        numbers = [NULL_BLOCK] * (stop - start)
        for extent, first, end in reversed(self.parts.values()):
            if end <= start:
                break
            if first < stop:
                low, high = max(first, start), min(end, stop)
                numbers[low - start : high - start] = extent.numbers_of(low, high)
        return numbers


class Group(Protocol):
    """The rules in which the two kinds of group differ."""

    def need(self, positions: int, tokens: int, hits: Sequence[Part]) -> int | None:
        """Free blocks it takes to cover `tokens` where `positions` are covered already or by hits.

        None if it cannot be done in this step at all.
        """

    def hold_hits(self, table: Table, hits: Sequence[Part], hit_length: int, covered_tokens: int) -> None:
        """Take the cached blocks of a first admission, which will cover `covered_tokens` in all."""

    def extend(self, table: Table, tokens: int) -> None:
        """Allocate so that `tokens` are covered."""

    def skip(self, table: Table, processed_tokens: int) -> None:
        """Return the blocks that computing past `processed_tokens` no longer reads."""

    def register(self, table: Table, block_ids: BlockRuns, tokens: int) -> None:
        """Make every full block below `tokens` findable."""


class AttentionGroup:
    """Full attention: every position keeps its block until the request ends."""

    def __init__(self, pool: BlockPool, group: int, block_tokens: int) -> None:
        self._pool = pool
        self._group = group
        self._block_tokens = block_tokens

    def need(self, positions: int, tokens: int, hits: Sequence[Part]) -> int | None:
        """Positions not covered yet, and the hits that stand in the free queue."""
        fresh = max(blocks_for(tokens, self._block_tokens) - positions, 0)
        return fresh + self._pool.count_free(hits) if hits else fresh

    def hold_hits(self, table: Table, hits: Sequence[Part], hit_length: int, covered_tokens: int) -> None:
        """Hold every hit block."""
        self._pool.touch(hits)
        table.parts = {hit[1]: hit for hit in hits}
        table.length = table.registered = hit_length

    def extend(self, table: Table, tokens: int) -> None:
        """One block for every position not covered yet."""
        positions = blocks_for(tokens, self._block_tokens)
        if positions > table.length:
            own = table.own
            if own is None:
                own = table.own = Extent(self._group, table.length)
            self._pool.allocate(own, positions - table.length)
            table.parts[own.first] = (own, own.first, positions)
            table.length = positions

    def skip(self, table: Table, processed_tokens: int) -> None:
        """Attention reads everything: nothing is skipped."""

    def register(self, table: Table, block_ids: BlockRuns, tokens: int) -> None:
        """Register each newly full block; one stored event for the range."""
        start, end = table.registered, tokens // self._block_tokens
        if end <= start:
            return
        assert table.own is not None
        runs = self._pool.register(table.own, block_ids, end)
        table.registered = end
        blocks = runs[0] if len(runs) == 1 else BlockRuns(runs)
        self._pool.events.append(KvEvent(True, self._group, _parent(block_ids, start), blocks, "device"))


class RecurrentGroup:
    """Recurrent state: a block holds the whole state at the end of a chunk; positions between stay empty.

    The block of a chunk that ended on a block boundary is a checkpoint: later prompts can start from it.
    """

    def __init__(self, pool: BlockPool, group: int, block_tokens: int) -> None:
        self._pool = pool
        self._group = group
        self._block_tokens = block_tokens
        self.made_this_step: set[int] = set()
        """Hashes of checkpoints registered in this step: nobody may start there, even from an older copy."""

    def need(self, positions: int, tokens: int, hits: Sequence[Part]) -> int | None:
        """At most one block however many tokens, and the checkpoint if it stands in the free queue."""
        fresh = 1 if blocks_for(tokens, self._block_tokens) > positions else 0
        if not hits:
            return fresh
        if self.made_this_step:
            state, position, _ = hits[-1]
            if state.block_ids[position] in self.made_this_step:
                return None
        return fresh + self._pool.count_free(hits)

    def hold_hits(self, table: Table, hits: Sequence[Part], hit_length: int, covered_tokens: int) -> None:
        """Hold the checkpoint unless the state beyond it comes from elsewhere."""
        skipped = max(covered_tokens - 1, 0) // self._block_tokens
        if hits and hit_length > skipped:
            self._pool.touch(hits)
            table.parts = {hit_length - 1: hits[-1]}
            table.length = table.registered = hit_length
        else:
            table.length = table.registered = skipped

    def extend(self, table: Table, tokens: int) -> None:
        """One block at the last position, where the state will stand."""
        positions = blocks_for(tokens, self._block_tokens)
        if positions <= table.length:
            return
        if table.length:
            table.state_position = table.length - 1
        state = Extent(self._group, positions - 1)
        self._pool.allocate(state, 1)
        table.parts[positions - 1] = (state, positions - 1, positions)
        table.length = positions

    def skip(self, table: Table, processed_tokens: int) -> None:
        """Return the states before the one that was read last.

        While a chunk is in flight (asynchronous scheduling) the state before it is not processed yet; taking
        the next block forgets its position, and the walk down stops at the empty positions between. Such
        checkpoints stay held until the request ends: so does vLLM 0.28.0.
        """
        position = min(max(processed_tokens - 1, 0) // self._block_tokens, table.length) - 1
        freed: list[Part] = []
        while position in table.parts:
            freed.append(table.parts.pop(position))
            position -= 1
        if freed:
            self._pool.free(freed)
        state = table.state_position
        last_processed = blocks_for(processed_tokens, self._block_tokens) - 1
        if state is not None and state in table.parts and state < last_processed:
            self._pool.free([table.parts.pop(state)])

    def register(self, table: Table, block_ids: BlockRuns, tokens: int) -> None:
        """Register the checkpoints among the newly full positions; the event may be empty."""
        start, end = table.registered, tokens // self._block_tokens
        if end <= start:
            return
        stored: list[int] = []
        for state, position, _ in reversed(table.parts.values()):
            if position < start:
                break
            if position < end:
                self._pool.register(state, block_ids, end=position + 1)
                stored.insert(0, block_ids[position])
        self.made_this_step.update(stored)
        table.registered = end
        self._pool.events.append(KvEvent(True, self._group, _parent(block_ids, start), stored, "device"))


def _parent(block_ids: BlockRuns, position: int) -> int | None:
    """The hash before a position."""
    return block_ids[position - 1] if position else None
