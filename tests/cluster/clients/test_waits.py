"""Sub-agents and background agents: who leaves when, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from tests.cluster.clients.by_hand import replay, trace

FORK = trace(
    ("main", 0.0, None),
    ("one", None, 1.0, [0]),
    ("two", None, 2.0, [0]),
    ("one", None, 0.5),
    ("main", None, 3.0, [3, 2]),
)
"""A turn starts two sub-agents, of two turns and of one; the next turn waits for both."""


def test_a_sub_agent_starts_after_the_turn_that_made_it_and_is_waited_for() -> None:
    """main0 0-10; one0 11-21, one1 21.5-31.5; two0 12-22; main1 3 s after 31.5."""
    log, _ = replay(FORK, 10.0, client="turn-dependent")
    assert log == [("main0", 0.0), ("one0", 11.0), ("two0", 12.0), ("one1", 21.5), ("main1", 34.5)]


def test_the_last_to_end_counts_whichever_it_is() -> None:
    """two0 takes until 112: main1 thinks from there on."""
    log, _ = replay(FORK, lambda r: 100.0 if r.session == "two" else 10.0, client="turn-dependent")
    assert log[-1] == ("main1", 115.0)


def test_who_was_rejected_has_ended_too() -> None:
    log, _ = replay(FORK, lambda r: 0.0 if r.session == "one" else 10.0, client="turn-dependent")
    assert log == [("main0", 0.0), ("one0", 11.0), ("one1", 11.5), ("two0", 12.0), ("main1", 25.0)]


def test_a_background_agent_holds_nobody_up_until_somebody_waits_for_it() -> None:
    """b0 runs 1 to 101 beside main1 and main2; main3 waits for it, and for main2 that ended before."""
    rows = trace(
        ("main", 0.0, None),
        ("b", None, 0.0, [0]),
        ("main", None, 0.0),
        ("main", None, 0.0),
        ("main", None, 4.0, [1]),
    )
    log, _ = replay(rows, lambda r: 100.0 if r.session == "b" else 1.0, client="turn-dependent")
    assert log == [("main0", 0.0), ("b0", 1.0), ("main1", 1.0), ("main2", 2.0), ("main3", 105.0)]


def test_a_session_does_not_overtake_its_own_turn_though_it_names_only_others() -> None:
    """b0 has ended at 1, main1 takes until 51."""
    rows = trace(("main", 0.0, None), ("b", 0.0, None), ("main", None, 0.0), ("main", None, 2.0, [1]))
    log, _ = replay(rows, lambda r: 50.0 if r.turn == 1 else 1.0, client="turn-dependent")
    assert log[-1] == ("main2", 53.0)


def test_a_turn_that_names_an_earlier_one_of_its_session_goes_on_from_there() -> None:
    """After a rewind main2 continues main0, whatever main1 still does."""
    rows = trace(("main", 0.0, None), ("main", None, 1.0), ("main", None, 5.0, [0]))
    log, _ = replay(rows, 50.0, client="turn-dependent")
    assert log == [("main0", 0.0), ("main1", 51.0), ("main2", 55.0)]


def test_a_turn_with_a_timestamp_waits_for_that_too() -> None:
    rows = trace(("main", 0.0, None), ("b", 0.0, None), ("main", 30.0, None, [1]))
    assert replay(rows, 10.0, client="turn-dependent")[0][-1] == ("main1", 30.0)
    assert replay(rows, 40.0, client="turn-dependent")[0][-1] == ("main1", 40.0)


def test_one_may_wait_for_a_request_that_stands_later_in_the_trace() -> None:
    rows = trace(("a", 0.0, None), ("a", None, 1.0, [2]), ("b", 5.0, None))
    assert replay(rows, 10.0, client="turn-dependent")[0][-1] == ("a1", 16.0)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            trace(("a", 0.0, None), ("b", 0.0, None, [7])),
            r"request 1 \(session b, turn 0\) waits for request 7, which is not in the trace: "
            "its requests are 0 to 1$",
        ),
        (
            trace(("a", 0.0, None, [0])),
            r"request 0 \(session a, turn 0\) waits for itself: none of them could ever leave$",
        ),
        (
            trace(("a", 0.0, None), ("b", 0.0, None, [3]), ("c", 0.0, None, [1]), ("d", 0.0, None, [2, 0])),
            r"request 1 \(session b, turn 0\) waits for itself over 2, 3: none of them could ever leave$",
        ),
        (
            trace(("a", 0.0, None, [2]), ("a", None, 1.0), ("b", 0.0, None, [1])),
            r"request 0 \(session a, turn 0\) waits for itself over 1, 2: none",
        ),
    ],
)
def test_what_can_never_leave_is_refused(rows, says) -> None:
    with pytest.raises(InputError, match=says):
        replay(rows, 1.0, client="turn-dependent")


def test_a_first_turn_that_waits_for_nothing_needs_a_timestamp() -> None:
    with pytest.raises(InputError, match="has no timestamp to leave at"):
        replay(trace(("a", None, None)), 1.0, client="turn-dependent")


@pytest.mark.parametrize("client", ["open-loop", "max-concurrency"])
def test_clients_that_do_not_wait_for_answers_say_so(client) -> None:
    rows = trace(("a", 0.0, None), ("b", 1.0, None, [0]))
    log, played = replay(rows, 10.0, client=client, **{"max_concurrency": 5})
    assert log == [("a0", 0.0), ("b0", 1.0)]
    assert played.notes == [
        "requests that wait for others in the trace, sent at their timestamps all the same, as only "
        'replay.client = "turn-dependent" waits: 1'
    ]


@given(st.data())
def test_nobody_leaves_before_all_that_it_waits_for_and_its_think_time(data) -> None:
    n = data.draw(st.integers(1, 12))
    rows = []
    for index in range(n):
        waits = data.draw(st.lists(st.integers(0, index - 1), max_size=3)) if index else []
        session = data.draw(st.sampled_from("abc"))
        rows.append((session, 0.0, data.draw(st.sampled_from([0.0, 0.5, 3.0])), waits))
    took = data.draw(st.lists(st.sampled_from([0.0, 1.0, 7.0]), min_size=n, max_size=n))
    played = trace(*rows)
    log, found = replay(played, lambda r: took[r.index], client="turn-dependent")
    assert len(log) == n
    latest: dict[str, int] = {}
    for request in played.requests:
        needs = set(request.waits_for)
        before = latest.get(request.session)
        if before is not None and not any(played.requests[w].session == request.session for w in needs):
            needs.add(before)
        latest[request.session] = request.index
        ends = [found.due_s[w] + took[w] for w in needs]
        assert found.due_s[request.index] == (max(ends) + rows[request.index][2] if needs else 0.0)
