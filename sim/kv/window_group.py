"""A cache group whose layers read a window: sliding, or chunks of local attention (vLLM 0.28.0)."""

from collections.abc import Sequence
from sys import maxsize

from sim.kv.draft_rules import NO_DRAFTS, DraftRules
from sim.kv.events import KvEvent
from sim.kv.extent import Extent, Part
from sim.kv.group_spec import GroupSpec
from sim.kv.groups import Table, blocks_for, parent_of
from sim.kv.pool import BlockPool
from sim.kv.retention import Retention
from sim.kv.runs import BlockRuns


def hit_blocks(spec: GroupSpec) -> int:
    """Return how many successive blocks of a sliding window a hit needs at its end.

    A window of one token reads nothing of what was computed before it.
    """
    return blocks_for(spec.window_tokens - 1, spec.block_tokens)


class WindowGroup:
    """Blocks before the window go back while the request runs, findable until they are evicted.

    What is held is one stretch of positions, from where the window begins to the end of the table.
    `aligned_tokens`: hits of all groups end at a multiple of it; of a larger one, blocks that no hit can
    read are not made findable. `in_flight_tokens`: the most tokens that
    steps may have in flight, by which admission counts.
    """

    def __init__(
        self,
        pool: BlockPool,
        group: int,
        spec: GroupSpec,
        drafts: DraftRules = NO_DRAFTS,
        *,
        scale: int = 1,
        aligned_tokens: int,
        retention: Retention | None = None,
        in_flight_tokens: int = maxsize,
        max_model_len: int = maxsize,
    ) -> None:
        self._pool = pool
        self._group = group
        self._scale = scale
        self.block_tokens = spec.block_tokens
        self._sliding = spec.kind == "sliding_window"
        self._window_tokens = spec.window_tokens
        self._retained_tokens = drafts.unsettled_tokens
        segment = aligned_tokens // spec.block_tokens
        needed = hit_blocks(spec) + drafts.drops_last_block
        self._segment_blocks = segment if self._sliding and needed < segment else 0
        """A hit reads the last `_needed_blocks` of each so many; 0 if it may read any block."""
        self._needed_blocks = needed
        self._shift = 1 if drafts.drops_last_block else 0
        self._retention = retention or Retention()
        self._apart = segment > 1 or drafts.tokens > 0 or self._segment_blocks > 0 or self._retention.sparse
        """Blocks may leave before they are findable: each is an extent of its own."""
        self._cap_blocks = self._admission_cap(in_flight_tokens, max_model_len)

    def _admission_cap(self, in_flight_tokens: int, max_model_len: int) -> int:
        """Blocks that a request holds at most, as vLLM's `max_admission_blocks_per_request` has it."""
        longest = self._window_tokens + in_flight_tokens
        if not self._sliding:
            return blocks_for(min(longest, max_model_len), self.block_tokens)
        longest += self._retained_tokens - 1
        return blocks_for(min(longest, max_model_len), self.block_tokens) + 1

    def skipped_tokens(self, computed: int) -> int:
        """Tokens that what is computed after `computed` does not read."""
        if not self._sliding:
            return computed // self._window_tokens * self._window_tokens
        return max(0, computed - self._window_tokens + 1 - self._retained_tokens)

    def still_tokens(self, processed_tokens: int) -> int:
        """How many more tokens may be processed before the window leaves a block that it holds now."""
        size, window = self.block_tokens, self._window_tokens
        gone = self.skipped_tokens(processed_tokens) // size
        if self._sliding:
            next_tokens = (gone + 1) * size + window - 1 + self._retained_tokens
        else:
            next_tokens = (processed_tokens // window + 1) * window
        return next_tokens - processed_tokens - 1

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
        """Positions not covered, of the window at most when `capped`, and the hits that it holds if free."""
        required = blocks_for(tokens, self.block_tokens)
        if capped:
            required = min(required, self._cap_blocks)
        if table is not None:
            return max(required - table.length, 0)
        skipped = self.skipped_tokens(computed) // self.block_tokens
        fresh = max(required - max(skipped, hit_tokens // self.block_tokens), 0)
        return fresh + self._pool.count_free(_from(hits, skipped))

    def hold_hits(self, table: Table, hits: Sequence[Part], hit_tokens: int, covered_tokens: int) -> None:
        """Hold the hit blocks in the window; all before the end of the hit counts as findable."""
        skipped = self.skipped_tokens(covered_tokens) // self.block_tokens
        held = _from(hits, skipped)
        self._pool.touch(held)
        table.parts = {hit[1]: hit for hit in held}
        table.length = table.registered = max(skipped, hit_tokens // self.block_tokens)

    def take_external(self, table: Table, covered_tokens: int) -> None:
        """A block for every position of the window."""
        self.extend(table, covered_tokens)

    def extend(self, table: Table, tokens: int, computed: int = 0, prefill_end: int = maxsize) -> None:
        """One block for every position not covered yet."""
        positions = blocks_for(tokens, self.block_tokens)
        if positions <= table.length:
            return
        if self._apart:
            for position in range(table.length, positions):
                block = Extent(self._group, position)
                self._pool.allocate(block, 1)
                table.parts[position] = (block, position, position + 1)
        else:
            own = table.own
            if own is None:
                own = table.own = Extent(self._group, table.length)
            self._pool.allocate(own, positions - table.length)
            start = table.length
            for last, (extent, _, _) in reversed(table.parts.items()):
                if extent is own:
                    start = last
                break
            table.parts[start] = (own, start, positions)
        table.length = positions

    def skip(self, table: Table, processed_tokens: int) -> None:
        """Return what the window has left, the deepest block first."""
        end = min(self.skipped_tokens(processed_tokens) // self.block_tokens, table.length)
        freed: list[Part] = []
        for start, (extent, _, stop) in table.parts.items():
            if start >= end:
                break
            freed.append((extent, start, min(stop, end)))
        if not freed:
            return
        freed.reverse()
        held = [part for part in table.parts.values() if part[2] > end]
        table.parts = {max(start, end): (extent, max(start, end), stop) for extent, start, stop in held}
        self._pool.free(freed)

    def register(self, table: Table, block_ids: BlockRuns, tokens: int) -> None:
        """Register the newly full blocks that a hit may read; the event covers the range all the same."""
        start, end = table.registered, tokens // self.block_tokens
        if end <= start:
            return
        block_ids = block_ids.every(self._scale)
        table.registered = end
        stored = self._register_apart(table, block_ids, start, end) if self._apart else None
        if stored is None:
            assert table.own is not None
            runs = self._pool.register(table.own, block_ids, end)
            stored = runs[0] if len(runs) == 1 else BlockRuns(runs)
        self._pool.events.append(KvEvent(True, self._group, parent_of(block_ids, start), stored, "device"))

    def _register_apart(
        self, table: Table, block_ids: BlockRuns, start: int, end: int
    ) -> Sequence[int] | None:
        stored: list[int] = []
        for position in range(start, end):
            part = table.parts.get(position)
            if part is not None and self._may_be_hit(table, position):
                self._pool.register(part[0], block_ids, position + 1)
                stored.append(block_ids[position])
        return stored

    def _may_be_hit(self, table: Table, position: int) -> bool:
        if self._retention.sparse:
            return self._retention.keeps_in_window(table, position)
        segment = self._segment_blocks
        if not segment:
            return True
        place = position - self._shift
        return place >= 0 and place % segment >= segment - self._needed_blocks


def _from(hits: Sequence[Part], position: int) -> list[Part]:
    """Return the hits from a position on."""
    return [(extent, max(start, position), stop) for extent, start, stop in hits if stop > position]
