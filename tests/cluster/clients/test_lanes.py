"""Lanes: who is taken when, what begins anew, what is cut; by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.workload.recycled import Recycled
from tests.cluster.clients.by_hand import replay, trace

THREE = trace(
    ("a", 50.0, None),
    ("b", 60.0, None),
    ("a", None, 1.0),
    ("c", 70.0, None),
    ("c", 100.0, None),
)


def test_a_lane_takes_the_next_session_when_its_own_has_ended() -> None:
    """a0 0-10, a1 11-21; b0 0-10; the lane of b takes c at 10: c0 10-20, c1 30 s after c0 began."""
    log, played = replay(THREE, 10.0, client="turn-dependent", lanes=2)
    assert log == [("a0", 0.0), ("b0", 0.0), ("c0", 10.0), ("a1", 11.0), ("c1", 40.0)]
    assert played.notes == ["2 lanes took 3 sessions"]


def test_lanes_that_begin_one_after_another_take_what_is_next_then() -> None:
    """Two lanes 12 s apart: the first has a0 0-10, a1 11-21 and takes c at 21; the second takes b at 12."""
    log, played = replay(THREE, 10.0, client="turn-dependent", lanes=2, lane_gap_s=12.0)
    assert log == [("a0", 0.0), ("a1", 11.0), ("b0", 12.0), ("c0", 21.0), ("c1", 51.0)]
    assert played.notes == ["2 lanes took 3 sessions"]


def test_a_lane_that_has_yet_to_begin_is_waited_for() -> None:
    """All of the first lane is refused at once: the second is still to come."""
    rows = trace(("a", 0.0, None))
    log, played = replay(rows, 0, client="turn-dependent", lanes=2, lane_gap_s=5.0, duration_s=82)
    assert log == [("a0", 0.0), ("a #20", 5.0)]
    assert played.client.total == 2


def test_more_lanes_than_sessions_play_all_at_once() -> None:
    log, _ = replay(THREE, 10.0, client="turn-dependent", lanes=9)
    assert log == [("a0", 0.0), ("b0", 0.0), ("c0", 0.0), ("a1", 11.0), ("c1", 30.0)]


def test_a_trace_that_is_used_up_begins_anew_and_nothing_is_sent_when_time_is_over() -> None:
    """One lane: a 0-21, b 21-31, c 31-71 (c1 at 61), then a anew at 71: a0 71-81, a1 at 82 is not sent."""
    log, played = replay(THREE, 10.0, client="turn-dependent", lanes=1, duration_s=82)
    assert log == [
        ("a0", 0.0),
        ("a1", 11.0),
        ("b0", 21.0),
        ("c0", 31.0),
        ("c1", 61.0),
        ("a #20", 71.0),
    ]
    assert played.notes == [
        "1 lane took 4 sessions; the trace has 3: 1 of them began anew, with other content but for what two "
        "sessions share"
    ]


def test_a_trace_of_which_all_is_refused_does_not_begin_anew_for_ever() -> None:
    rows = trace(("a", 0.0, None), ("b", 0.0, None))
    log, _ = replay(rows, 0, client="turn-dependent", lanes=1, duration_s=82)
    assert log == [("a0", 0.0), ("b0", 0.0)]


def test_a_session_with_its_sub_agents_is_one() -> None:
    """main0 0-1; b0 1-101 beside main1; the lane takes c when all three have ended."""
    rows = trace(("main", 0.0, None), ("b", None, 0.0, [0]), ("main", None, 0.0), ("c", 0.0, None))
    log, played = replay(rows, lambda r: 100.0 if r.session == "b" else 1.0, client="turn-dependent", lanes=1)
    assert log == [("main0", 0.0), ("b0", 1.0), ("main1", 1.0), ("c0", 101.0)]
    assert played.notes == ["1 lane took 2 sessions (a session with its sub-agents counts once)"]


def test_pauses_are_cut_in_lanes_too() -> None:
    log, _ = replay(THREE, 10.0, client="turn-dependent", lanes=9, max_think_s=5)
    assert log[-1] == ("c1", 15.0)


def test_what_two_sessions_share_stays_when_they_begin_anew() -> None:
    rows = trace(("a", 0.0, None), ("b", 0.0, None))
    a, b = rows.requests
    a.chunks, b.chunks = (1, 2, 3), (1, 2, 4)
    a.prompt_tokens = b.prompt_tokens = 48
    recycled = Recycled(rows, 2)
    assert recycled.request(0, 0) is a
    second, third = recycled.request(1, 1), recycled.request(1, 2)
    assert (second.index, second.session, third.index, third.session) == (3, "b #2", 5, "b #3")
    assert list(second.chunks)[:2] == list(third.chunks)[:2] == [1, 2]
    assert len({4, second.chunks[2], third.chunks[2]}) == 3


def test_sub_agents_share_with_their_parent_nothing_that_stays() -> None:
    rows = trace(("a", 0.0, None), ("b", 0.0, None, [0]))
    a, b = rows.requests
    a.chunks, b.chunks = (1, 2), (1, 3)
    a.prompt_tokens = b.prompt_tokens = 32
    recycled = Recycled(rows, 2)
    again, sub = recycled.request(0, 1), recycled.request(1, 1)
    assert again.chunks[0] == sub.chunks[0] != 1
    assert sub.waits_for == (2,)


@given(
    st.integers(1, 5), st.floats(0.5, 60), st.lists(st.sampled_from([0.25, 1.0, 7.0]), min_size=7, max_size=7)
)
def test_lanes_are_busy_until_time_is_over(lanes: int, duration_s: float, took: list[float]) -> None:
    rows = trace(*((name, 0.0, None) for name in "abc"), *((name, None, 2.0) for name in "aabc"))
    service = {(r.session, r.turn): took[r.index] for r in rows.requests}

    def serve(request) -> float:
        return service[request.session.split(" ")[0], request.turn]

    log, _ = replay(rows, serve, client="turn-dependent", lanes=lanes, duration_s=duration_s)
    assert all(now < duration_s for _, now in log)
    assert len({name for name, _ in log}) == len(log), "each request is sent once"
    begun = [now for name, now in log if name.endswith("0")]
    assert begun[:lanes] == [0.0] * lanes
    lengths = {
        "a": service["a", 0] + 2 + service["a", 1] + 2 + service["a", 2],
        "b": service["b", 0] + 2 + service["b", 1],
        "c": service["c", 0] + 2 + service["c", 1],
    }
    free_s = [0.0] * lanes
    for number, now in enumerate(begun):
        lane = free_s.index(min(free_s))
        assert now == pytest.approx(free_s[lane])
        free_s[lane] += lengths["abc"[number % 3]]
    assert min(free_s) >= duration_s or min(free_s) == pytest.approx(duration_s)
