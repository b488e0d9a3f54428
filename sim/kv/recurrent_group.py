"""The cache group of recurrent state (vLLM's "align" mode)."""

from collections.abc import Sequence
from sys import maxsize

from sim.kv.checkpoints import checkpoint_before, saves_state
from sim.kv.events import KvEvent
from sim.kv.extent import Extent, Part
from sim.kv.groups import Table, blocks_for, parent_of
from sim.kv.pool import BlockPool
from sim.kv.retention import Retention
from sim.kv.runs import BlockRuns
from sim.kv.state_rules import ALL_KEPT, StateRules


class RecurrentGroup:
    """Recurrent state: a block holds the whole state at the end of a chunk; positions between stay empty.

    The block of a chunk that ended on a block boundary is a checkpoint: later prompts can start from it. With
    speculative decoding as many scratch blocks as there are drafts stand behind the state, one a draft.
    `early`: attention loses the last block of its hits.
    """

    def __init__(
        self,
        pool: BlockPool,
        group: int,
        block_tokens: int,
        scratch_blocks: int = 0,
        *,
        retention: Retention | None = None,
        states: StateRules = ALL_KEPT,
        early: bool = False,
    ) -> None:
        self._pool = pool
        self._group = group
        self.block_tokens = block_tokens
        self._scratch_blocks = scratch_blocks
        self._early = early
        self._retention = retention or Retention()
        self._retirement = states.retirement()
        self._saves_inside = states.saves_inside
        self._saves_at_end_only = states.retention_tokens == 0
        self.offers: list[tuple[Table, int]] | None = None
        """States that have become findable since somebody asked, by position; None: nobody asks."""
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
        prefill_end: int = maxsize,
    ) -> int | None:
        """One block however many tokens, at first the scratch blocks too, and the checkpoint if it is
        free."""
        positions = hit_tokens // self.block_tokens if table is None else table.length
        fresh = 0
        if blocks_for(tokens, self.block_tokens) + self._scratch_blocks > positions:
            fresh = 1 if table is not None else 1 + self._scratch_blocks
            fresh += self._inner_blocks(computed, tokens, prefill_end)
        if not hits:
            return fresh
        if self.made_this_step:
            state, position, _ = hits[-1]
            if state.block_ids[position] in self.made_this_step:
                return None
        return fresh + self._pool.count_free(hits)

    def _inner_blocks(self, computed: int, tokens: int, prefill_end: int) -> int:
        """Return how many blocks a chunk takes for a state saved inside it: 1 or none."""
        if not self._saves_inside or (self._saves_at_end_only and tokens < prefill_end):
            return 0
        position = checkpoint_before(tokens, self.block_tokens, self._early)
        return 1 if saves_state(computed, tokens, position, self.block_tokens) else 0

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

    def extend(self, table: Table, tokens: int, computed: int = 0, prefill_end: int = maxsize) -> None:
        """One block at the last position, where the state will stand, and the scratch blocks behind it.

        One more before it, if the chunk saves a state inside.

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
        state_position = positions - scratch - 1 - self._inner_blocks(computed, tokens, prefill_end)
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
        """Return the states before the one that was read last, as far as they are taken."""
        end = min(max(processed_tokens - 1, 0) // self.block_tokens, table.length)
        if end != table.retired:  # else nothing new stands before it
            table.retired = end
            freed = self._retirement.take(table, end)
            if freed:
                self._pool.free(freed)
        state = table.state_position
        last_processed = blocks_for(processed_tokens, self.block_tokens) - 1
        if state is not None and state in table.parts and state < last_processed:
            self._pool.free([table.parts.pop(state)])

    def register(self, table: Table, block_ids: BlockRuns, tokens: int) -> None:
        """Register the checkpoints among the newly full positions that are kept; the event may be empty."""
        start, end = table.registered, tokens // self.block_tokens
        if end <= start:
            return
        stored: list[int] = []
        kept: list[int] = []
        for state, position, _ in reversed(table.parts.values()):
            if position < start:
                break
            if position < end and self._retention.keeps_state(table, position):
                self._pool.register(state, block_ids, end=position + 1)
                stored.insert(0, block_ids[position])
                kept.insert(0, position)
        self.made_this_step.update(stored)
        if self.offers is not None and kept:
            self.offers += [(table, position) for position in kept]
        table.registered = end
        self._pool.events.append(KvEvent(True, self._group, parent_of(block_ids, start), stored, "device"))
