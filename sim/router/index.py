"""Which prefix is on which worker, as far as the KV events say: for all workers at once."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from sim.router.ranks import depths, follow

Tier = Literal["device", "host", "disk"]


class Overlap(NamedTuple):
    """Blocks of one prompt that each rank holds, a list entry a rank.

    Each is a run without a gap: `device` from the first block on, `host` from where device ends, `disk` from
    where host ends.
    """

    device: list[int]
    host: list[int]
    disk: list[int]


class PrefixIndex:
    """A set of ranks for every block and tier, folded from KV events (Dynamo 1.5.0).

    A block id stands for the whole prefix up to the block's end, so two equal ids are two equal prefixes.
    A rank holds a block or does not: stored twice and removed once is removed.
    """

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._holders: dict[Tier, dict[int, int]] = {"device": {}, "host": {}, "disk": {}}

    def stored(self, rank: int, parent: int | None, blocks: Sequence[int], tier: Tier) -> bool:
        """Add blocks that follow `parent` (None: the first block of a prompt); return whether it counted.

        Dynamo keeps the device tier as a tree for each rank and drops blocks whose parent is not in it. The
        lower tiers are kept as edges, which wait for the blocks before them.
        """
        holders = self._holders[tier]
        bit = 1 << rank
        if tier == "device" and parent is not None and not holders.get(parent, 0) & bit:
            return False
        for block in blocks:
            holders[block] = holders.get(block, 0) | bit
        return True

    def removed(self, rank: int, blocks: Sequence[int], tier: Tier) -> None:
        """Remove blocks from one tier; those that the rank does not hold are ignored."""
        for block in blocks:
            self._drop(self._holders[tier], block, 1 << rank)

    def cleared(self, rank: int) -> None:
        """Remove everything that the rank holds, in all tiers."""
        for holders in self._holders.values():
            for block in list(holders):
                self._drop(holders, block, 1 << rank)

    @staticmethod
    def _drop(holders: dict[int, int], block: int, bit: int) -> None:
        left = holders.get(block, 0) & ~bit
        if left:
            holders[block] = left
        else:
            holders.pop(block, None)

    def overlap(self, blocks: Sequence[int], among: int) -> Overlap:
        """Return what the ranks of the set `among` hold of this prompt; the others' entries mean nothing."""
        device = follow(self._holders["device"], blocks, [(0, among)])
        host = follow(self._holders["host"], blocks, device)
        disk = follow(self._holders["disk"], blocks, host)
        device_reach = depths(device, self._ranks)
        host_reach = device_reach if host is device else depths(host, self._ranks)
        disk_reach = host_reach if disk is host else depths(disk, self._ranks)
        return Overlap(device_reach, _beyond(host_reach, device_reach), _beyond(disk_reach, host_reach))


def _beyond(reach: list[int], start: list[int]) -> list[int]:
    if reach is start:
        return [0] * len(reach)
    return [end - begin for end, begin in zip(reach, start, strict=True)]
