import pytest

from sim.results.holders import Holders


def test_a_block_is_held_until_its_last_copy_in_any_tier_is_removed():
    holders = Holders(workers=2)
    holders.stored(0, "GPU", [7, 7])
    holders.stored(0, "CPU", [7])

    holders.removed(0, "GPU", [7])
    assert holders.holds(0, 7)
    holders.removed(0, "GPU", [7])
    assert holders.holds(0, 7)
    holders.removed(0, "CPU", [7])
    assert not holders.holds(0, 7)


def test_what_was_held_is_remembered_for_each_worker():
    holders = Holders(workers=2)
    holders.stored(1, "CPU", [7])
    holders.removed(1, "CPU", [7])

    assert holders.held(1, 7)
    assert not holders.held(0, 7)
    assert not holders.held(1, 8)


def test_elsewhere_looks_at_other_workers_only():
    holders = Holders(workers=70)
    holders.stored(3, "GPU", [7])

    assert not holders.elsewhere(3, 7)
    assert holders.elsewhere(69, 7)
    holders.stored(69, "GPU", [7])
    assert holders.elsewhere(3, 7)
    holders.removed(3, "GPU", [7])
    assert not holders.elsewhere(69, 7)


def test_losing_a_copy_that_is_not_there_is_an_error():
    holders = Holders(workers=1)
    holders.stored(0, "GPU", [7])

    with pytest.raises(ValueError, match="worker 0 lost block 7, of which its CPU tier has no copy"):
        holders.removed(0, "CPU", [7])
