"""A tier of one engine below its pool: which keys it holds, and whom it evicts (LRU or ARC, vLLM 0.28.0; as
0.33.0 has it: `sim.kv.request_order`).

A key is (hash, group) and takes one block. It is being written until its store completes, then idle, and
being read while it is copied. Only idle keys can be evicted. Asking (`state`) is not touching (`touch`).
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from sim.kv.access import Access
from sim.kv.key_runs import Key, runs_of_keys
from sim.kv.lru_order import LruOrder

WRITING = -1
IDLE = 0
READING = 1
"""By one reader, or by that many."""


class OffloadTier(ABC):
    """`capacity_blocks` keys at most; a subclass keeps the order in which they are evicted."""

    def __init__(self, capacity_blocks: int, name: str = "host") -> None:
        self.capacity_blocks = capacity_blocks
        self.name = name
        """What KV events call it."""
        self.changes = 0
        """Counts changes of content: while it stands still, asking and touching the same keys once more gives
        the same answer and leaves the same order."""
        self.reading: set[Key] = set()
        """Keys that are loaded into GPU memory."""
        self.stores_for: Access | None = None
        """The request for which keys are stored just now; None: for nobody in particular."""
        self._states: dict[Key, int] = {}
        self.state: Callable[[Key], int | None] = self._states.get
        """Return WRITING, IDLE, or how many read it, READING or more; None if the key is absent."""

    @property
    def used_blocks(self) -> int:
        """Blocks that hold a key, ready or being written."""
        return len(self._states)

    # What a request does, for rules by which it counts as one access (vLLM 0.33.0).

    def missed(self, keys: Sequence[Key]) -> None:
        """A request offers keys that are absent, for the first time."""
        self.touch(keys)

    def accessed(self, access: Access, keys: Sequence[Key]) -> None:  # noqa: B027 - most ignore it
        """A request sees these keys for the first time: it loads them, or offers them to be stored."""

    def settled(self, access: Access) -> None:
        """A request has ended, and nothing more is stored for it."""
        self.touch([*reversed(access.from_the_end())])

    # What becomes of keys.

    def store(self, keys: Sequence[Key]) -> tuple[list[Key], list[Key]] | None:
        """Make room for the absent ones of `keys` and begin to write them.

        Returns (keys to write, keys evicted); None, and nothing changed, if there is no room: keys being
        written or read, and `keys` themselves, are never evicted.
        """
        fresh = [key for key in keys if key not in self._states]
        missing = self.used_blocks + len(fresh) - self.capacity_blocks
        evicted: list[Key] = []
        if missing > 0:
            victims = self._victims(missing, set(keys))
            if victims is None:
                return None
            evicted = victims
            for key in evicted:
                del self._states[key]
        self._states.update(dict.fromkeys(fresh, WRITING))
        self._inserted(fresh)
        self.changes += 1
        return fresh, evicted

    def stored(self, keys: Sequence[Key]) -> None:
        """The copy to the tier is done: the keys are ready, in this order."""
        self._states.update(dict.fromkeys(keys, IDLE))
        self._idle(keys)
        self.changes += 1

    def load(self, keys: Collection[Key]) -> None:
        """Begin to load these ready keys: whoever wants a key that is being loaded asks again later."""
        self.reading.update(keys)
        self.pin(keys)

    def loaded(self, keys: Collection[Key]) -> None:
        """The copy to GPU memory is done, in this order."""
        self.reading.difference_update(keys)
        self.unpin(keys)

    def pin(self, keys: Iterable[Key]) -> None:
        """Begin to read these ready keys: none of them can be evicted."""
        states = self._states
        busy: list[Key] = []
        for key in keys:
            readers = states[key]
            states[key] = readers + READING
            if readers == IDLE:
                busy.append(key)
        self._busy(busy)
        self.changes += 1

    def unpin(self, keys: Iterable[Key]) -> None:
        """One that read them has ended, in this order."""
        states = self._states
        idle: list[Key] = []
        for key in keys:
            readers = states[key] - READING
            states[key] = readers
            if readers == IDLE:
                idle.append(key)
        self._idle(idle)
        self.changes += 1

    @abstractmethod
    def touch(self, keys: Sequence[Key]) -> None:
        """These keys were asked for; the last of them first, so that the first ends up most recent."""

    @abstractmethod
    def _victims(self, count: int, spared: Collection[Key]) -> list[Key] | None:
        """Choose and forget `count` idle keys outside `spared`; None, and nothing changed, if too few."""

    @abstractmethod
    def _inserted(self, keys: Sequence[Key]) -> None:
        """Keys begin to be written."""

    @abstractmethod
    def _idle(self, keys: Sequence[Key]) -> None:
        """Keys were written or read, in this order."""

    @abstractmethod
    def _busy(self, keys: Sequence[Key]) -> None:
        """Idle keys begin to be read."""


class LruTier(OffloadTier):
    """Evicts the key that became idle, or was touched while idle, the longest ago."""

    def __init__(self, capacity_blocks: int, name: str = "host") -> None:
        super().__init__(capacity_blocks, name)
        self._order = LruOrder()

    def touch(self, keys: Sequence[Key]) -> None:
        """Idle keys move; where busy ones stand does not matter."""
        touch = self._order.touch
        for run, group in reversed(runs_of_keys(keys)):
            touch(group, run.start, run.stop)

    def _victims(self, count: int, spared: Collection[Key]) -> list[Key] | None:
        return self._order.take(count, self._states, IDLE, spared)

    def _inserted(self, keys: Sequence[Key]) -> None:
        """A key enters the order when it is idle."""

    def _idle(self, keys: Sequence[Key]) -> None:
        for run, group in runs_of_keys(keys):
            self._order.append(group, run.start, run.stop)

    def _busy(self, keys: Sequence[Key]) -> None:
        """Busy keys count for nothing in the order."""


class ArcTier(OffloadTier):
    """Adaptive replacement: keys seen once (`_recent`) and again (`_frequent`), and ghosts of both.

    `_target` is the wanted size of `_recent`; hits on ghosts move it.
    """

    def __init__(self, capacity_blocks: int, name: str = "host") -> None:
        super().__init__(capacity_blocks, name)
        self._recent: OrderedDict[Key, None] = OrderedDict()
        self._frequent: OrderedDict[Key, None] = OrderedDict()
        self._recent_ghosts: OrderedDict[Key, None] = OrderedDict()
        self._frequent_ghosts: OrderedDict[Key, None] = OrderedDict()
        self._target = 0.0

    def touch(self, keys: Sequence[Key]) -> None:
        """Promote ready keys; a ghost moves the target every time it is asked for."""
        for key in reversed(keys):
            if key in self._recent:
                if self._states[key] == WRITING:
                    self._recent.move_to_end(key)
                else:
                    del self._recent[key]
                    self._frequent[key] = None
            elif key in self._frequent:
                self._frequent.move_to_end(key)
            else:
                self._adapt(key)

    def _adapt(self, key: Key) -> None:
        """A ghost moves the target."""
        if key in self._recent_ghosts:
            step = max(1.0, len(self._frequent_ghosts) / len(self._recent_ghosts))
            self._move_target(min(self._target + step, self.capacity_blocks))
            self._recent_ghosts.move_to_end(key)
        elif key in self._frequent_ghosts:
            step = max(1.0, len(self._recent_ghosts) / len(self._frequent_ghosts))
            self._move_target(max(self._target - step, 0.0))
            self._frequent_ghosts.move_to_end(key)

    def _move_target(self, target: float) -> None:
        if target != self._target:
            self._target = target
            self.changes += 1

    def _victims(self, count: int, spared: Collection[Key]) -> list[Key] | None:
        recent, frequent = self._idle_of(self._recent, spared), self._idle_of(self._frequent, spared)
        recent_size = len(self._recent)
        chosen: list[tuple[Key, bool]] = []
        while len(chosen) < count:
            key = next(recent, None) if recent_size >= int(self._target) else None
            from_recent = key is not None
            if key is None:
                key = next(frequent, None)
            if key is None and self._last_resort():
                key = next(recent, None)
                from_recent = key is not None
            if key is None:
                return None
            recent_size -= from_recent
            chosen.append((key, from_recent))
        for key, from_recent in chosen:
            cached, ghosts = (
                (self._recent, self._recent_ghosts)
                if from_recent
                else (self._frequent, self._frequent_ghosts)
            )
            del cached[key]
            ghosts[key] = None
        for ghosts in (self._recent_ghosts, self._frequent_ghosts):
            while len(ghosts) > self.capacity_blocks:
                ghosts.popitem(last=False)
        return [key for key, _ in chosen]

    def _last_resort(self) -> bool:
        """Whether the recent keys are asked once more when the frequent ones have none to give."""
        return False

    def _idle_of(self, keys: Iterable[Key], spared: Collection[Key]) -> Iterator[Key]:
        for key in keys:
            if key not in spared and self._states[key] == IDLE:
                yield key

    def _inserted(self, keys: Sequence[Key]) -> None:
        for key in keys:
            self._recent[key] = None
            self._recent_ghosts.pop(key, None)
            self._frequent_ghosts.pop(key, None)

    def _idle(self, keys: Sequence[Key]) -> None:
        """Keys keep their place, busy or not."""

    def _busy(self, keys: Sequence[Key]) -> None:
        """Keys keep their place, busy or not."""


POLICIES: dict[str, type[OffloadTier]] = {
    "lru": LruTier,
    "arc": ArcTier,
}
"""Every policy that has a name; those that settings may have follow from it."""
