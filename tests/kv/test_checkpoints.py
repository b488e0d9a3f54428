"""States saved inside a chunk; blocks of 832."""

import pytest

from sim.kv.checkpoints import checkpoint_before, saves_state


@pytest.mark.parametrize(
    ("tokens", "found"), [(1, 0), (832, 0), (833, 832), (1664, 832), (1665, 1664), (20_000, 19_968)]
)
def test_the_last_boundary_leaves_a_token_to_compute(tokens: int, found: int) -> None:
    assert checkpoint_before(tokens, 832) == found


def test_where_hits_lose_their_last_block_it_lies_a_block_before() -> None:
    assert checkpoint_before(1664, 832, early=True) == 832
    assert checkpoint_before(800, 832, early=True) == 0


@pytest.mark.parametrize(
    ("start", "end", "position", "saved"),
    [
        (0, 1000, 832, True),
        (0, 1664, 832, True),
        (0, 832, 832, False),  # that is its end
        (10, 1000, 832, False),  # it begins inside a block
        (832, 1700, 1664, True),
        (832, 1664, 832, False),  # that is its start
        (832, 1665, 1663, False),  # on no boundary
        (0, 800, 0, False),
        (1664, 2496, 2496, False),
    ],
)
def test_a_state_is_saved_between_start_and_end_of_a_chunk(
    start: int, end: int, position: int, saved: bool
) -> None:
    assert saves_state(start, end, position, 832) is saved
