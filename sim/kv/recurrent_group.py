"""The cache group of recurrent state (vLLM 0.28.0's "align" mode)."""

from collections.abc import Sequence

from sim.kv.events import KvEvent
from sim.kv.extent import Extent, Part
from sim.kv.groups import Table, blocks_for, parent_of
from sim.kv.pool import BlockPool
from sim.kv.runs import BlockRuns


class RecurrentGroup:
    """Recurrent state: a block holds the whole state at the end of a chunk; positions between stay empty.

    The block of a chunk that ended on a block boundary is a checkpoint: later prompts can start from it. With
    speculative decoding as many scratch blocks as there are drafts stand behind the state, one a draft.
    """

    def __init__(self, pool: BlockPool, group: int, block_tokens: int, scratch_blocks: int = 0) -> None:
        self._pool = pool
        self._group = group
        self.block_tokens = block_tokens
        self._scratch_blocks = scratch_blocks
        self.made_this_step: set[int] = set()
        """Hashes of checkpoints registered in this step: nobody may start there, even from an older copy."""

    def need(
        self,
        table: Table | None,
        tokens: int,
        computed: int,
        hits: Sequence[Part],
        hit_tokens: int,
        *,
        capped: bool,
    ) -> int | None:
        """One block however many tokens, at first the scratch blocks too, and the checkpoint if it is
        free."""
        positions = hit_tokens // self.block_tokens if table is None else table.length
        fresh = 0
        if blocks_for(tokens, self.block_tokens) + self._scratch_blocks > positions:
            fresh = 1 if table is not None else 1 + self._scratch_blocks
        if not hits:
            return fresh
        if self.made_this_step:
            state, position, _ = hits[-1]
            if state.block_ids[position] in self.made_this_step:
                return None
        return fresh + self._pool.count_free(hits)

    def hold_hits(self, table: Table, hits: Sequence[Part], hit_tokens: int, covered_tokens: int) -> None:
        """Hold the checkpoint unless the state beyond it comes from elsewhere."""
        hit_length = hit_tokens // self.block_tokens
        skipped = max(covered_tokens - 1, 0) // self.block_tokens
        if hits and hit_length > skipped:
            self._pool.touch(hits)
            table.parts = {hit_length - 1: hits[-1]}
            table.length = table.registered = hit_length
        else:
            table.length = table.registered = skipped

    def take_external(self, table: Table, covered_tokens: int) -> None:
        """One block for the state that comes; the scratch blocks are the request's own, and follow."""
        if not self._scratch_blocks:
            self.extend(table, covered_tokens)
            return
        positions = blocks_for(covered_tokens, self.block_tokens)
        if positions > table.length:
            self._take(table, positions - 1)
            table.length = positions

    def extend(self, table: Table, tokens: int) -> None:
        """One block at the last position, where the state will stand, and the scratch blocks behind it.

        Scratch blocks that the state has passed move along; the state of a next position takes the first of
        them.
        """
        scratch = self._scratch_blocks
        positions = blocks_for(tokens, self.block_tokens) + scratch
        if positions <= table.length:
            table.grown = True
            return
        if table.length:
            table.state_position = table.length - 1 - (scratch if table.grown else 0)
        state_position = positions - scratch - 1
        length = max(table.length, state_position)
        if scratch and table.grown:
            for position in range(table.length - scratch, min(table.length, state_position)):
                self._move(table, position, length)
                length += 1
        for position in range(length, positions):
            self._take(table, position)
        table.length = positions
        table.grown = True

    def _take(self, table: Table, position: int) -> None:
        state = Extent(self._group, position)
        self._pool.allocate(state, 1)
        table.parts[position] = (state, position, position + 1)

    def _move(self, table: Table, position: int, to: int) -> None:
        scratch, _, _ = table.parts.pop(position)
        moved = Extent(self._group, to)
        moved.numbers = scratch.numbers
        self._pool.taken += scratch.numbers  # the request is given it once more
        table.parts[to] = (moved, to, to + 1)

    def skip(self, table: Table, processed_tokens: int) -> None:
        """Return the states before the one that was read last.

        While a chunk is in flight (asynchronous scheduling) the state before it is not processed yet; taking
        the next block forgets its position, and the walk down stops at the empty positions between. Such
        checkpoints stay held until the request ends: so does vLLM 0.28.0.
        """
        position = min(max(processed_tokens - 1, 0) // self.block_tokens, table.length) - 1
        freed: list[Part] = []
        while position in table.parts:
            freed.append(table.parts.pop(position))
            position -= 1
        if freed:
            self._pool.free(freed)
        state = table.state_position
        last_processed = blocks_for(processed_tokens, self.block_tokens) - 1
        if state is not None and state in table.parts and state < last_processed:
            self._pool.free([table.parts.pop(state)])

    def register(self, table: Table, block_ids: BlockRuns, tokens: int) -> None:
        """Register the checkpoints among the newly full positions; the event may be empty."""
        start, end = table.registered, tokens // self.block_tokens
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
        self._pool.events.append(KvEvent(True, self._group, parent_of(block_ids, start), stored, "device"))
