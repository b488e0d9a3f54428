from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.ledger.holders import Holders


def watching(workers, stop):
    holders = Holders(workers, ("device", "host"))
    holders.watch([range(stop)])
    return holders


def where(holders, worker, block):
    [(_, _, found)] = holders.where(worker, block, block + 1)
    return found


def test_a_block_is_held_until_its_last_copy_in_any_tier_is_removed():
    holders = watching(2, 8)
    holders.stored(0, "device", [7, 7])
    holders.stored(0, "host", [7])

    holders.removed(0, "device", [7])
    assert where(holders, 0, 7) == "here"
    holders.removed(0, "device", [7])
    assert where(holders, 0, 7) == "here"
    holders.removed(0, "host", [7])
    assert where(holders, 0, 7) == "evicted_here"


def test_what_was_held_is_remembered_for_each_worker():
    holders = watching(2, 9)
    holders.stored(1, "host", [7])
    holders.removed(1, "host", [7])

    assert where(holders, 1, 7) == "evicted_here"
    assert where(holders, 0, 7) == "gone"
    assert where(holders, 1, 8) == "gone"


def test_elsewhere_looks_at_other_workers_only():
    holders = watching(70, 8)
    assert where(holders, 3, 7) == "gone"
    holders.stored(69, "host", [7])
    assert where(holders, 3, 7) == "elsewhere"
    assert where(holders, 0, 7) == "elsewhere"
    assert where(holders, 69, 7) == "here"

    holders.stored(3, "device", [7])
    holders.removed(69, "host", [7])
    assert where(holders, 69, 7) == "evicted_here"
    assert where(holders, 0, 7) == "elsewhere"


def test_a_run_comes_in_pieces_of_equal_fate():
    holders = watching(2, 9)
    holders.stored(0, "device", range(6))
    holders.stored(1, "device", range(3, 8))
    holders.removed(0, "device", range(5, 1, -1))

    assert [*holders.where(0, 1, 9)] == [
        (1, 2, "here"),
        (2, 3, "evicted_here"),
        (3, 6, "evicted_here"),
        (6, 8, "elsewhere"),
        (8, 9, "gone"),
    ]


def test_losing_a_copy_that_is_not_there_is_an_error():
    holders = watching(1, 8)
    holders.stored(0, "device", [7])

    with pytest.raises(ValueError, match="worker 0 lost block 7, of which its host tier has no copy"):
        holders.removed(0, "host", [7])


def test_blocks_that_nobody_watches_are_left_out():
    holders = watching(1, 3)
    holders.stored(0, "device", range(5))
    holders.removed(0, "device", range(4, 1, -1))

    assert [*holders.where(0, 0, 5)] == [(0, 2, "here"), (2, 3, "evicted_here"), (3, 5, "gone")]


changes = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["device", "host"]), st.integers(0, 12), st.integers(0, 12)),
    max_size=40,
)


@given(changes, st.data())
def test_copies_are_counted_block_by_block(changes, data):
    """Runs are stored, and parts of what is there removed; the counts of each block are kept beside."""
    holders = watching(3, 12)
    copies: Counter[tuple[int, str, int]] = Counter()
    ever = set()
    for worker, tier, start, stop in changes:
        if start <= stop:
            holders.stored(worker, tier, range(start, stop))
            copies.update((worker, tier, block) for block in range(start, stop))
            ever.update((worker, block) for block in range(start, stop))
            continue
        run = range(start - 1, stop - 1, -1)
        run = [block for block in run if copies[worker, tier, block]]
        run = run[: data.draw(st.integers(0, len(run)))]
        holders.removed(worker, tier, run)
        copies.subtract((worker, tier, block) for block in run)

    def has(worker, block):
        return copies[worker, "device", block] + copies[worker, "host", block] > 0

    for worker in range(3):
        found = {
            block: where
            for start, stop, where in holders.where(worker, 0, 12)
            for block in range(start, stop)
        }
        for block in range(12):
            elsewhere = any(has(other, block) for other in range(3))
            expected = "elsewhere" if elsewhere else "gone"
            if (worker, block) in ever:
                expected = "here" if has(worker, block) else "evicted_here"
            assert found[block] == expected
