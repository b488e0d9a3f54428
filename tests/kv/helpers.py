"""What a block pool holds, block by block."""

from collections.abc import Iterable

from sim.kv.extent import Extent, Part
from sim.kv.pool import BlockPool

HASHES = 1 << 16
"""No hash of a test is as large as this."""


def blocks_of(parts: Iterable[Part]) -> set[tuple[Extent, int]]:
    """Every block of some parts."""
    return {(extent, position) for extent, start, stop in parts for position in range(start, stop)}


def copies(pool: BlockPool, group: int = 0) -> dict[int, int]:
    """How many blocks carry each cached hash of a group, by ascending hash."""
    return {
        block_id: len(found)
        for start, stop, found in pool.cached[group].segments(0, HASHES)
        if found
        for block_id in range(start, stop)
    }


def cached(pool: BlockPool, group: int = 0) -> list[int]:
    """The cached block ids of a group."""
    return [*copies(pool, group)]


def forget(pool: BlockPool, block_id: int, group: int) -> None:
    """Make a hash unfindable, as if its blocks had been evicted."""
    pool.cached[group].update(block_id, block_id + 1, lambda _: ())


def contents(pool: BlockPool) -> dict[str, object]:
    """All of a pool's state, in a form that compares."""
    return {
        "free": (pool.free_blocks, pool.free_queue()),
        "copies": [copies(pool, group) for group in range(len(pool.cached))],
        "changes": pool.changes,
        "events": [(event.stored, event.group, event.parent, [*event.blocks]) for event in pool.events],
        "taken": pool.taken,
    }
