"""What an access to a tier's key is, and with that who is evicted.

0.28.0: whoever asks for keys touches them, whatever the answer, and once more when some are stored. 0.33.0:
a look-up touches nothing; a request counts once for each key that it loads, or offers and finds absent or
ready, and when it has ended all of them become recent (`sim.kv.access`, `sim.kv.request_order`).
"""

from collections.abc import Sequence

from sim.engine.offload_state import OffloadState
from sim.engine.rule_set import Version
from sim.kv.access import Access
from sim.kv.group_spec import GroupSpec
from sim.kv.key_runs import Key
from sim.kv.offload import IDLE, OffloadTier
from sim.kv.tier_hit import read_blocks

Room = tuple[list[Key], list[Key]] | None
"""Keys to write, keys evicted; None: there is no room."""


class Touches:
    """vLLM 0.28.0, for one engine's `tiers`; `groups` are those of its cache."""

    __slots__ = ("_groups", "_read", "_tiers", "tier")

    def __init__(self, tiers: Sequence[OffloadTier], groups: Sequence[GroupSpec]) -> None:
        self.tier = tiers[0]
        self._tiers = tiers
        self._groups = groups
        self._read = [read_blocks(spec) for spec in groups]

    def looked_up(self, tracked: OffloadState) -> None:
        """A request has asked for its keys."""
        for tier in self._tiers:
            for spec, read, keys in zip(self._groups, self._read, tracked.keys, strict=True):
                if read is None:
                    tier.touch(keys)
                else:
                    tier.touch(keys[max(tracked.hit_tokens // spec.block_tokens - read, 0) :])

    def loads(self, tracked: OffloadState, keys: Sequence[Key]) -> None:
        """A request begins to load these keys."""

    def store(self, tracked: OffloadState, keys: Sequence[Key]) -> Room:
        """Begin to write the absent ones of the keys that a request offers, all or nothing."""
        if all(self.tier.state(key) is not None for key in keys):
            return [], []
        return self.tier.store(keys)

    def stored(self, tracked: OffloadState) -> None:
        """Some keys of a request begin to be written."""
        self.looked_up(tracked)

    def ended(self, tracked: OffloadState) -> None:
        """A request has ended, and nothing more is stored for it."""


class RequestAccesses(Touches):
    """vLLM 0.33.0."""

    __slots__ = ()

    def looked_up(self, tracked: OffloadState) -> None:
        """A request has asked for its keys."""

    def loads(self, tracked: OffloadState, keys: Sequence[Key]) -> None:
        """A request begins to load these keys."""
        self._see(tracked, keys, keys)

    def store(self, tracked: OffloadState, keys: Sequence[Key]) -> Room:
        """Begin to write the absent ones of the keys that a request offers, all or nothing."""
        tier, access = self.tier, self._access(tracked)
        states = [tier.state(key) for key in keys]
        absent = [key for key, state in zip(keys, states, strict=True) if state is None]
        ready = [key for key, state in zip(keys, states, strict=True) if state is not None and state >= IDLE]
        missed = [key for key in absent if key not in access.missed]
        if missed:
            tier.missed(missed)
            access.missed.update(missed)
        seen = {*absent, *ready}
        self._see(tracked, [key for key in keys if key in seen], ready)
        if not absent:
            return [], []
        tier.stores_for = access
        room = tier.store(keys)
        tier.stores_for = None
        if room is not None:
            access.inserted.update(room[0])
        return room

    def stored(self, tracked: OffloadState) -> None:
        """Some keys of a request begin to be written."""

    def ended(self, tracked: OffloadState) -> None:
        """A request has ended, and nothing more is stored for it."""
        if tracked.access is not None:
            self.tier.settled(tracked.access)

    def _see(self, tracked: OffloadState, keys: Sequence[Key], reused: Sequence[Key]) -> None:
        access = self._access(tracked)
        fresh = access.unseen(keys)
        if fresh:
            access.see(tracked.ends_of(fresh))
            self.tier.accessed(access, fresh)
        access.reuse(reused)

    def _access(self, tracked: OffloadState) -> Access:
        if tracked.access is None:
            tracked.access = Access()
        return tracked.access


def tier_recency(version: Version, tiers: Sequence[OffloadTier], groups: Sequence[GroupSpec]) -> Touches:
    """Return the rule of a release."""
    return Touches(tiers, groups) if version == "0.28" else RequestAccesses(tiers, groups)
