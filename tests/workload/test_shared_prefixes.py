"""Prefixes of two owners, by hand and against sets of prefixes."""

from hypothesis import given
from hypothesis import strategies as st

from sim.workload.shared_prefixes import SharedPrefixes


def shared(*prompts, chunk_tokens=4):
    found = SharedPrefixes(
        ((owner, chunks, chunk_tokens * len(chunks)) for owner, chunks in prompts), chunk_tokens
    )
    return [list(prefix) for prefix in found.longest()], found.chunks()


def test_what_two_owners_begin_with_is_shared() -> None:
    assert shared((0, [1, 2, 3]), (1, [1, 2, 4]), (2, [7])) == ([[1, 2]], {1, 2})


def test_what_one_owner_sends_twice_is_not() -> None:
    assert shared((0, [1, 2]), (0, [1, 2, 3]), (1, [9])) == ([], set())


def test_of_shared_prefixes_the_longest_of_each_branch_are_named() -> None:
    prompts = (0, [1, 2, 3]), (1, [1, 2, 3, 5]), (2, [1, 8]), (3, [1, 8]), (4, [1])
    assert shared(*prompts) == ([[1, 2, 3], [1, 8]], {1, 2, 3, 8})


def test_equal_ids_behind_other_ones_are_not_shared() -> None:
    assert shared((0, [1, 5]), (1, [2, 5])) == ([], set())


def test_an_owner_may_go_back_and_branch() -> None:
    assert shared((0, [1, 2, 3]), (0, [1, 4]), (1, [1, 4, 6])) == ([[1, 4]], {1, 4})


def test_a_part_of_a_chunk_is_left_out() -> None:
    found = SharedPrefixes([(0, [1, 2], 7), (1, [1, 2], 7)], 4)
    assert [list(prefix) for prefix in found.longest()] == [[1]]


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 2), max_size=6)), max_size=12))
def test_shared_are_the_prefixes_of_two_owners(prompts) -> None:
    owners: dict[tuple[int, ...], set[int]] = {}
    for owner, chunks in prompts:
        for length in range(1, len(chunks) + 1):
            owners.setdefault(tuple(chunks[:length]), set()).add(owner)
    common = {prefix for prefix, found in owners.items() if len(found) > 1}
    longest = {
        prefix for prefix in common if not any(other[: len(prefix)] == prefix != other for other in common)
    }
    found, chunks = shared(*prompts)
    assert {tuple(prefix) for prefix in found} == longest
    assert len(found) == len(longest)
    assert chunks == {prefix[-1] for prefix in common}
