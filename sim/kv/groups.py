"""How one cache group of a request grows, shrinks and becomes findable; full attention as the plainest.

Rules of vLLM 0.28.0 with prefix caching on. A group's `table` belongs to one request, sizes are in tokens,
`block_tokens` a block.
"""

from collections.abc import Sequence
from sys import maxsize
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

    __slots__ = (
        "grown",
        "junction_tokens",
        "length",
        "own",
        "parts",
        "prompt_tokens",
        "registered",
        "request_id",
        "retired",
        "state_position",
    )

    def __init__(self) -> None:
        self.parts: dict[int, Part] = {}
        """What is held, by the first position of each part, ascending; a state is a part of its own."""
        self.prompt_tokens = 0
        self.junction_tokens = 0
        """End of a cached attention run that lacked a state, or a window, when the request was admitted; 0 if
        none."""
        self.request_id = -1
        self.retired = 0
        """Recurrent groups: the position before which states went back when that was looked at last."""
        self.length = 0
        """Positions covered, with or without a block."""
        self.registered = 0
        """Positions whose hash is registered (or that came from the cache)."""
        self.own: Extent | None = None
        """Attention groups: the blocks behind the hit."""
        self.grown = False
        """Recurrent groups: blocks were taken for the request's own steps, the scratch blocks among them."""
        self.state_position: int | None = None
        """Recurrent groups: where the state stood before the newest block was taken."""

    @property
    def held_blocks(self) -> int:
        """Blocks in the table: covered positions may have none."""
        return sum(stop - start for _, start, stop in self.parts.values())

    def first_block(self, position: int) -> int:
        """Return the first position from this one on that has a block; the length if none has."""
        for _, start, stop in self.parts.values():
            if stop > position:
                return max(start, position)
        return self.length

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
    """The rules in which the kinds of group differ."""

    block_tokens: int

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
        """Free blocks it takes to cover `tokens`, of which `computed` have been or come from elsewhere.

        Without a table the local hit of `hit_tokens` is held first. `capped`: as admission
        counts, which knows that a window lets blocks go. `prefill_end`: where the request's prefill ends.
        None if it cannot be done in this step at all.
        """

    def hold_hits(self, table: Table, hits: Sequence[Part], hit_tokens: int, covered_tokens: int) -> None:
        """Take the cached blocks of a first admission, which will cover `covered_tokens` in all."""

    def take_external(self, table: Table, covered_tokens: int) -> None:
        """Allocate for what comes from elsewhere beyond the hit."""

    def extend(self, table: Table, tokens: int, computed: int = 0, prefill_end: int = maxsize) -> None:
        """Allocate so that `tokens` are covered, of which `computed` have been."""

    def skip(self, table: Table, processed_tokens: int) -> None:
        """Return the blocks that computing past `processed_tokens` no longer reads."""

    def register(self, table: Table, block_ids: BlockRuns, tokens: int) -> None:
        """Make every full block below `tokens` findable; `block_ids` are those at hash size."""


class AttentionGroup:
    """Full attention: every position keeps its block until the request ends."""

    def __init__(self, pool: BlockPool, group: int, block_tokens: int, scale: int = 1) -> None:
        self._pool = pool
        self._group = group
        self.block_tokens = block_tokens
        self._scale = scale

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
        """Positions not covered yet, and the hits that stand in the free queue."""
        positions = hit_tokens // self.block_tokens if table is None else table.length
        fresh = max(blocks_for(tokens, self.block_tokens) - positions, 0)
        return fresh + self._pool.count_free(hits) if hits else fresh

    def hold_hits(self, table: Table, hits: Sequence[Part], hit_tokens: int, covered_tokens: int) -> None:
        """Hold every hit block."""
        self._pool.touch(hits)
        table.parts = {hit[1]: hit for hit in hits}
        table.length = table.registered = hit_tokens // self.block_tokens

    def take_external(self, table: Table, covered_tokens: int) -> None:
        """A block for every position."""
        self.extend(table, covered_tokens)

    def extend(self, table: Table, tokens: int, computed: int = 0, prefill_end: int = maxsize) -> None:
        """One block for every position not covered yet."""
        positions = blocks_for(tokens, self.block_tokens)
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
        start, end = table.registered, tokens // self.block_tokens
        if end > start:
            assert table.own is not None
            ids = block_ids.every(self._scale)
            runs = self._pool.register(table.own, ids, end)
            table.registered = end
            blocks = runs[0] if len(runs) == 1 else BlockRuns(runs)
            self._pool.events.append(KvEvent(True, self._group, parent_of(ids, start), blocks, "device"))
        if self._scale > 1:
            self._register_tail(table, block_ids, tokens)

    def _register_tail(self, table: Table, block_ids: BlockRuns, tokens: int) -> None:
        """Where blocks are larger than what has an id, the end of the prompt inside one is an entry of its
        own.

        vLLM 0.28.0 makes it, looks for it only where there are recurrent groups, and says so in events.
        """
        hash_tokens = self.block_tokens // self._scale
        hashes = table.prompt_tokens // hash_tokens
        position = hashes // self._scale
        if hashes % self._scale == 0 or hashes * hash_tokens > tokens or position >= table.length:
            return
        block_id = block_ids[hashes - 1]
        for extent, start, stop in table.parts.values():
            if start <= position < stop and self._pool.name_tail(extent, position, block_id):
                parent = parent_of(block_ids, hashes - 1)
                self._pool.events.append(KvEvent(True, self._group, parent, [block_id], "device", tail=True))


def parent_of(block_ids: BlockRuns, position: int) -> int | None:
    """Return the hash before a position, None at the start."""
    return block_ids[position - 1] if position else None
