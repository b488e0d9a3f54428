"""What the OffloadingConnector remembers of one request: keys, blocks, and how far they are stored."""

from collections.abc import Iterable, Sequence
from itertools import repeat

from sim.kv.groups import Table
from sim.kv.offload import Key
from sim.kv.pool import NULL_BLOCK


class OffloadState:
    """Lists of a request by cache group and position (vLLM 0.28.0's RequestOffloadState)."""

    __slots__ = ("blocks", "considered", "ended", "hit_blocks", "jobs", "keys")

    def __init__(self, groups: int) -> None:
        self.keys: list[list[Key]] = [[] for _ in range(groups)]
        """Keys of the full blocks of all known tokens, generated ones too."""
        self.blocks: list[list[int]] = [[] for _ in range(groups)]
        """GPU blocks as they were given to the request, NULL_BLOCK where there is none.

        A recurrent state that went back to the pool stays here until somebody takes its block.
        """
        self.considered = 0
        """Positions that were stored, loaded or found present."""
        self.hit_blocks = 0
        """Length of its hit, GPU memory and tiers together."""
        self.jobs: set[int] = set()
        self.ended = False

    def extend_keys(self, block_ids: Sequence[int], positions: int) -> None:
        """Name the keys of the first `positions` blocks."""
        known = len(self.keys[0])
        if known < positions:
            fresh = [*block_ids[known:positions]]
            for group, keys in enumerate(self.keys):
                keys.extend(zip(fresh, repeat(group)))

    def follow(self, tables: Iterable[Table]) -> None:
        """Take down the positions that the request's tables have gained."""
        for blocks, table in zip(self.blocks, tables, strict=True):
            if len(blocks) < table.length:
                blocks.extend(table.numbers(len(blocks), table.length))

    def lose_states(self, taken: set[int]) -> None:
        """Forget the recurrent states that were not stored before their block was taken."""
        for blocks in self.blocks[:-1]:
            for position in range(self.considered, len(blocks)):
                if blocks[position] in taken:
                    blocks[position] = NULL_BLOCK

    def sources(self, start: int, end: int) -> dict[Key, int]:
        """What can be stored of these positions."""
        return {
            key: block
            for keys, blocks in zip(self.keys, self.blocks, strict=True)
            for key, block in zip(keys[start:end], blocks[start:end], strict=True)
            if block != NULL_BLOCK
        }
