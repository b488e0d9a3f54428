"""The timeline of a run in Chrome's trace event format, by hand."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.show.timeline import Event, write_events
from sim.simulation.result import RunResult
from sim.simulation.run import run
from tests.clusters import Pace, scenario, trace, turn
from tests.results.runs import a_pair, two_turns

S = 1_000_000.0
"""Microseconds."""


def kind(events: list[Event], phase: str) -> list[Event]:
    return [event for event in events if event["ph"] == phase]


def names(events: list[Event], what: str) -> dict[tuple[int, int], str]:
    return {
        (event["pid"], event.get("tid", 0)): event["args"]["name"]
        for event in kind(events, "M")
        if event["name"] == what
    }


def slices(events: list[Event]) -> list[tuple[Any, ...]]:
    return [tuple(event[key] for key in ("pid", "tid", "name", "ts", "dur")) for event in kind(events, "X")]


def test_a_request_and_its_phases_stand_on_its_worker() -> None:
    events = two_turns().trace_events()
    assert slices(events) == [
        (1, 1, "s:0", 0, 2 * S),
        (1, 1, "prefill", 0, 1 * S),
        (1, 1, "decode", 1 * S, 1 * S),
        (2, 1, "s:1", 10 * S, 4 * S),
        (2, 1, "prefill", 10 * S, 2 * S),
        (2, 1, "decode", 12 * S, 2 * S),
    ]
    assert kind(events, "X")[3]["args"]["recomputed_tokens"] == 64
    assert names(events, "process_name") == {(0, 0): "router", (1, 0): "worker 0", (2, 0): "worker 1"}
    assert names(events, "thread_name") == {(0, 1): "aggregated leg", (1, 1): "slot 1", (2, 1): "slot 1"}


def test_choices_are_instants_on_the_router() -> None:
    first, second = kind(two_turns().trace_events(), "i")
    assert (first["pid"], first["ts"], first["name"]) == (0, 0, "s:0 to worker 0")
    assert (second["ts"], second["name"], second["args"]["cost"]) == (10 * S, "s:1 to worker 1", 10.0)


def test_levels_are_counters_of_the_worker() -> None:
    counters = kind(two_turns().trace_events(), "C")
    found = [(event["pid"], event["name"], event["ts"] / S, event["args"]) for event in counters]
    assert [entry for entry in found if entry[1] == "KV blocks in use"] == [
        (1, "KV blocks in use", 0, {"blocks": 5}),
        (1, "KV blocks in use", 2, {"blocks": 0}),
        (2, "KV blocks in use", 10, {"blocks": 5}),
        (2, "KV blocks in use", 11, {"blocks": 6}),
        (2, "KV blocks in use", 14, {"blocks": 0}),
    ]
    assert found[0] == (1, "Requests", 0, {"running": 1, "waiting": 0})
    assert not [entry for entry in found if entry[1] == "CPU tier blocks"]  # there is none


def test_an_arrow_leads_from_the_prefill_to_the_decode_worker() -> None:
    events = a_pair().trace_events()
    pulled_s = 0.25 + 3072 / 1e9
    assert slices(events) == [
        (1, 1, "s:0", 0, 1 * S),
        (1, 1, "prefill", 0, 1 * S),
        (2, 1, "s:0", 1 * S, pytest.approx((pulled_s + 2) * S)),
        (2, 1, "pull", 1 * S, pytest.approx(pulled_s * S)),
        (2, 1, "decode", pytest.approx((1 + pulled_s) * S), pytest.approx(2 * S)),
    ]
    (start,), (end,) = kind(events, "s"), kind(events, "f")
    assert (start["id"], start["pid"], start["ts"]) == (end["id"], 1, 1 * S - 0.001)
    assert (end["pid"], end["ts"], end["bp"]) == (2, 1 * S, "e")
    assert names(events, "process_name")[2, 0] == "decode worker 1"
    assert names(events, "thread_name")[0, 2] == "decode leg"


def test_requests_at_once_have_slots_of_their_own_and_leave_them_to_the_next() -> None:
    requests = trace(
        turn(0, 16, 5, [1], "a"), turn(0, 16, 2, [2], "b"), turn(0, 16, 9, [3], "c"), turn(6, 16, 2, [4], "d")
    )
    events = run(scenario(workers={"count": 1}), trace=requests, step_time=Pace()).trace_events()
    slots = {event["name"]: event["tid"] for event in kind(events, "X") if ":" in event["name"]}
    assert slots == {"a:0": 1, "b:0": 2, "c:0": 3, "d:0": 1}


def test_what_was_rejected_on_the_way_has_no_slot_and_what_never_ends_lasts_to_the_end() -> None:
    requests = trace(turn(0, 6400, 1, range(400), "long"), turn(0, 16, 3, [1000], "short"))
    result = run(scenario(), trace=requests, step_time=Pace())
    assert {name for _, _, name, _, _ in slices(result.trace_events())} == {"short:0", "prefill", "decode"}
    assert result.requests["status"].tolist() == ["rejected", "completed"]


def test_tables_that_were_not_kept_are_not_there() -> None:
    events = two_turns(output={"tables": []}).trace_events()
    assert {event["ph"] for event in events} == {"M", "X"}


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_the_file_is_json_and_the_same_every_time(tmp_path: Path, name: str) -> None:
    result = two_turns()
    result.save_trace_events(tmp_path / name)
    written = (tmp_path / name).read_bytes()
    text = gzip.decompress(written) if name.endswith(".gz") else written
    content = json.loads(text)
    assert content["displayTimeUnit"] == "ms"
    assert content["traceEvents"] == json.loads(json.dumps(result.trace_events()))
    write_events(two_turns().trace_events(), tmp_path / f"again-{name}")
    assert (tmp_path / f"again-{name}").read_bytes() == written
    assert len(list(tmp_path.iterdir())) == 2


def whole(result: RunResult) -> None:
    """Whatever a viewer relies on."""
    events = result.trace_events()
    timed = [event for event in events if event["ph"] != "M"]
    times = [event["ts"] for event in timed]
    assert times == sorted(times)
    assert events[: len(events) - len(timed)] == kind(events, "M")
    tracks = defaultdict(list)
    for event in kind(events, "X"):
        assert event["dur"] >= 0
        begin = round(event["ts"] * 1000)
        tracks[event["pid"], event["tid"]].append((begin, begin + round(event["dur"] * 1000)))
    for spans in tracks.values():
        around: list[int] = []
        for begin, end in spans:
            while around and around[-1] <= begin:
                around.pop()
            assert not around or end <= around[-1]  # inside of what began before, or after it
            around.append(end)
    named = names(events, "process_name")
    assert {event["pid"] for event in timed} <= {pid for pid, _ in named}
    threads = names(events, "thread_name")
    assert {(event["pid"], event["tid"]) for event in kind(events, "X")} <= set(threads)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 20), st.integers(1, 200), st.integers(1, 8), st.integers(0, 3)),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_every_run_gives_nested_slices_in_order(rows: list[tuple[float, int, int, int]], pairs: bool) -> None:
    requests = trace(
        *(
            turn(at_s, tokens, outputs, [100 * n + c for c in range(-(-tokens // 16))], str(session))
            for n, (at_s, tokens, outputs, session) in enumerate(sorted(rows))
        )
    )
    workers = {"count": None, "prefill": 1, "decode": 2} if pairs else {"count": 2}
    whole(run(scenario(workers=workers), trace=requests, step_time=Pace(0.5)))
