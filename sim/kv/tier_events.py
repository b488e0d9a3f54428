"""What a tier below the GPU's pool says of its keys, as KV events (vLLM 0.28.0)."""

from collections.abc import Iterable, Mapping

from sim.kv.events import KvEvent
from sim.kv.key_runs import Key


def stored_events(tier: str, keys: Iterable[Key], parents: Mapping[Key, int | None]) -> list[KvEvent]:
    """Return an event for each key that was stored; `parents` has the hash before each attention key."""
    return [KvEvent(True, key[1], parents.get(key), [key[0]], tier) for key in keys]


def removed_events(tier: str, keys: Iterable[Key]) -> list[KvEvent]:
    """Return an event for each cache group of which keys were evicted."""
    by_group: dict[int, list[int]] = {}
    for block_id, group in keys:
        by_group.setdefault(group, []).append(block_id)
    return [KvEvent(False, group, None, block_ids, tier) for group, block_ids in by_group.items()]
