"""Which worker holds, or ever held, which attention block, in GPU memory or in its CPU tier: the truth.

The router's index is what events made it believe; this is what the caches did, at the moment they did it.
A block id stands for the whole prefix up to the block's end, so equal ids are equal contents.
"""

from collections.abc import Sequence

TIERS = ("GPU", "CPU")


class Holders:
    """Copies of blocks by worker and tier. One block may have several copies in one tier (vLLM 0.28.0)."""

    def __init__(self, workers: int) -> None:
        self._copies: dict[str, list[dict[int, int]]] = {tier: [{} for _ in range(workers)] for tier in TIERS}
        self._now: dict[int, int] = {}
        self._ever: dict[int, int] = {}

    def stored(self, worker: int, tier: str, blocks: Sequence[int]) -> None:
        """Count one more copy of each block."""
        copies, bit = self._copies[tier][worker], 1 << worker
        for block in blocks:
            copies[block] = copies.get(block, 0) + 1
            self._now[block] = self._now.get(block, 0) | bit
            self._ever[block] = self._ever.get(block, 0) | bit

    def removed(self, worker: int, tier: str, blocks: Sequence[int]) -> None:
        """Count one copy less of each block.

        Raises:
            ValueError: the worker has no copy there to lose; the events do not tell the truth.

        """
        copies = self._copies[tier][worker]
        for block in blocks:
            left = copies.get(block, 0) - 1
            if left < 0:
                raise ValueError(f"worker {worker} lost block {block}, of which its {tier} tier has no copy")
            if left:
                copies[block] = left
            else:
                del copies[block]
                self._forget(worker, block)

    def _forget(self, worker: int, block: int) -> None:
        if block in self._copies["GPU"][worker] or block in self._copies["CPU"][worker]:
            return
        others = self._now[block] & ~(1 << worker)
        if others:
            self._now[block] = others
        else:
            del self._now[block]

    def holds(self, worker: int, block: int) -> bool:
        """Whether the worker has the block now."""
        return self._now.get(block, 0) >> worker & 1 == 1

    def held(self, worker: int, block: int) -> bool:
        """Whether the worker has the block now or had it at any time."""
        return self._ever.get(block, 0) >> worker & 1 == 1

    def elsewhere(self, worker: int, block: int) -> bool:
        """Whether another worker has the block now."""
        return self._now.get(block, 0) & ~(1 << worker) != 0
