"""Parts of a trace: nested, whole, and told from where they stand."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.traces.sample import Window, sample
from sim.workload.request import Answer, Trace
from tests.traces.test_walk import request
from tests.workload.strategies import traces

MANY = Trace(
    tuple(
        replace(request(index, f"s{index % 9}", index // 9, 100, [index]), delay_s=None if index < 9 else 2.0)
        for index in range(9 * 5)
    ),
    100,
    "many",
    lines=range(1, 46),
)


def test_samples_of_a_seed_are_nested() -> None:
    taken = [set(sample(MANY, n, seed=7).sessions) for n in range(1, 10)]
    assert [len(each) for each in taken] == [*range(1, 10)]
    assert all(less < more for less, more in pairwise(taken))
    assert {frozenset(sample(MANY, 3, seed=seed).sessions) for seed in range(9)} != {frozenset(taken[2])}
    assert sample(MANY, 4, seed=7) == sample(MANY, 4, seed=7)


@pytest.mark.parametrize(
    ("place", "turns", "taken"),
    [
        ("first", 2, [0, 1]),
        ("middle", 2, [1, 2]),
        ("middle", 3, [1, 2, 3]),
        ("last", 2, [3, 4]),
        ("from:3", 5, [3, 4]),
        ("from:1", 2, [1, 2]),
        ("last", 9, [0, 1, 2, 3, 4]),
        ("from:2", None, [2, 3, 4]),
        ("from:5", 1, []),
    ],
)
def test_windows(place: str, turns: int | None, taken: list[int]) -> None:
    assert list(Window(turns, place).of(5)) == taken


def test_a_window_starts_a_session_anew() -> None:
    found = sample(MANY, window=Window(2, "last"))
    first, *_ = found.requests
    # Turn 3 of session 0 was request 27, sent at 27 s.
    assert (first.session, first.turn, first.timestamp_s, first.delay_s) == ("s0", 0, 0.0, None)
    assert list(first.chunks) == [27]
    assert [one.index for one in found.requests] == [*range(18)]
    assert found.requests[9].delay_s == 2.0
    assert found.lines[0] == 28
    assert found.notes[-1] == "sampled with seed 0: 9 of 9 sessions, of each 2 turns, window last"


def test_a_sub_agent_goes_with_its_session() -> None:
    a0, agent, b0, a1, a2 = (
        request(0, "a", 0, 100, [1]),
        replace(request(1, "agent", 0, 100, [2]), waits_for=(0,), delay_s=1.0),
        request(2, "b", 0, 100, [3]),
        replace(request(3, "a", 1, 200, [1, 4]), waits_for=(0, 1), answer=Answer(0, 100, 105)),
        request(4, "a", 2, 200, [1, 4]),
    )
    trace = Trace((a0, agent, b0, a1, a2), 100, "two")
    for seed in range(5):
        assert sample(trace, 1, seed=seed).sessions in {("a", "agent"), ("b",)}
    both = sample(trace, 1, seed=next(s for s in range(9) if "a" in sample(trace, 1, seed=s).sessions))
    assert [one.waits_for for one in both.requests] == [(), (0,), (0, 1), ()]
    # Without the turn that called it, the agent is not called; nobody waits for it, or knows its answer.
    late = sample(trace, window=Window(2, "last"))
    assert [(one.session, one.waits_for, one.answer) for one in late.requests] == [
        ("b", (), None),
        ("a", (), None),
        ("a", (), None),
    ]


def test_a_session_without_timestamps_leaves_where_its_delays_put_it() -> None:
    requests = [replace(one, timestamp_s=None) if one.turn else one for one in MANY.requests]
    found = sample(replace(MANY, requests=requests), window=Window(1, "last"))
    # The last turn of session 0 could leave after four delays of 2 s, that of session 8 8 s later.
    assert [one.timestamp_s for one in found.requests] == [float(number) for number in range(9)]


@pytest.mark.parametrize(
    ("sessions", "turns", "place", "says"),
    [
        (10, None, "first", "sessions = 10: must be from 1 to 9, the sessions of many"),
        (
            1,
            1,
            "end",
            "window = 'end': must be first, middle, last or from:K, with K a turn, the first being 0",
        ),
        (1, 1, "from:5", "window = 'from:5': no session taken of many has such a turn"),
        (1, 0, "first", "turns = 0: must be at least 1"),
    ],
)
def test_what_cannot_be_taken_is_refused(sessions: int, turns: int, place: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        sample(MANY, sessions, window=Window(turns, place))
    assert str(refused.value) == says


@given(traces(), st.integers(0, 3), st.integers(1, 4), st.sampled_from(["first", "middle", "last"]))
def test_samples_are_traces(trace: Trace, seed: int, turns: int, place: str) -> None:
    found = sample(trace, seed=seed, window=Window(turns, place))
    last: dict[str, int] = {}
    for index, one in enumerate(found.requests):
        assert one.index == index
        assert one.turn == last.get(one.session, -1) + 1
        last[one.session] = one.turn
        assert all(other < index for other in one.waits_for)
        assert one.answer is None or one.answer.request < index
    assert sample(trace, seed=seed).requests == trace.requests
