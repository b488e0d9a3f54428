"""The KV cache of one engine: prefix lookup and allocation across its cache groups (vLLM 0.28.0).

A plain model has one attention group. A hybrid model has recurrent-state groups first and then its attention
group; all take blocks of equal bytes from one pool, and a hit needs them all at the same boundary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from sim.kv.groups import AttentionGroup, Group, RecurrentGroup, Table
from sim.kv.pool import BlockPool


@dataclass(frozen=True, slots=True)
class Hit:
    """What the cache offers a prompt. Blocks are listed by group; positions without a block are left out."""

    tokens: int = 0
    length_blocks: int = 0
    blocks: tuple[Sequence[int], ...] = ()
    attention_tokens: int = 0
    """Length of the attention run alone: beyond `tokens` it lacks a state checkpoint."""
    stateless: bool = False
    """No checkpoint stands at `tokens`: the hit is good for nothing unless the state comes from elsewhere."""


NO_HIT = Hit()


class KvCache:
    """Block pool and groups of one engine. `tables`, one a group, are empty while a request holds nothing.

    `recurrent_groups` is 0 for a plain model. `block_tokens` is the size of a block in tokens, equal for all
    groups.
    """

    def __init__(self, num_blocks: int, block_tokens: int, recurrent_groups: int = 0) -> None:
        self.block_tokens = block_tokens
        self.pool = BlockPool(num_blocks, recurrent_groups + 1)
        self.recurrent = [RecurrentGroup(self.pool, g, block_tokens) for g in range(recurrent_groups)]
        self.attention_group = recurrent_groups
        attention = AttentionGroup(self.pool, self.attention_group, block_tokens)
        self.groups: list[Group] = [*self.recurrent, attention]
        self._no_tables = [Table() for _ in self.groups]
        self._no_hits: tuple[Sequence[int], ...] = ((),) * len(self.groups)

    def begin_step(self) -> None:
        """Forget what belongs to one step: fresh checkpoints and the log of blocks taken."""
        for group in self.recurrent:
            group.made_this_step.clear()
        self.pool.taken.clear()

    def lookup(self, hashes: Sequence[int], num_tokens: int) -> Hit:
        """Return the longest usable hit of a request with `num_tokens` known tokens; changes nothing.

        At least one token is left to compute. A hybrid hit is the deepest boundary within the attention run
        at which every recurrent group has a checkpoint.
        """
        run = self.pool.run(islice(hashes, (num_tokens - 1) // self.block_tokens), self.attention_group)
        blocks: tuple[Sequence[int], ...]
        if self.recurrent:
            length, states = self._deepest_checkpoint(hashes, len(run))
            blocks = (*((state,) for state in states), run[:length]) if length else ()
        else:
            length, blocks = len(run), (run,)
        return Hit(length * self.block_tokens, length, blocks, len(run) * self.block_tokens)

    def lookup_attention(self, hashes: Sequence[int], num_tokens: int) -> Hit:
        """Return the hit of a request whose recurrent state may come from elsewhere: the attention run alone.

        Its blocks count the deepest checkpoint, as vLLM 0.28.0's admission does. If a checkpoint lies beyond
        the run, the hit is that of `lookup`.
        """
        limit = (num_tokens - 1) // self.block_tokens
        run = self.pool.run(islice(hashes, limit), self.attention_group)
        length, states = self._deepest_checkpoint(hashes, limit) if self.recurrent else (len(run), [])
        if length > len(run):
            return self.lookup(hashes, num_tokens)
        tokens = len(run) * self.block_tokens
        held = tuple((state,) for state in states) or self._no_hits[:-1]
        return Hit(tokens, len(run), (*held, run), tokens, length < len(run))

    def _deepest_checkpoint(self, hashes: Sequence[int], run: int) -> tuple[int, list[int]]:
        first, *others = self.pool.cached[: self.attention_group]
        for position in range(run - 1, -1, -1):
            block_hash = hashes[position]
            if block_hash in first and all(block_hash in cached for cached in others):
                return position + 1, [first[block_hash], *(cached[block_hash] for cached in others)]
        return 0, []

    def need(self, tables: list[Table], tokens: int, hit: Hit = NO_HIT) -> int | None:
        """Free blocks it takes for `tables` to cover `tokens`; None if not possible in this step."""
        if self._covers(tables, tokens):
            return 0
        total = 0
        for group, table, blocks in zip(
            self.groups, tables or self._no_tables, hit.blocks or self._no_hits, strict=True
        ):
            need = group.need(table, tokens, blocks, hit.length_blocks)
            if need is None:
                return None
            total += need
        return total

    def _covers(self, tables: list[Table], tokens: int) -> bool:
        """Whether the blocks that are held suffice; the tables of all groups are equally long."""
        return bool(tables) and tokens <= tables[self.attention_group].length * self.block_tokens

    def skip(self, tables: list[Table], processed_tokens: int) -> None:
        """Return the blocks that no later step of this request reads."""
        for group, table in zip(self.recurrent, tables, strict=False):
            group.skip(table, processed_tokens)

    def admit(self, tables: list[Table], hit: Hit, covered_tokens: int) -> None:
        """Open the tables of a request: hold the hit, and blocks for what comes from outside beyond it."""
        tables[:] = [Table() for _ in self.groups]
        for group, table, blocks in zip(self.groups, tables, hit.blocks or self._no_hits, strict=True):
            group.hold_hits(table, blocks, hit.length_blocks, covered_tokens)
        if covered_tokens > hit.tokens:
            self.extend(tables, covered_tokens)

    def extend(self, tables: list[Table], tokens: int) -> None:
        """Allocate, group by group, until `tokens` are covered; the caller has asked `need`."""
        if self._covers(tables, tokens):
            return
        for group, table in zip(self.groups, tables, strict=True):
            group.extend(table, tokens)

    def register(self, tables: list[Table], hashes: Sequence[int], tokens: int) -> None:
        """Make every full block below `tokens` findable, in every group."""
        if tokens // self.block_tokens <= tables[self.attention_group].registered:
            return  # a recurrent group is never behind: what a load brings counts as registered there
        for group, table in zip(self.groups, tables, strict=True):
            group.register(table, hashes, tokens)

    def free(self, tables: list[Table]) -> None:
        """Return everything, group by group, the deepest block first."""
        for table in tables:
            self.pool.free(reversed(table.blocks.values()))
        tables.clear()

    def detach(self, tables: list[Table]) -> list[int]:
        """Close the tables but leave the blocks held; return them in the order of a deferred free.

        That is the deepest block of the last group first.
        """
        blocks = [block for table in reversed(tables) for block in reversed(table.blocks.values())]
        tables.clear()
        return blocks

    def retake(self, tables: list[Table]) -> None:
        """Log all blocks of a request as taken in this step: their content came from outside, and it runs."""
        for table in tables:
            self.pool.taken += table.blocks.values()
