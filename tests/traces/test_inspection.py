"""What a trace is, in numbers worked out by hand."""

import json
from dataclasses import replace

import pytest
from hypothesis import given

from sim.traces.inspection import inspect
from sim.traces.provider import Kept
from sim.workload.request import Request, Trace
from tests.traces.test_walk import SMALL, request
from tests.workload.strategies import traces

KEYS = (
    "format",
    "requests",
    "sessions",
    "prompt_tokens",
    "output_tokens",
    "kept_tokens",
    "ideal_hit",
    "answer_tokens",
    "dropped",
    "fixed",
    "notes",
)


def test_a_small_trace() -> None:
    found = inspect(replace(SMALL, format="mine", dropped={"twice": 2}, fixed={"cut": 1, "0 output": 3}))
    says = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert tuple(says)[: len(KEYS)] == KEYS
    assert [says[key] for key in KEYS] == ["mine", 5, 2, 1500, 25, None, 0.5, 5, 2, 4, []]
    # New are 3, 1, 1, 0 and 4 chunks.
    assert says["unique_tokens"] == 900
    assert says["span_s"] == 4.0
    assert says["later_turns"] == {"append": 1, "shrink": 1, "break": 1}
    assert says["lengths"]["prompt"] == {
        "n": 5,
        "mean": 300.0,
        "p10": 250.0,
        "p50": 250.0,
        "p90": pytest.approx(390.0),
        "p99": pytest.approx(444.0),
        "max": 450,
    }
    assert says["lengths"]["new"]["p50"] == 100
    assert says["lengths"]["growth"]["mean"] == 50
    assert says["lengths"]["turns"]["mean"] == 2.5
    assert says["times_s"]["gap"]["max"] == 3.0
    assert says["times_s"]["think"] == dict.fromkeys(says["times_s"]["think"]) | {"n": 0}


def test_a_log_has_both_identities() -> None:
    found = inspect(SMALL, Kept(760, 12, 0.0))
    assert found.kept_tokens == {"append": 760, "provider": 12}
    assert (found.ideal_hit, found.ideal_hit_provider) == (0.5, 0.0)


def test_sessions_that_repeat_another_are_counted() -> None:
    rows = [(name, turn) for name in "abcd" for turn in range(2)]
    requests = [
        request(index, name, turn, 100 * (turn + 1) + (name == "c"), [*range(turn + 1 + (name == "c"))])
        for index, (name, turn) in enumerate(rows)
    ]
    requests += [request(8, "e", 0, 100, [1]), request(9, "f", 0, 100, [1])]
    assert inspect(Trace(tuple(requests), 100, "four")).duplicate_sessions == 2


def test_sub_agents_and_joins_are_counted() -> None:
    requests = (
        request(0, "a", 0, 100, [1]),
        replace(request(1, "agent", 0, 100, [2]), waits_for=(0,), delay_s=1.0, model="small"),
        replace(request(2, "a", 1, 100, [1]), waits_for=(0, 1), model="large"),
        replace(request(3, "a", 2, 100, [1]), waits_for=(2,), model="large"),
    )
    found = inspect(Trace(requests, 100, "one"))
    assert (found.sub_agents, found.joins, found.sessions) == (1, 1, 2)
    assert found.models == {"large": 2, "small": 1}
    assert list(found.models) == ["large", "small"]


def test_a_trace_without_times_says_so() -> None:
    one = Request(0, "a", 0, None, None, 100, 5, [1])
    found = inspect(Trace((one,), 100, "one"))
    assert found.span_s is None
    assert found.to_dict()["later_turns"] == {"append": 0, "shrink": 0, "break": 0}


@given(traces())
def test_every_later_turn_has_one_kind_and_totals_add_up(trace: Trace) -> None:
    found = inspect(trace)
    later = found.requests - found.sessions
    assert sum(found.later_turns.values()) == later
    assert found.unique_tokens % trace.chunk_tokens == 0
    assert found.lengths["new"]["n"] == later
    assert found.lengths["growth"]["n"] == found.later_turns["append"]
    json.dumps(found.to_dict(), allow_nan=False)
