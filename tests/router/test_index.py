import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kv.runs import BlockRuns
from sim.router.columns import entries
from sim.router.index import PrefixIndex, Tier

TIERS: tuple[Tier, ...] = ("device", "host", "disk")


def overlap(
    index: PrefixIndex, blocks: list[int], among: int = 0b11, ranks: int = 2
) -> tuple[list[int], list[int], list[int]]:
    """Return the overlap with device, host and disk, an entry a rank."""
    device, host, disk = index.overlap(BlockRuns.of(blocks), among)
    return entries(device, ranks), entries(host, ranks), entries(disk, ranks)


def overlap_of(index: PrefixIndex, blocks: list[int], rank: int) -> tuple[int, int, int]:
    device, host, disk = overlap(index, blocks)
    return device[rank], host[rank], disk[rank]


def test_tiers_go_on_from_one_another() -> None:
    index = PrefixIndex(2)
    index.stored(0, None, [1, 2], "device")
    index.stored(0, 2, [3], "host")
    index.stored(0, 3, [4, 5], "disk")
    assert overlap(index, [1, 2, 3, 4, 5, 6]) == ([2, 0], [1, 0], [2, 0])


def test_host_hits_count_from_the_first_block_without_a_device_hit() -> None:
    index = PrefixIndex(2)
    index.stored(1, None, [1, 2], "host")
    assert overlap_of(index, [1, 2, 3], 1) == (0, 2, 0)


def test_a_device_block_after_a_host_gap_does_not_count() -> None:
    index = PrefixIndex(2)
    index.stored(0, None, [1, 2, 3, 4], "device")
    index.removed(0, [2], "device")
    index.stored(0, 2, [3], "host")
    assert overlap_of(index, [1, 2, 3, 4], 0) == (1, 0, 0)


def test_no_hit_past_a_gap() -> None:
    """The first of three blocks is evicted: a simulator once reported the other two as hits."""
    index = PrefixIndex(2)
    index.stored(0, None, [1, 2, 3], "device")
    index.removed(0, [1], "device")
    assert overlap_of(index, [1, 2, 3], 0) == (0, 0, 0)


def test_stored_twice_and_removed_once_is_removed() -> None:
    index = PrefixIndex(2)
    index.stored(0, None, [1], "device")
    index.stored(0, None, [1], "device")
    index.removed(0, [1], "device")
    assert overlap_of(index, [1], 0) == (0, 0, 0)


def test_blocks_are_removed_from_the_deepest_up() -> None:
    index = PrefixIndex(2)
    index.stored(0, None, range(1, 9), "device")
    index.removed(0, range(8, 3, -1), "device")
    assert overlap_of(index, [1, 2, 3, 4, 5], 0) == (3, 0, 0)


def test_removal_touches_one_rank_and_one_tier() -> None:
    index = PrefixIndex(2)
    for rank in (0, 1):
        for tier in ("device", "host"):
            index.stored(rank, None, [1], tier)
    index.removed(0, [1], "device")
    index.removed(0, [99], "device")
    assert overlap(index, [1]) == ([0, 1], [1, 0], [0, 0])


def test_a_device_block_with_an_unknown_parent_is_dropped() -> None:
    index = PrefixIndex(2)
    index.stored(1, None, [1], "device")
    index.stored(0, None, [1], "host")
    assert not index.stored(0, 1, [2], "device")
    assert index.stored(1, 1, [2], "device")
    index.stored(0, None, [1], "device")
    assert overlap_of(index, [1, 2], 0) == (1, 0, 0)
    assert overlap_of(index, [1, 2], 1) == (2, 0, 0)


def test_a_lower_tier_block_waits_for_the_blocks_before_it() -> None:
    index = PrefixIndex(2)
    assert index.stored(0, 1, [2], "host")
    assert overlap_of(index, [1, 2], 0) == (0, 0, 0)
    index.stored(0, None, [1], "device")
    assert overlap_of(index, [1, 2], 0) == (1, 1, 0)


def test_clearing_empties_all_tiers_of_one_rank() -> None:
    index = PrefixIndex(2)
    for tier in TIERS:
        index.stored(0, None, [1, 2], tier)
    index.stored(1, None, [1], "device")
    index.cleared(0)
    assert overlap(index, [1, 2]) == ([0, 1], [0, 0], [0, 0])


@pytest.mark.parametrize("among", [0b1, 0b10])
def test_a_look_up_among_some_ranks_says_the_same_of_them(among: int) -> None:
    index = PrefixIndex(2)
    index.stored(0, None, [1, 2], "device")
    index.stored(1, None, [1], "device")
    rank = among.bit_length() - 1
    assert overlap(index, [1, 2], among)[0][rank] == overlap(index, [1, 2])[0][rank]


# Six blocks: two prompts, 0-1-2-3 and 0-1-4-5, that part after two blocks.
PROMPTS = ([0, 1, 2, 3], [0, 1, 4, 5])
events = st.one_of(
    st.tuples(
        st.just("stored"),
        st.integers(0, 2),
        st.sampled_from(TIERS),
        st.sampled_from(PROMPTS),
        st.integers(0, 3),
        st.integers(1, 4),
    ),
    st.tuples(
        st.just("removed"),
        st.integers(0, 2),
        st.sampled_from(TIERS),
        st.sampled_from(PROMPTS),
        st.integers(0, 3),
        st.integers(1, 4),
    ),
    st.tuples(
        st.just("cleared"),
        st.integers(0, 2),
        st.just("device"),
        st.just(PROMPTS[0]),
        st.just(0),
        st.just(0),
    ),
)


@given(st.lists(events, max_size=30))
def test_index_equals_a_set_for_each_rank_and_tier(
    history: list[tuple[str, int, Tier, list[int], int, int]],
) -> None:
    index = PrefixIndex(3)
    held: dict[tuple[int, Tier], set[int]] = {(rank, tier): set() for rank in range(3) for tier in TIERS}
    for kind, rank, tier, prompt, start, end in history:
        blocks = prompt[start:end]
        if kind == "stored":
            parent = prompt[start - 1] if start else None
            index.stored(rank, parent, blocks, tier)
            if tier != "device" or parent is None or parent in held[rank, tier]:
                held[rank, tier].update(blocks)
        elif kind == "removed":
            index.removed(rank, blocks, tier)
            held[rank, tier].difference_update(blocks)
        else:
            index.cleared(rank)
            for each in TIERS:
                held[rank, each].clear()

    for prompt in PROMPTS:
        overlaps = overlap(index, prompt, 0b111, ranks=3)
        for rank in range(3):
            reach = 0
            for tier, found in zip(TIERS, overlaps, strict=True):
                start = reach
                while reach < len(prompt) and prompt[reach] in held[rank, tier]:
                    reach += 1
                assert found[rank] == reach - start
