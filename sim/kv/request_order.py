"""Whom a tier evicts under vLLM 0.33.0: keys have their place by the request that used them last.

A look-up touches nothing, and being written or read changes no place. Inside a request the tail goes before
the head.
"""

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush

from sim.kv.access import Access
from sim.kv.key_runs import Key
from sim.kv.offload import IDLE, POLICIES, ArcTier, OffloadTier

Rank = tuple[int, int]
"""The number of a request, and the place of a block in it, 0 or negative: the lowest goes first."""
_FEW = 64


class RankedTier(OffloadTier):
    """LRU by request. Every key has a rank; the idle key with the lowest is evicted, of equal ones that of
    the lowest group."""

    def __init__(self, capacity_blocks: int, name: str = "host") -> None:
        super().__init__(capacity_blocks, name)
        self._ranks: dict[Key, Rank] = {}
        self._heap: list[tuple[Rank, int, Key]] = []
        """Idle keys by rank; entries whose key has another rank by now, or is not idle, count for nothing."""
        self._next_rank = 0
        self._idle_keys = 0

    def touch(self, keys: Sequence[Key]) -> None:
        """These keys are used by nobody in particular; the first of them ends up most recent."""
        for key in reversed(keys):
            if key in self._ranks:
                self._place(key, self._fresh())

    def accessed(self, access: Access, keys: Sequence[Key]) -> None:
        """A request sees these keys for the first time: those that are here rank as its own."""
        number = self._number(access)
        for key in keys:
            rank = number, -access.position(key)
            known = self._ranks.get(key)
            if known is not None and known < rank:
                self._place(key, rank)

    def settled(self, access: Access) -> None:
        """A request has ended: all of its keys that are here become most recent, its head last."""
        for key in access.from_the_end():
            if key in self._ranks:
                self._place(key, self._fresh())

    def _number(self, access: Access) -> int:
        if not access.rank:
            self._next_rank += 1
            access.rank = self._next_rank
        return access.rank

    def _fresh(self) -> Rank:
        self._next_rank += 1
        return self._next_rank, 0

    def _place(self, key: Key, rank: Rank) -> None:
        self._ranks[key] = rank
        if self._states[key] == IDLE:
            self._queue(key)

    def _queue(self, key: Key) -> None:
        heappush(self._heap, (self._ranks[key], key[1], key))
        if len(self._heap) > max(_FEW, 4 * len(self._states)):
            self._heap = [
                (self._ranks[key], key[1], key) for key, state in self._states.items() if state == IDLE
            ]
            heapify(self._heap)

    def _victims(self, count: int, spared: Collection[Key]) -> list[Key] | None:
        if count > self._idle_keys:
            return None
        heap = self._heap
        victims: list[Key] = []
        chosen: set[Key] = set()
        aside: list[tuple[Rank, int, Key]] = []
        while heap and len(victims) < count:
            entry = heappop(heap)
            rank, _, key = entry
            if self._ranks.get(key) != rank or self._states[key] != IDLE or key in chosen:
                continue
            chosen.add(key)
            aside.append(entry)
            if key not in spared:
                victims.append(key)
        found = len(victims) == count
        for entry in aside:
            if not found or entry[2] in spared:
                heappush(heap, entry)
        if not found:
            return None
        for key in victims:
            del self._ranks[key]
        self._idle_keys -= count
        return victims

    def _inserted(self, keys: Sequence[Key]) -> None:
        access = self.stores_for
        for key in keys:
            if access is None:
                self._ranks[key] = self._fresh()
            else:
                self._ranks[key] = self._number(access), -access.position(key)

    def _idle(self, keys: Sequence[Key]) -> None:
        self._idle_keys += len(keys)
        for key in keys:
            self._queue(key)

    def _busy(self, keys: Sequence[Key]) -> None:
        self._idle_keys -= len(keys)


class RequestArcTier(ArcTier):
    """Adaptive replacement that counts a request as one access."""

    def missed(self, keys: Sequence[Key]) -> None:
        """A request offers keys that are absent, for the first time: ghosts move the target."""
        for key in reversed(keys):
            self._adapt(key)

    def settled(self, access: Access) -> None:
        """A request has ended: what it only stored stays recent, what it found ready becomes frequent."""
        for key in access.from_the_end():
            if key in access.inserted and key not in access.reused:
                cached = self._recent if key in self._recent else self._frequent
                if key in cached:
                    cached.move_to_end(key)
            elif key in access.reused:
                if key in self._recent:
                    del self._recent[key]
                    self._frequent[key] = None
                elif key in self._frequent:
                    self._frequent.move_to_end(key)

    def _last_resort(self) -> bool:
        return True


REQUEST_ORDERED: dict[str, type[OffloadTier]] = {"lru": RankedTier, "arc": RequestArcTier}


def tier_class(policy: str, *, by_request: bool) -> type[OffloadTier]:
    """Return what keeps the keys of a tier; `by_request`: as vLLM 0.33.0 does it, if it has the policy."""
    return REQUEST_ORDERED.get(policy, POLICIES[policy]) if by_request else POLICIES[policy]
