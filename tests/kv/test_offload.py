"""In whom LRU and ARC evict."""

from sim.kv.offload import POLICIES, ArcTier, LruTier
from tests.kv.offload_keys import filled, keys


class TestLru:
    def test_order_is_that_of_becoming_idle(self) -> None:
        tier = LruTier(3)
        tier.store(keys(1, 2, 3))
        for key in keys(3, 1, 2):
            tier.stored([key])
        assert tier.store(keys(4)) == (keys(4), keys(3))

    def test_a_load_makes_its_keys_recent(self) -> None:
        tier = LruTier(3)
        filled(tier, 1, 2, 3)
        tier.load(keys(1))
        tier.loaded(keys(1))
        assert tier.store(keys(4, 5)) == (keys(4, 5), keys(2, 3))

    def test_touching_a_busy_key_does_not_move_it(self) -> None:
        tier = LruTier(3)
        filled(tier, 1, 2)
        tier.store(keys(3))
        tier.touch(keys(3))
        tier.stored(keys(3))
        tier.touch(keys(1))
        assert tier.store(keys(4, 5)) == (keys(4, 5), keys(2, 3))


class TestArc:
    def test_keys_seen_once_go_first(self) -> None:
        tier = ArcTier(3)
        filled(tier, 1, 2, 3)
        tier.touch(keys(1, 2))  # seen again: frequent
        assert tier.store(keys(4, 5)) == (keys(4, 5), keys(3, 2))

    def test_a_key_touched_while_it_is_written_is_not_seen_again(self) -> None:
        tier = ArcTier(3)
        tier.store(keys(1))
        filled(tier, 2, 3)
        tier.touch(keys(1))
        tier.stored(keys(1))
        assert tier.store(keys(4, 5, 6)) == (keys(4, 5, 6), keys(2, 3, 1))

    def test_ghosts_of_keys_seen_once_protect_their_kind(self) -> None:
        tier = ArcTier(3)
        filled(tier, 1, 2, 3)
        tier.touch(keys(2))  # 2 is frequent; 1 and 3 were seen once
        tier.store(keys(4))  # evicts 1, which becomes a ghost
        tier.stored(keys(4))
        tier.touch(keys(1, 1, 1))  # wanted size of what was seen once: 3, more than the 2 there are
        assert tier.store(keys(5)) == (keys(5), keys(2))

    def test_a_kind_of_exactly_its_wanted_size_still_gives(self) -> None:
        tier = ArcTier(3)
        filled(tier, 1, 2, 3)
        tier.store(keys(4))  # evicts 1
        tier.stored(keys(4))
        tier.touch(keys(1))  # wanted size of what was seen once: 1
        tier.touch(keys(2, 3))  # frequent, so that 4 alone was seen once
        assert tier.store(keys(5)) == (keys(5), keys(4))

    def test_ghosts_of_frequent_keys_take_it_back(self) -> None:
        tier = ArcTier(3)
        filled(tier, 1, 2, 3)
        tier.touch(keys(2))
        tier.store(keys(4))
        tier.stored(keys(4))
        tier.touch(keys(1, 1, 1))
        tier.store(keys(5))  # evicts 2, a frequent key
        tier.stored(keys(5))
        tier.touch(keys(2, 2))  # wanted size: 1
        tier.touch(keys(3))  # frequent
        assert tier.store(keys(6)) == (keys(6), keys(4))

    def test_ghosts_are_forgotten_the_longest_unasked_first(self) -> None:
        tier = ArcTier(2)
        filled(tier, 1, 2)
        for number in (3, 4):
            tier.store(keys(number))
            tier.stored(keys(number))  # ghosts: 1, then 2
        tier.touch(keys(1))  # 1 is asked for again
        tier.store(keys(5))  # evicts 3: of three ghosts the capacity keeps 1 and 3
        before = tier.changes
        tier.touch(keys(2))
        assert tier.changes == before
        tier.touch(keys(1))
        assert tier.changes > before

    def test_asking_for_a_ghost_is_a_change_until_the_bound_is_reached(self) -> None:
        tier = ArcTier(2)
        filled(tier, 1, 2)
        tier.store(keys(3))
        seen = []
        for _ in range(4):
            before = tier.changes
            tier.touch(keys(1))
            seen.append(tier.changes > before)
        assert seen == [True, True, False, False]


def test_policies_by_name() -> None:
    assert (POLICIES["lru"], POLICIES["arc"]) == (LruTier, ArcTier)
