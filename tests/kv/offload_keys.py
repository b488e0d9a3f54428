"""Keys of a tier, by number, how they get there and in which order they go; an LRU key by key."""

from collections import OrderedDict
from collections.abc import Collection, Sequence

from sim.kv.key_runs import Key
from sim.kv.offload import IDLE, LruTier, OffloadTier


def keys(*numbers: int) -> list[Key]:
    return [(number, 0) for number in numbers]


def filled(tier: OffloadTier, *numbers: int) -> None:
    for key in keys(*numbers):
        assert tier.store([key]) == ([key], [])
        tier.stored([key])


def order_of(tier: LruTier) -> list[Key]:
    """Return the idle keys, the first to go first."""
    order, found = tier._order, list[Key]()
    run = order._end.after
    while run is not order._end:
        blocks = range(run.start, run.stop)
        keys = [(block, run.group) for block in (blocks if run.rising else reversed(blocks))]
        found += [key for key in keys if tier.state(key) == IDLE]
        run = run.after
    return found


class KeyByKeyTier(OffloadTier):
    """What an LRU is, an entry a key: that of runs has to decide the same."""

    def __init__(self, capacity_blocks: int, name: str = "host") -> None:
        super().__init__(capacity_blocks, name)
        self.order: OrderedDict[Key, None] = OrderedDict()

    def touch(self, keys: Sequence[Key]) -> None:
        for key in reversed(keys):
            if key in self.order:
                self.order.move_to_end(key)

    def _victims(self, count: int, spared: Collection[Key]) -> list[Key] | None:
        victims = [key for key in self.order if key not in spared][:count]
        if len(victims) < count:
            return None
        for key in victims:
            del self.order[key]
        return victims

    def _inserted(self, keys: Sequence[Key]) -> None: ...

    def _idle(self, keys: Sequence[Key]) -> None:
        self.order.update(dict.fromkeys(keys))

    def _busy(self, keys: Sequence[Key]) -> None:
        for key in keys:
            del self.order[key]
