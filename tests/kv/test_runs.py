from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kv.runs import BlockRuns, runs_of

RUNS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=8).map(
    lambda steps: [range(20 * i + gap, 20 * i + gap + n) for i, (gap, n) in enumerate(steps)]
)


@given(RUNS, st.integers(0, 45), st.integers(0, 45))
def test_is_the_sequence_of_its_ids(ranges: list[range], start: int, stop: int) -> None:
    blocks, ids = BlockRuns(ranges), [block for run in ranges for block in run]
    assert list(blocks) == ids
    assert len(blocks) == len(ids)
    assert [blocks[i] for i in range(-len(ids), len(ids))] == [*ids, *ids]
    assert list(blocks[start:stop]) == ids[start:stop]
    assert [block for run in blocks.between(start, stop) for block in run] == ids[start:stop]
    assert all(blocks.between(start, stop))
    assert blocks == BlockRuns(runs_of(ids))


def test_runs_that_join_become_one() -> None:
    blocks = BlockRuns([range(3, 5), range(5, 5), range(5, 8), range(10, 11)])
    assert blocks.ranges == [range(3, 8), range(10, 11)]
    assert blocks != BlockRuns([range(3, 8)])
    with pytest.raises(IndexError):
        blocks[6]
    with pytest.raises(ValueError, match="steps of 2"):
        blocks[::2]


def test_runs_of_any_sequence() -> None:
    assert list(runs_of([4, 5, 6, 2, 3, 9])) == [range(4, 7), range(2, 4), range(9, 10)]
    assert list(runs_of([])) == []
    assert list(runs_of(range(3, 6))) == [range(3, 6)]
    assert list(runs_of(range(5, 2, -1))) == [range(3, 6)]
    assert list(runs_of(range(0))) == []
    assert list(runs_of([0])) == [range(0, 1)]
    assert list(runs_of([5, 5])) == [range(5, 6), range(5, 6)]
    assert list(runs_of(BlockRuns([range(1, 4)]))) == [range(1, 4)]


@given(st.lists(st.tuples(st.integers(0, 2**64 - 10), st.integers(0, 9)), max_size=6))
def test_words_are_those_of_an_array(starts: list[tuple[int, int]]) -> None:
    ids = BlockRuns([range(start, start + n) for start, n in starts])
    assert ids.words() == array("Q", [*ids]).tobytes()
