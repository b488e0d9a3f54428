"""Dynamo's request trace."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.workload.recorded import Recorded
from sim.workload.trace_file import load_trace
from tests.workload.files import DATA, SHARED_TRACES, load, needs_shared, refusal

FILE = DATA / "request_trace.jsonl"
EVENTS = [json.loads(line) for line in FILE.read_text().splitlines()]


def changed(event: dict[str, Any], **changes: object) -> dict[str, Any]:
    """A copy of an event with other values of its request; None: without the key."""
    found = json.loads(json.dumps(event))
    for key, value in changes.items():
        *path, last = key.split("__")
        table = found["event"]["request"]
        for each in path:
            table = table[each]
        table.pop(last, None)
        if value is not None:
            table[last] = value
    return found


def test_requests_come_as_they_were_received_with_what_was_recorded() -> None:
    trace = load_trace(FILE)
    assert (trace.format, trace.chunk_tokens, trace.answers) == ("dynamo", 16, "returned")
    assert [(r.session, r.turn, r.timestamp_s, r.delay_s, r.waits_for) for r in trace.requests] == [
        ("root", 0, 0.0, None, ()),
        ("scout", 0, 4.25, 0.25, (0,)),
        ("scout", 1, 6.5, 0.5, ()),
        ("root", 1, 7.125, 0.125, (0, 2)),
    ]
    assert trace.requests[0].chunks[0] == 13819937499059421513
    assert trace.recorded == [
        Recorded(4.0, 0.5005, 0, 0, 7587894923333011484, 7),
        Recorded(1.75),
        Recorded(0.5),
        Recorded(1.875, None, 32, 1),
    ]
    assert "tool events, whose times are part of the think times: 1" in trace.notes


def test_the_older_name_and_trajectories_are_read(tmp_path: Path) -> None:
    text = FILE.read_text().replace("dynamo.request.trace.v1", "dynamo.agent.trace.v1")
    text = text.replace("session_id", "trajectory_id")
    assert load(tmp_path, *text.splitlines()).requests == load_trace(FILE).requests


def test_shards_are_one_trace(tmp_path: Path) -> None:
    lines = FILE.read_text().splitlines(keepends=True)
    for number, line in enumerate(lines):
        (tmp_path / f"trace.{number:06}.jsonl").write_text(line)
    trace = load_trace(tmp_path)
    assert trace.requests == load_trace(FILE).requests
    assert trace.place(1) == "trace.000003.jsonl, line 1: "


def test_requests_without_sessions_are_sessions_of_their_own(tmp_path: Path) -> None:
    rows = [json.loads(json.dumps(event)) for event in EVENTS]
    for row in rows:
        del row["event"]["agent_context"]
    assert len(load(tmp_path, *rows).sessions) == 4
    assert refusal(tmp_path, EVENTS[0], rows[4]).startswith(
        "line 2: event.agent_context: all requests of a trace have one, or none has"
    )


def test_a_request_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    trace = load(tmp_path, *EVENTS, EVENTS[2])
    assert len(trace.requests) == 4
    assert sum(trace.dropped.values()) == 1
    other = changed(EVENTS[2], output_tokens=99)
    message = 'line 6: event.request.request_id = "s2" is that of line 3, with other content'
    assert refusal(tmp_path, *EVENTS, other) == message


def test_other_events_are_counted(tmp_path: Path) -> None:
    payload = {"event": {"schema": "dynamo.request.trace.v1", "event_type": "request_payload"}}
    assert load(tmp_path, *EVENTS, payload).dropped == {"events that are neither requests nor tools": 1}


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (changed(EVENTS[0], replay=None), "event.request.replay is missing: without hashes no reuse"),
        (changed(EVENTS[0], replay=7), "event.request.replay = 7: must be a JSON object"),
        (
            changed(EVENTS[0], replay__trace_block_size=64),
            "event.request.replay.trace_block_size = 64: earlier",
        ),
        (changed(EVENTS[0], replay__input_length=0), "event.request.replay.input_length = 0: must be"),
        (
            changed(EVENTS[0], replay__input_sequence_hashes=None),
            "event.request.replay.input_sequence_hashes is",
        ),
        (changed(EVENTS[0], output_tokens=None), "event.request.output_tokens is missing"),
        (changed(EVENTS[0], request_received_ms=None), "event.request.request_received_ms is missing"),
        (changed(EVENTS[0], request_id=[1]), "event.request.request_id = [1]: must be a string"),
        (changed(EVENTS[0], queue_depth=-1), "event.request.queue_depth = -1: must be a whole number"),
        (changed(EVENTS[2], request_received_ms=1779163009999), "event.event_time_unix_ms = 1779163007000.0"),
        ({"event": {"schema": "other"}}, "event.schema = 'other': must be dynamo.request.trace.v1 or"),
        ({"event": EVENTS[0]["event"] | {"request": None}}, "event.request is missing"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_key(
    tmp_path: Path, event: dict[str, Any], message: str
) -> None:
    assert refusal(tmp_path, EVENTS[4], event).startswith(f"line 2: {message}")


@needs_shared
def test_the_recorded_trace() -> None:
    trace = load_trace(SHARED_TRACES / "dynamo" / "pi_request_trace.jsonl.gz")
    assert (len(trace.requests), len(trace.sessions)) == (17, 5)
    assert "tool events, whose times are part of the think times: 44" in trace.notes
    # The root goes on when its three sub-agents have ended.
    assert [r.waits_for for r in trace.requests if r.waits_for] == [(2,), (2,), (2,), (2, 9, 11, 13)]
    assert sum(recorded.cached_tokens or 0 for recorded in trace.recorded) == 50_256
