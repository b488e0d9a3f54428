from hypothesis import given
from hypothesis import strategies as st

from sim.router.ranks import depths, follow, members


def test_members_are_the_bits() -> None:
    assert members(0b1011) == [0, 1, 3]
    assert members(0) == []
    assert members(1 << 1023) == [1023]


def test_follow_says_where_each_rank_stops() -> None:
    holders = {10: 0b111, 11: 0b011, 12: 0b001}
    assert follow(holders, [10, 11, 12], [(0, 0b1111)]) == [(0, 0b1000), (1, 0b100), (2, 0b010), (3, 0b001)]


def test_follow_goes_on_from_each_rank_s_own_start() -> None:
    # Rank 0 starts at block 1 and goes to the end, rank 1 starts at the end, rank 2 stops where it starts.
    holders = {11: 0b001, 12: 0b001}
    assert follow(holders, [10, 11, 12], [(0, 0b100), (1, 0b001), (3, 0b010)]) == [(0, 0b100), (3, 0b011)]


def test_follow_of_an_empty_prompt_reaches_nothing() -> None:
    assert follow({10: 0b1}, [], [(0, 0b1)]) == [(0, 0b1)]


@given(
    st.lists(st.integers(0, 2**6 - 1), max_size=12),
    st.lists(st.integers(0, 12), min_size=6, max_size=6),
)
def test_follow_equals_walking_each_rank_alone(held: list[int], wanted: list[int]) -> None:
    blocks = list(range(len(held)))
    starts = [min(start, len(blocks)) for start in wanted]
    grouped = [(d, sum(1 << r for r, s in enumerate(starts) if s == d)) for d in sorted(set(starts))]

    def alone(rank: int) -> int:
        depth = starts[rank]
        while depth < len(blocks) and held[depth] >> rank & 1:
            depth += 1
        return depth

    ends = follow(dict(enumerate(held)), blocks, grouped)
    assert depths(ends, 6) == [alone(rank) for rank in range(6)]
    assert [depth for depth, _ in ends] == sorted({depth for depth, _ in ends})
