"""The KV cache of one engine: prefix lookup and allocation across its cache groups (vLLM 0.28.0).

A plain model has one attention group. A hybrid model has recurrent-state groups first and then its attention
group; all take blocks of equal bytes from one pool, and a hit needs them all at the same boundary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sim.kv.groups import AttentionGroup, Group, RecurrentGroup, Table
from sim.kv.pool import BlockPool


@dataclass(frozen=True, slots=True)
class Hit:
    """What the cache offers a prompt. Blocks are listed a group; absent positions (recurrent) are left out."""

    tokens: int = 0
    length_blocks: int = 0
    blocks: tuple[tuple[int, ...], ...] = ()
    attention_tokens: int = 0
    """Length of the attention run alone: beyond `tokens` it lacks a state checkpoint."""


NO_HIT = Hit()


class KvCache:
    """Block pool and groups of one engine. A request's `tables` (one a group) are empty while it holds nothing.

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

    def begin_step(self) -> None:
        """Forget what belongs to one step: fresh checkpoints and the log of blocks taken."""
        for group in self.recurrent:
            group.made_this_step.clear()
        self.pool.taken.clear()

    def lookup(self, hashes: Sequence[int], num_tokens: int) -> Hit:
        """Return the longest usable hit of a request with `num_tokens` known tokens; changes nothing.

        At least one token is left to compute. A hybrid hit is the deepest boundary within the attention run at
        which every recurrent group has a checkpoint.
        """
        limit = (num_tokens - 1) // self.block_tokens
        run = self._attention_run(hashes, limit)
        if not self.recurrent:
            length, blocks = len(run), (tuple(run),)
        else:
            length, states = self._deepest_checkpoint(hashes, len(run))
            blocks = (*((state,) for state in states), tuple(run[:length])) if length else ()
        return Hit(length * self.block_tokens, length, blocks, len(run) * self.block_tokens)

    def _attention_run(self, hashes: Sequence[int], limit: int) -> list[int]:
        run: list[int] = []
        for position in range(min(limit, len(hashes))):
            block = self.pool.lookup(hashes[position], self.attention_group)
            if block is None:
                break
            run.append(block)
        return run

    def _deepest_checkpoint(self, hashes: Sequence[int], run: int) -> tuple[int, list[int]]:
        groups = range(len(self.recurrent))
        for position in range(run - 1, -1, -1):
            states: list[int] = []
            for group in groups:
                state = self.pool.lookup(hashes[position], group)
                if state is None:
                    break
                states.append(state)
            else:
                return position + 1, states
        return 0, []

    def need(self, tables: list[Table], tokens: int, hit: Hit = NO_HIT) -> int | None:
        """Free blocks it takes for `tables` to cover `tokens`; None if not possible in this step."""
        total = 0
        for index, group in enumerate(self.groups):
            table = tables[index] if tables else Table()
            blocks = hit.blocks[index] if hit.blocks else ()
            need = group.need(table, tokens, blocks, hit.length_blocks)
            if need is None:
                return None
            total += need
        return total

    def skip(self, tables: list[Table], processed_tokens: int) -> None:
        """Return the blocks that no later step of this request reads."""
        for group, table in zip(self.recurrent, tables, strict=False):
            group.skip(table, processed_tokens)

    def admit(self, tables: list[Table], hit: Hit, covered_tokens: int) -> None:
        """Open the tables of a request: hold the hit, and blocks for what arrives from outside up to `covered`."""
        tables[:] = [Table() for _ in self.groups]
        for index, (group, table) in enumerate(zip(self.groups, tables, strict=True)):
            blocks = hit.blocks[index] if hit.blocks else ()
            group.hold_hits(table, blocks, hit.length_blocks, covered_tokens)
        if covered_tokens > hit.tokens:
            self.extend(tables, covered_tokens)

    def extend(self, tables: list[Table], tokens: int) -> None:
        """Allocate, group by group, until `tokens` are covered; the caller has asked `need`."""
        for group, table in zip(self.groups, tables, strict=True):
            group.extend(table, tokens)

    def register(self, tables: list[Table], hashes: Sequence[int], tokens: int) -> None:
        """Make every full block below `tokens` findable, in every group."""
        for group, table in zip(self.groups, tables, strict=True):
            group.register(table, hashes, tokens)

    def free(self, tables: list[Table]) -> None:
        """Return everything, group by group, the deepest block first."""
        for table in tables:
            self.pool.free([*reversed(table.blocks.values())])
        tables.clear()

    def take_all(self, tables: list[Table]) -> list[int]:
        """Close the tables but leave the blocks held; returns them in the order of a deferred free."""
        blocks = [block for table in tables for block in table.blocks.values()]
        tables.clear()
        blocks.reverse()
        return blocks
