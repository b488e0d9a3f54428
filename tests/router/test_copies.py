"""Blocks that a worker holds more than once."""

from hypothesis import given
from hypothesis import strategies as st

from sim.kv.runs import BlockRuns
from sim.router.copies import Copies


def test_only_the_last_copy_is_told_to_be_gone() -> None:
    copies = Copies()
    copies.stored(range(10, 15))
    copies.stored(range(12, 15))
    assert list(copies.removed(range(14, 9, -1))) == [10, 11]
    assert list(copies.removed(range(14, 11, -1))) == [12, 13, 14]


def test_blocks_of_before_are_gone_at_once() -> None:
    assert list(Copies().removed([3])) == [3]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(0, 9))))
def test_it_counts_as_a_counter_does(events) -> None:
    copies, counted = Copies(), dict.fromkeys(range(20), 0)
    for stored, start, length in events:
        blocks = BlockRuns([range(start, start + length)])
        if stored:
            copies.stored(blocks)
            gone, expected = None, None
        else:
            gone, expected = list(copies.removed(blocks)), [n for n in blocks if counted[n] <= 1]
        for block in blocks:
            counted[block] = max(0, counted[block] + (1 if stored else -1))
        assert gone == expected
