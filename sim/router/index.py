"""Which prefix is on which worker, as far as the KV events say: for all workers at once."""

from collections.abc import Sequence
from typing import NamedTuple

from sim.kv.events import Tier
from sim.kv.interval_map import IntervalMap
from sim.kv.runs import BlockRuns, runs_of
from sim.router.columns import Column
from sim.router.ranks import depths, follow, joins, leaves


class Overlap(NamedTuple):
    """Blocks of one prompt that each rank holds; the number 0 for a tier in which nobody has a block.

    Each is a run without a gap: `device` from the first block on, `host` from where device ends, `disk` from
    where host ends.
    """

    device: Column
    host: Column
    disk: Column


class PrefixIndex:
    """A set of ranks for every block and tier, folded from KV events (Dynamo 1.5.0).

    A block id stands for the whole prefix up to the block's end, so two equal ids are two equal prefixes.
    A rank holds a block or does not: stored twice and removed once is removed.
    """

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._holders: dict[Tier, IntervalMap[int]] = {
            "device": IntervalMap(0),
            "host": IntervalMap(0),
            "disk": IntervalMap(0),
        }
        self._join, self._leave = joins(ranks), leaves(ranks)

    def stored(self, rank: int, parent: int | None, blocks: Sequence[int], tier: Tier) -> bool:
        """Add blocks that follow `parent` (None: the first block of a prompt); return whether it counted.

        Dynamo keeps the device tier as a tree for each rank and drops blocks whose parent is not in it. The
        lower tiers are kept as edges, which wait for the blocks before them.
        """
        holders = self._holders[tier]
        if tier == "device" and parent is not None and not holders.get(parent) >> rank & 1:
            return False
        for run in runs_of(blocks):
            holders.update(run.start, run.stop, self._join[rank])
        return True

    def removed(self, rank: int, blocks: Sequence[int], tier: Tier) -> None:
        """Remove blocks from one tier; those that the rank does not hold are ignored."""
        holders = self._holders[tier]
        for run in runs_of(blocks):
            holders.update(run.start, run.stop, self._leave[rank])

    def cleared(self, rank: int) -> None:
        """Remove everything that the rank holds, in all tiers."""
        for holders in self._holders.values():
            for start, stop, held in holders.changed():
                if held >> rank & 1:
                    holders.update(start, stop, self._leave[rank])

    def held(self, tier: Tier) -> list[tuple[int, int, int]]:
        """Return (start, stop, set of ranks) of the blocks that some rank holds in a tier, in no order."""
        return self._holders[tier].changed()

    def overlap(self, blocks: BlockRuns, among: int) -> Overlap:
        """Return what the ranks of the set `among` hold of this prompt; the others' entries mean nothing."""
        device = follow(self._holders["device"], blocks, [(0, among)])
        host = follow(self._holders["host"], blocks, device)
        disk = follow(self._holders["disk"], blocks, host)
        device_reach = depths(device, self._ranks)
        host_reach = device_reach if host is device else depths(host, self._ranks)
        disk_reach = host_reach if disk is host else depths(disk, self._ranks)
        return Overlap(
            device_reach,
            0 if host is device else host_reach - device_reach,
            0 if disk is host else disk_reach - host_reach,
        )
