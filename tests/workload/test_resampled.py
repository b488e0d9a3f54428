"""More sessions than a trace has."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.workload.request import Answer, Request, Trace
from sim.workload.resampled import fresh, resampled

TOOLS = 7
"""The chunk that both sessions begin with."""


def request(
    index: int, session: str, turn: int, time_s: float | None, *chunks: int, **more: object
) -> Request:
    return Request(index, session, turn, time_s, None, 64 * len(chunks), 5, array("Q", chunks), **more)  # type: ignore[arg-type]


TRACE = Trace(
    (
        request(0, "a", 0, 0.0, TOOLS, 1),
        request(1, "b", 0, 4.0, TOOLS, 2),
        request(2, "a", 1, 6.0, TOOLS, 1, 3, waits_for=(0,), answer=Answer(0, 128, 133)),
    ),
    64,
    "two",
    lines=(1, 2, 3),
    in_file=3,
)


def test_a_session_drawn_again_has_content_of_its_own_but_for_what_sessions_share() -> None:
    found = resampled(TRACE, 4, seed=0)

    assert sorted(found.sessions) == ["a", "a #2", "b", "b #2"]
    by_session = {name: [one for one in found.requests if one.session == name] for name in found.sessions}
    again = by_session["a #2"]
    assert [one.turn for one in again] == [0, 1]
    assert [one.chunks[0] for one in again] == [TOOLS, TOOLS]
    assert again[0].chunks[1] == again[1].chunks[1] != 1
    assert again[1].waits_for == (again[0].index,)
    assert again[1].answer == Answer(again[0].index, 128, 133)
    # Turns keep the time between them, and sessions begin when those of the file do.
    assert again[0].timestamp_s is not None
    assert again[1].timestamp_s is not None
    assert again[1].timestamp_s - again[0].timestamp_s == pytest.approx(6.0)
    assert all(0.0 <= one.timestamp_s <= 4.0 for one in found.requests if not one.turn)  # type: ignore[operator]
    assert [one.index for one in found.requests] == [*range(6)]
    assert found.notes[-1].startswith(
        "resampled, seed 0: 4 sessions from the 2 of the file; the 2 further ones"
    )


@given(sessions=st.integers(1, 9), seed=st.integers(0, 5))
def test_none_is_drawn_twice_before_all_were_once(sessions: int, seed: int) -> None:
    found = resampled(TRACE, sessions, seed)
    count = max(sessions, 2)
    assert len(found.sessions) == count
    times = {name: sum(session.startswith(name) for session in found.sessions) for name in "ab"}
    assert abs(times["a"] - times["b"]) <= 1
    assert len(found.lines) == len(found.requests)
    assert [one.timestamp_s for one in found.requests] == sorted(one.timestamp_s for one in found.requests)  # type: ignore[type-var]
    assert found == resampled(TRACE, sessions, seed)


def test_other_seeds_draw_other_sessions() -> None:
    third = {seed: resampled(TRACE, 3, seed).sessions for seed in range(8)}
    assert {name for names in third.values() for name in names if "#" in name} == {"a #2", "b #2"}


def test_a_trace_that_has_enough_is_as_it_is() -> None:
    assert resampled(TRACE, 2, seed=0) is TRACE


def test_times_that_are_not_known_stay_unknown() -> None:
    timeless = Trace((request(0, "a", 0, None, 1), request(1, "b", 0, None, 2)), 64, "two")
    assert {one.timestamp_s for one in resampled(timeless, 5, seed=1).requests} == {None}


def test_fresh_prompts_share_nothing() -> None:
    found = fresh(TRACE)
    chunks = [id for one in found.requests for id in one.chunks]
    assert len(chunks) == len(set(chunks)) == 7
    assert [one.prompt_tokens for one in found.requests] == [128, 128, 192]
    assert {one.answer for one in found.requests} == {None}
