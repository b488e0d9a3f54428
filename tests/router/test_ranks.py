from hypothesis import given
from hypothesis import strategies as st

from sim.kv.interval_map import IntervalMap
from sim.kv.runs import BlockRuns
from sim.router.ranks import depths, follow, joins, leaves, members


def spans(holders: dict[int, int]) -> IntervalMap[int]:
    held = IntervalMap(0)
    for block, ranks in holders.items():
        held.update(block, block + 1, ranks.__or__)
    return held


def test_members_are_the_bits() -> None:
    assert members(0b1011).tolist() == [0, 1, 3]
    assert members(0).tolist() == []
    assert members(1 << 1023).tolist() == [1023]


def test_ranks_join_and_leave_a_set_one_by_one() -> None:
    assert [join(0b010) for join in joins(3)] == [0b011, 0b010, 0b110]
    assert [leave(0b011) for leave in leaves(3)] == [0b010, 0b001, 0b011]


def test_follow_says_where_each_rank_stops() -> None:
    holders, prompt = spans({10: 0b111, 11: 0b011, 12: 0b001}), BlockRuns([range(10, 13)])
    assert follow(holders, prompt, [(0, 0b1111)]) == [(0, 0b1000), (1, 0b100), (2, 0b010), (3, 0b001)]


def test_follow_goes_on_from_each_rank_s_own_start() -> None:
    # Rank 0 starts at block 1 and goes to the end, rank 1 starts at the end, rank 2 stops where it starts.
    holders, prompt = spans({11: 0b001, 12: 0b001}), BlockRuns([range(10, 13)])
    assert follow(holders, prompt, [(0, 0b100), (1, 0b001), (3, 0b010)]) == [(0, 0b100), (3, 0b011)]


def test_follow_of_an_empty_prompt_reaches_nothing() -> None:
    assert follow(spans({10: 0b1}), BlockRuns([]), [(0, 0b1)]) == [(0, 0b1)]


def test_follow_leaves_all_where_they_are_if_nobody_holds_anything() -> None:
    assert follow(IntervalMap(0), BlockRuns([range(3)]), [(0, 0b01), (2, 0b10)]) == [(0, 0b01), (2, 0b10)]


@given(
    st.lists(st.tuples(st.integers(0, 2**6 - 1), st.booleans()), max_size=12),
    st.lists(st.integers(0, 12), min_size=6, max_size=6),
)
def test_follow_equals_walking_each_rank_alone(held: list[tuple[int, bool]], wanted: list[int]) -> None:
    """Of each block: the ranks that hold it, and whether a new run of ids starts there."""
    blocks: list[int] = []
    for _, gap in held:
        blocks.append((blocks[-1] if blocks else 0) + (5 if gap else 1))
    starts = [min(start, len(blocks)) for start in wanted]
    grouped = [(d, sum(1 << r for r, s in enumerate(starts) if s == d)) for d in sorted(set(starts))]

    def alone(rank: int) -> int:
        depth = starts[rank]
        while depth < len(blocks) and held[depth][0] >> rank & 1:
            depth += 1
        return depth

    holders = {block: ranks for block, (ranks, _) in zip(blocks, held, strict=True)}
    ends = follow(spans(holders), BlockRuns.of(blocks), grouped)
    assert depths(ends, 6).tolist() == [alone(rank) for rank in range(6)]
    assert [depth for depth, _ in ends] == sorted({depth for depth, _ in ends})
