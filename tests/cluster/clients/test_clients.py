"""The three clients: what leaves when, as exact logs of (name, env.now)."""

from typing import Any

import pytest

from sim.base.errors import InputError
from tests.cluster.clients.by_hand import replay, trace

FOUR = trace(("a", 0.0, None), ("a", 1.0, 5.0), ("b", 1.0, None), ("b", 9.0, 2.0))


def test_open_loop_leaves_at_the_timestamps_whatever_is_answered() -> None:
    log, client = replay(FOUR, service=100.0, client="open-loop")
    assert log == [("a0", 0.0), ("a1", 1.0), ("b0", 1.0), ("b1", 9.0)]
    assert client.due_s == [0.0, 1.0, 1.0, 9.0]


def test_speedup_divides_timestamps_not_think_times() -> None:
    assert replay(FOUR, service=1.0, client="open-loop", speedup=2)[0] == [
        ("a0", 0.0),
        ("a1", 0.5),
        ("b0", 0.5),
        ("b1", 4.5),
    ]
    assert replay(FOUR, service=1.0, client="turn-dependent", speedup=2)[0] == [
        ("a0", 0.0),
        ("b0", 0.5),
        ("b1", 3.5),
        ("a1", 6.0),
    ]


def test_max_concurrency_serves_in_the_order_of_being_due() -> None:
    log, client = replay(FOUR, service=3.0, client="max-concurrency", max_concurrency=1)
    assert log == [("a0", 0.0), ("a1", 3.0), ("b0", 6.0), ("b1", 9.0)]
    assert client.due_s == [0.0, 1.0, 1.0, 9.0], "the client's own wait is send time minus due time"


def test_max_concurrency_by_default_is_the_number_of_sessions() -> None:
    log, _ = replay(FOUR, service=3.0, client="max-concurrency")
    assert log == [("a0", 0.0), ("a1", 1.0), ("b0", 3.0), ("b1", 9.0)]


def test_the_semaphore_knows_no_sessions_so_a_turn_may_overtake_the_answer_to_the_one_before() -> None:
    rows = trace(("a", 0.0, None), ("b", 0.0, None), ("a", 1.0, None))
    log, _ = replay(rows, service=lambda r: 10.0 if r.session == "a" else 2.0, max_concurrency=2)
    assert log == [("a0", 0.0), ("b0", 0.0), ("a1", 2.0)]


def test_a_slot_freed_at_an_instant_serves_a_request_due_at_it() -> None:
    rows = trace(("a", 0.0, None), ("b", 3.0, None))
    assert replay(rows, service=3.0, max_concurrency=1)[0] == [("a0", 0.0), ("b0", 3.0)]


def test_who_waits_goes_before_who_becomes_due_at_the_same_instant() -> None:
    rows = trace(("a", 0.0, None), ("b", 1.0, None), ("c", 3.0, None))
    assert replay(rows, service=3.0, max_concurrency=1)[0] == [("a0", 0.0), ("b0", 3.0), ("c0", 6.0)]


def test_turn_dependent_leaves_a_think_time_after_the_answer() -> None:
    log, client = replay(FOUR, service=3.0, client="turn-dependent")
    assert log == [("a0", 0.0), ("b0", 1.0), ("b1", 6.0), ("a1", 8.0)]
    assert client.due_s == [0.0, 8.0, 1.0, 6.0]


@pytest.mark.parametrize(("service_s", "sent_s"), [(8.0, 10.0), (3.0, 10.0), (12.0, 12.0)])
def test_a_gap_between_timestamps_is_no_think_time(service_s: float, sent_s: float) -> None:
    """10 s from turn to turn with 8 s of service leave 2 s to think."""
    rows = trace(("a", 0.0, None), ("a", 10.0, None))
    assert replay(rows, service_s, client="turn-dependent")[0] == [("a0", 0.0), ("a1", sent_s)]


def test_a_turn_without_timestamp_and_delay_follows_the_answer_at_once() -> None:
    rows = trace(("a", 0.0, None), ("a", None, None))
    assert replay(rows, service=3.0, client="turn-dependent")[0] == [("a0", 0.0), ("a1", 3.0)]


def test_a_session_goes_on_after_a_rejected_turn() -> None:
    rows = trace(("a", 0.0, None), ("a", None, 1.0), ("a", None, 1.0))
    assert replay(rows, service=0, client="turn-dependent")[0] == [("a0", 0.0), ("a1", 1.0), ("a2", 2.0)]


@pytest.mark.parametrize(
    "settings", [{"client": "open-loop"}, {"max_concurrency": 1}, {"client": "turn-dependent"}]
)
def test_requests_of_one_instant_leave_in_trace_order_even_if_rejected_at_once(
    settings: dict[str, Any],
) -> None:
    """2.6 + (7.7 - 2.6) is less than 7.7 in floats: the first at 7.7 must not leave before the others."""
    rows = trace(("x", 2.6, None), *((name, 7.7, None) for name in "abc"))
    log, _ = replay(rows, service=0, **settings)
    assert [name for name, _ in log] == ["x0", "a0", "b0", "c0"]
    assert log[1][1] == log[2][1] == log[3][1] == pytest.approx(7.7, abs=1e-12)


def test_answers_of_one_instant_release_turns_in_trace_order() -> None:
    rows = trace(("b", 0.0, None), ("a", 0.0, None), ("a", None, 1.0), ("b", None, 1.0))
    assert replay(rows, service=2.0, client="turn-dependent")[0] == [
        ("b0", 0.0),
        ("a0", 0.0),
        ("a1", 3.0),
        ("b1", 3.0),
    ]


def test_time_0_of_the_trace_is_when_the_client_starts() -> None:
    assert replay(trace(("a", 2.0, None)), service=1.0, start_s=5.0, client="open-loop")[0] == [("a0", 7.0)]


@pytest.mark.parametrize("client", ["open-loop", "max-concurrency"])
def test_a_timed_client_refuses_a_request_without_timestamp(client: str) -> None:
    with pytest.raises(InputError, match=r"request 1 \(session a, turn 1\) has no timestamp.*turn-dependent"):
        replay(trace(("a", 0.0, None), ("a", None, 1.0)), service=1.0, client=client)


@pytest.mark.parametrize("client", ["open-loop", "max-concurrency", "turn-dependent"])
@pytest.mark.parametrize("service_s", [0, 0.7])
def test_every_request_is_sent_once_in_turn_order(client: str, service_s: float) -> None:
    rows = trace(*((f"s{index * 7 % 50}-", index // 10 * 0.25, None) for index in range(500)))
    log, _ = replay(rows, service_s, client=client, max_concurrency=3)
    assert sorted(name for name, _ in log) == sorted(f"{r.session}{r.turn}" for r in rows.requests)
    assert [now for _, now in log] == sorted(now for _, now in log)
    for session in rows.sessions:
        turns = [name for name, _ in log if name.startswith(session)]
        assert turns == [f"{session}{turn}" for turn in range(len(turns))]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_no_more_than_the_limit_are_in_flight(limit: int) -> None:
    rows = trace(*((str(index), index // 20 * 1.0, None) for index in range(100)))
    log, _ = replay(rows, 0.3, max_concurrency=limit)
    sent = [now for _, now in log]
    assert max(sum(0 <= now - earlier < 0.299 for earlier in sent) for now in sent) == limit
