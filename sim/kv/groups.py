"""How one cache group of a request grows, shrinks and becomes findable: attention, and recurrent state.

Rules of vLLM 0.28.0 with prefix caching on ("align" mode for recurrent state, no speculative decoding).
A group's `table` belongs to one request. Sizes are in tokens, `block_tokens` tokens a block.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Protocol

from sim.kv.events import KvEvent
from sim.kv.pool import BlockPool


def blocks_for(tokens: int, block_tokens: int) -> int:
    """Blocks that hold so many tokens, the last perhaps partly."""
    return -(-tokens // block_tokens)


class Table:
    """The blocks of one request in one group, by ascending position; positions without a block are absent."""

    __slots__ = ("blocks", "length", "registered", "state_position")

    def __init__(self) -> None:
        self.blocks: dict[int, int] = {}
        self.length = 0
        """Positions covered, with or without a block."""
        self.registered = 0
        """Positions whose hash is registered (or that came from the cache)."""
        self.state_position: int | None = None
        """Recurrent groups: where the state stood before the newest block was taken."""


class Group(Protocol):
    """The rules in which the two kinds of group differ."""

    def need(self, table: Table, tokens: int, hits: Sequence[int], hit_length: int) -> int | None:
        """Free blocks it takes to cover `tokens`; None if it cannot be done in this step at all."""

    def hold_hits(self, table: Table, hits: Sequence[int], hit_length: int, covered_tokens: int) -> None:
        """Take the cached blocks of a first admission, which will cover `covered_tokens` in all."""

    def extend(self, table: Table, tokens: int) -> None:
        """Allocate so that `tokens` are covered."""

    def skip(self, table: Table, processed_tokens: int) -> None:
        """Return the blocks that computing past `processed_tokens` no longer reads."""

    def register(self, table: Table, hashes: Sequence[int], tokens: int) -> None:
        """Make every full block below `tokens` findable."""


class AttentionGroup:
    """Full attention: every position keeps its block until the request ends."""

    def __init__(self, pool: BlockPool, group: int, block_tokens: int) -> None:
        self._pool = pool
        self._group = group
        self._block_tokens = block_tokens

    def need(self, table: Table, tokens: int, hits: Sequence[int], hit_length: int) -> int | None:
        """Positions not covered yet, and the hits that stand in the free queue."""
        fresh = max(blocks_for(tokens, self._block_tokens) - hit_length - table.length, 0)
        return fresh + self._pool.count_free(hits)

    def hold_hits(self, table: Table, hits: Sequence[int], hit_length: int, covered_tokens: int) -> None:
        """Hold every hit block."""
        self._pool.touch(hits)
        table.blocks = dict(enumerate(hits))
        table.length = table.registered = hit_length

    def extend(self, table: Table, tokens: int) -> None:
        """One block for every position not covered yet."""
        positions = blocks_for(tokens, self._block_tokens)
        if positions > table.length:
            fresh = self._pool.allocate(positions - table.length)
            table.blocks.update(zip(range(table.length, positions), fresh, strict=True))
            table.length = positions

    def skip(self, table: Table, processed_tokens: int) -> None:
        """Attention reads everything: nothing is skipped."""

    def register(self, table: Table, hashes: Sequence[int], tokens: int) -> None:
        """Register each newly full block; one stored event for the range."""
        start, end = table.registered, tokens // self._block_tokens
        if end <= start:
            return
        for position in range(start, end):
            self._pool.register(table.blocks[position], hashes[position], self._group)
        table.registered = end
        parent = hashes[start - 1] if start else None
        self._pool.events.append(KvEvent(True, self._group, parent, list(hashes[start:end]), "GPU"))


class RecurrentGroup:
    """Recurrent state: a block holds the whole state at the end of a chunk; positions between stay empty.

    The block of a chunk that ended on a block boundary is a checkpoint: later prompts can start from it.
    """

    def __init__(self, pool: BlockPool, group: int, block_tokens: int) -> None:
        self._pool = pool
        self._group = group
        self._block_tokens = block_tokens
        self.made_this_step: set[int | None] = set()
        """Hashes of checkpoints registered in this step: nobody may start there, even from an older copy."""

    def need(self, table: Table, tokens: int, hits: Sequence[int], hit_length: int) -> int | None:
        """At most one block however many tokens, and the checkpoint if it stands in the free queue."""
        if hits and self._pool.hash_of(hits[-1]) in self.made_this_step:
            return None
        fresh = 1 if blocks_for(tokens, self._block_tokens) > hit_length + table.length else 0
        return fresh + self._pool.count_free(hits)

    def hold_hits(self, table: Table, hits: Sequence[int], hit_length: int, covered_tokens: int) -> None:
        """Hold the checkpoint unless the state beyond it comes from elsewhere."""
        skipped = max(covered_tokens - 1, 0) // self._block_tokens
        if hits and hit_length > skipped:
            self._pool.touch(hits)
            table.blocks = {hit_length - 1: hits[-1]}
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
        table.blocks[positions - 1] = self._pool.allocate(1)[0]
        table.length = positions

    def skip(self, table: Table, processed_tokens: int) -> None:
        """Return the states before the one that was read last.

        While a chunk is in flight (asynchronous scheduling) the state before it is not processed yet; taking
        the next block forgets its position, and the walk down stops at the empty positions between. Such
        checkpoints stay held until the request ends: so does vLLM 0.28.0.
        """
        position = min(max(processed_tokens - 1, 0) // self._block_tokens, table.length) - 1
        freed: list[int] = []
        while position in table.blocks:
            freed.append(table.blocks.pop(position))
            position -= 1
        if freed:
            self._pool.free(freed)
        state = table.state_position
        last_processed = blocks_for(processed_tokens, self._block_tokens) - 1
        if state is not None and state in table.blocks and state < last_processed:
            self._pool.free([table.blocks.pop(state)])

    def register(self, table: Table, hashes: Sequence[int], tokens: int) -> None:
        """Register the checkpoints among the newly full positions; the event may be empty."""
        start, end = table.registered, tokens // self._block_tokens
        if end <= start:
            return
        stored: list[int] = []
        for position in takewhile(lambda position: position >= start, reversed(table.blocks)):
            if position < end:
                self._pool.register(table.blocks[position], hashes[position], self._group)
                self.made_this_step.add(hashes[position])
                stored.insert(0, hashes[position])
        table.registered = end
        parent = hashes[start - 1] if start else None
        self._pool.events.append(KvEvent(True, self._group, parent, stored, "GPU"))
