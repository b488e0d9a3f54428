"""Who waited for whom, as far as times tell."""

from sim.workload.spans import Join, Span, joins


def test_turns_wait_for_the_turn_before() -> None:
    assert joins([Span("a", 0, 5), Span("b", 1, 2), Span("a", 7, 9)], {}) == [
        Join("a", (), None),
        Join("b", (), None),
        Join("a", (0,), 2),
    ]


def test_without_a_session_nobody_waits() -> None:
    assert joins([Span(None, 0, 5), Span(None, 7, 9)], {}) == [Join(None, (), None)] * 2


def test_children_fork_from_their_parent_and_join_it_when_all_of_them_ended() -> None:
    found = joins(
        [
            Span("p", 0, 5),
            Span("c", 6, 8),
            Span("d", 6, 20),
            Span("c", 9, 10),
            Span("p", 12, 13),
            Span("p", 21, 22),
        ],
        {"c": "p", "d": "p"},
    )
    assert [join.waits for join in found] == [(), (0,), (0,), (1,), (0, 3), (2, 4)]
    assert [join.think for join in found] == [None, 1, 1, 1, 2, 1]


def test_requests_of_a_session_that_overlap_are_streams() -> None:
    found = joins([Span("a", 0, 5), Span("a", 6, 10), Span("a", 7, 9), Span("a", 12, 13)], {})
    assert [join.stream for join in found] == ["a", "a", "a (2)", "a"]
    assert [join.waits for join in found] == [(), (0,), (), (1, 2)]


def test_a_child_of_itself_or_of_nobody_is_a_session() -> None:
    assert joins([Span("a", 0, 1)], {"a": "a"}) == [Join("a", (), None)]
    assert joins([Span("a", 0, 1)], {"a": "gone"}) == [Join("a", (), None)]
