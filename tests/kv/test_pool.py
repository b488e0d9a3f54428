"""The block pool: the order of the free queue, eviction, copies of one content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kv.events import KvEvent
from sim.kv.pool import NULL_BLOCK, BlockPool


def removed(block_hash: int, group: int = 0) -> KvEvent:
    return KvEvent(False, group, None, [block_hash], "GPU")


def test_the_null_block_is_never_given_out() -> None:
    pool = BlockPool(4, 1)
    assert pool.free_blocks == 3
    assert pool.allocate(3) == [1, 2, 3]
    assert pool.free_blocks == 0
    assert pool.free_queue() == []


def test_more_than_is_free_is_refused_and_leaves_no_trace() -> None:
    pool = BlockPool(4, 1)
    pool.allocate(1)
    with pytest.raises(ValueError, match="3 blocks asked for, 2 free"):
        pool.allocate(3)
    assert pool.free_queue() == [2, 3]
    assert (pool.used_blocks, pool.free_blocks) == (1, 2)


def test_a_pool_without_usable_blocks_is_refused() -> None:
    with pytest.raises(ValueError, match="not 1 blocks"):
        BlockPool(1, 1)


def test_blocks_without_a_hash_return_to_the_front_and_cached_ones_to_the_back() -> None:
    pool = BlockPool(8, 1)
    blocks = pool.allocate(5)
    pool.register(2, 20, 0)
    pool.register(4, 40, 0)
    pool.free(reversed(blocks))  # 5 4 3 2 1
    assert pool.free_queue() == [5, 3, 1, 6, 7, 4, 2]


def test_allocation_evicts_from_the_front_and_says_so() -> None:
    pool = BlockPool(3, 2)
    pool.allocate(2)
    pool.register(1, 10, 0)
    pool.register(2, 20, 1)
    pool.free([2, 1])
    assert pool.events == []
    assert pool.allocate(2) == [2, 1]
    assert pool.events == [removed(20, 1), removed(10)]
    assert pool.cached == [{}, {}]
    assert pool.hash_of(1) is None


def test_touching_takes_a_block_out_of_the_queue_once() -> None:
    pool = BlockPool(4, 1)
    pool.allocate(1)
    pool.register(1, 10, 0)
    pool.free([1])
    assert pool.count_free([1]) == 1
    pool.touch([1])
    pool.touch([1])
    assert pool.count_free([1]) == 0
    assert pool.free_queue() == [2, 3]
    pool.free([1])
    assert pool.free_queue() == [2, 3]
    pool.free([1])
    assert pool.free_queue() == [2, 3, 1]


def test_a_run_stops_at_the_first_gap() -> None:
    pool = BlockPool(6, 1)
    pool.allocate(4)
    for block, block_hash in ((1, 10), (2, 20), (4, 40)):
        pool.register(block, block_hash, 0)
    assert pool.run([10, 20, 30, 40], 0) == [1, 2]
    assert pool.run([30, 40], 0) == []


def test_the_oldest_copy_is_found_and_eviction_of_one_leaves_the_others() -> None:
    pool = BlockPool(4, 1)
    pool.allocate(3)
    for block in (2, 1, 3):
        pool.register(block, 10, 0)
    assert pool.cached[0] == {10: 2}
    pool.free([1, 2, 3])
    pool.allocate(1)  # evicts block 1, a younger copy
    assert pool.cached[0] == {10: 2}
    pool.allocate(1)  # evicts block 2, the oldest
    assert pool.cached[0] == {10: 3}
    pool.allocate(1)
    assert pool.cached[0] == {}
    assert pool.events == [removed(10)] * 3


def test_taken_logs_what_was_allocated_and_touched() -> None:
    pool = BlockPool(4, 1)
    pool.touch(pool.allocate(2))
    assert pool.taken == [1, 2, 1, 2]


def test_changes_count_every_change() -> None:
    pool = BlockPool(4, 1)
    seen = {pool.changes}
    for act in (lambda: pool.allocate(1), lambda: pool.register(1, 10, 0), lambda: pool.free([1])):
        act()
        assert pool.changes not in seen
        seen.add(pool.changes)
    pool.run([10], 0)
    assert pool.changes in seen


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), max_size=60))
def test_blocks_are_conserved_whatever_happens(acts: list[tuple[int, int]]) -> None:
    pool = BlockPool(9, 1)
    held: list[int] = []
    copies: dict[int, int] = {}
    for act, number in acts:
        if act == 0 and number <= pool.free_blocks:
            held += pool.allocate(number)
        elif act == 1 and held:
            pool.free([held.pop(number % len(held))])
        elif act == 2 and held and pool.hash_of(held[-1]) is None:
            pool.register(held[-1], number, 0)
            copies[number] = copies.get(number, 0) + 1
        elif act == 3 and number in pool.cached[0]:
            pool.touch([pool.cached[0][number]])
            held.append(pool.cached[0][number])
        for event in pool.events:
            copies[event.blocks[0]] -= 1
        pool.events.clear()
        queue = pool.free_queue()
        assert sorted({*queue, *held}) == list(range(1, 9))
        assert len(queue) == pool.free_blocks == 8 - pool.used_blocks == 8 - len(set(held))
        assert NULL_BLOCK not in queue
        hashes = [pool.hash_of(block) for block in range(1, 9)]
        assert {h: n for h, n in copies.items() if n} == {h: hashes.count(h) for h in hashes if h is not None}
        assert all(hashes[block - 1] == h for h, block in pool.cached[0].items())
