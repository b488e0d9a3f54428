"""The KV cache of one engine: prefix lookup and allocation across its cache groups (vLLM 0.28.0).

A plain model has one attention group. A hybrid model has recurrent-state groups first and then its attention
group; all take blocks of equal bytes from one pool, and a hit needs them all at the same boundary.
"""

from collections.abc import Sequence

from sim.kv.extent import Part, block_numbers
from sim.kv.groups import AttentionGroup, Group, RecurrentGroup, Table
from sim.kv.pool import BlockPool
from sim.kv.runs import BlockRuns


class Hit:
    """What the cache offers a prompt. Blocks are listed by group; positions without a block are left out."""

    __slots__ = ("attention_tokens", "blocks", "length_blocks", "stateless", "tokens")

    def __init__(
        self,
        tokens: int = 0,
        length_blocks: int = 0,
        blocks: tuple[Sequence[Part], ...] = (),
        attention_tokens: int = 0,
        stateless: bool = False,
    ) -> None:
        self.tokens = tokens
        self.length_blocks = length_blocks
        self.blocks = blocks
        self.attention_tokens = attention_tokens
        """Length of the attention run alone: beyond `tokens` it lacks a state checkpoint."""
        self.stateless = stateless
        """No checkpoint stands at `tokens`: good for nothing unless the state comes from elsewhere."""


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
        self._no_hits: tuple[Sequence[Part], ...] = ((),) * len(self.groups)

    def begin_step(self) -> None:
        """Forget what belongs to one step: fresh checkpoints and the log of blocks taken."""
        for group in self.recurrent:
            group.made_this_step.clear()
        self.pool.taken.clear()

    def lookup(self, block_ids: Sequence[int], num_tokens: int) -> Hit:
        """Return the longest usable hit of a request with `num_tokens` known tokens; changes nothing.

        At least one token is left to compute. A hybrid hit is the deepest boundary within the attention run
        at which every recurrent group has a checkpoint.
        """
        block_ids = BlockRuns.of(block_ids)
        run = self._attention_run(block_ids, num_tokens)
        length = run[-1][2] if run else 0
        tokens = length * self.block_tokens
        if not self.recurrent:
            return Hit(tokens, length, (run,), tokens)
        depth, states = self._deepest_checkpoint(block_ids, length)
        if not depth:
            return Hit(attention_tokens=tokens)
        held = [(extent, start, min(stop, depth)) for extent, start, stop in run if start < depth]
        return Hit(depth * self.block_tokens, depth, (*states, held), tokens)

    def lookup_attention(self, block_ids: Sequence[int], num_tokens: int) -> Hit:
        """Return the hit of a request whose recurrent state may come from elsewhere: the attention run alone.

        Its blocks count the deepest checkpoint, as vLLM 0.28.0's admission does. If a checkpoint lies beyond
        the run, the hit is that of `lookup`.
        """
        if not self.recurrent:
            return self.lookup(block_ids, num_tokens)
        block_ids = BlockRuns.of(block_ids)
        run = self._attention_run(block_ids, num_tokens)
        length = run[-1][2] if run else 0
        depth, states = self._deepest_checkpoint(block_ids, (num_tokens - 1) // self.block_tokens)
        if depth > length:
            return self.lookup(block_ids, num_tokens)
        tokens = length * self.block_tokens
        return Hit(tokens, length, (*(states or self._no_hits[:-1]), run), tokens, depth < length)

    def _attention_run(self, block_ids: BlockRuns, num_tokens: int) -> list[Part]:
        return self.pool.run(block_ids, (num_tokens - 1) // self.block_tokens, self.attention_group)

    def _deepest_checkpoint(self, block_ids: BlockRuns, length: int) -> tuple[int, list[list[Part]]]:
        """Return the deepest boundary within `length` blocks at which all groups have a state, and these."""
        first, *others = self.pool.cached[: self.attention_group]
        end = length
        for ids in reversed(block_ids.between(0, length)):
            for start, stop, copies in reversed(first.segments(ids.start, ids.stop)):
                if not copies:
                    continue
                for block_id in range(stop - 1, start - 1, -1):
                    found = [copies, *(cached.get(block_id) for cached in others)]
                    if all(found):
                        depth = end - (ids.stop - 1 - block_id)
                        return depth, [[(states[0], depth - 1, depth)] for states in found]
            end -= ids.stop - ids.start
        return 0, []

    def need(self, tables: list[Table], tokens: int, hit: Hit = NO_HIT) -> int | None:
        """Free blocks it takes for `tables` to cover `tokens`; None if not possible in this step."""
        if self._covers(tables, tokens):
            return 0
        positions = tables[0].length if tables else hit.length_blocks
        total = 0
        for group, blocks in zip(self.groups, hit.blocks or self._no_hits, strict=True):
            need = group.need(positions, tokens, blocks)
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

    def grow(self, tables: list[Table], block_ids: BlockRuns, tokens: int, known_tokens: int) -> bool:
        """Cover `tokens` of a request that runs, and make the blocks of the known ones findable.

        False, and nothing changed, if there is no room.
        """
        table, size = tables[self.attention_group], self.block_tokens
        if tokens > table.length * size:
            need = self.need(tables, tokens)
            if need is None or need > self.pool.free_blocks:
                return False
            self.extend(tables, tokens)
        if known_tokens // size > table.registered:
            self.register(tables, block_ids, known_tokens)
        return True

    def register(self, tables: list[Table], block_ids: Sequence[int], tokens: int) -> None:
        """Make every full block below `tokens` findable, in every group."""
        if tokens // self.block_tokens <= tables[self.attention_group].registered:
            return  # a recurrent group is never behind: what a load brings counts as registered there
        block_ids = BlockRuns.of(block_ids)
        for group, table in zip(self.groups, tables, strict=True):
            group.register(table, block_ids, tokens)

    def free(self, tables: list[Table]) -> None:
        """Return everything, group by group, the deepest block first."""
        for table in tables:
            self.pool.free(table.from_the_end())
        tables.clear()

    def detach(self, tables: list[Table]) -> list[Part]:
        """Close the tables but leave the blocks held; return them in the order of a deferred free.

        That is the deepest block of the last group first.
        """
        parts = [part for table in reversed(tables) for part in table.from_the_end()]
        tables.clear()
        return parts

    def retake(self, tables: list[Table]) -> None:
        """Log all blocks of a request as taken in this step: their content came from outside, and it runs."""
        for table in tables:
            self.pool.taken += block_numbers([*table.parts.values()])
