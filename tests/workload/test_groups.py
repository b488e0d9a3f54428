"""Sessions that wait for each other are of one group."""

from hypothesis import given
from hypothesis import strategies as st

from sim.workload.groups import session_groups
from tests.cluster.clients.by_hand import trace


def groups(*rows):
    return [list(group) for group in session_groups(trace(*rows))]


def test_sessions_of_their_own() -> None:
    assert groups(("a", 0.0, None), ("b", 0.0, None), ("a", 0.0, None)) == [[0, 2], [1]]


def test_a_session_is_of_the_group_of_what_it_waits_for_and_so_on() -> None:
    rows = (
        ("a", 0.0, None),
        ("x", 0.0, None),
        ("b", 0.0, None, [0]),
        ("c", 0.0, None, [2]),
        ("a", 0.0, None, [3]),
    )
    assert groups(*rows) == [[0, 2, 3, 4], [1]]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.lists(st.integers(0, 11), max_size=2)), max_size=12))
def test_every_request_is_of_one_group_with_all_that_it_waits_for(rows) -> None:
    n = len(rows)
    requests = [(name, 0.0, None, [wait for wait in waits if wait < n]) for name, waits in rows]
    found = groups(*requests)
    assert sorted(place for group in found for place in group) == list(range(n))
    of = {place: number for number, group in enumerate(found) for place in group}
    for place, (name, _, _, waits) in enumerate(requests):
        assert all(of[wait] == of[place] for wait in waits)
        assert all(of[other] == of[place] for other in range(n) if requests[other][0] == name)
