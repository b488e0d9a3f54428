"""Sessions of kv-cache-tester and AgentX."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.workload.recorded import Recorded
from sim.workload.request import Trace
from sim.workload.trace_file import load_trace
from tests.workload.files import DATA, SHARED_TRACES, load, needs_shared, refusal

FILE = DATA / "kv_cache_tester.jsonl"


def by_name(trace: Trace) -> dict[str, Any]:
    return {f"{request.session}#{request.turn}": request for request in trace.requests}


def request(t: float, tokens: int, ids: list[int], **more: object) -> dict[str, object]:
    return {"t": t, "type": "n", "in": tokens, "out": 5, "hash_ids": ids, **more}


def session(*requests: dict[str, object], **more: object) -> dict[str, object]:
    return {"id": "s", "block_size": 64, "hash_id_scope": "local", "requests": [*requests], **more}


def test_streams_fork_from_the_answer_before_them_and_join_the_request_behind_them() -> None:
    trace = load_trace(FILE)
    found = by_name(trace)
    index = {name: request.index for name, request in found.items()}
    assert {name: request.timestamp_s for name, request in found.items()} == {
        "one#0": 0.0,
        "two#0": 0.0,
        "one/a1#0": 19.0,  # its end less its duration
        "one/a2#0": 30.0,  # launched in the background: its start
        "one/a1#1": 69.0,
        "two/a1#0": 80.0,  # a time of the session
        "one#1": 90.0,
        "two#1": 110.0,
    }
    waits = {name: request.waits_for for name, request in found.items() if request.waits_for}
    assert waits == {
        "one/a1#0": (index["one#0"],),
        "one/a2#0": (index["one#0"],),
        "two/a1#0": (index["two#0"],),
        "one#1": (index["one#0"], index["one/a1#1"]),
        "two#1": (index["two#0"], index["two/a1#0"]),
    }
    thinks = {name: request.delay_s for name, request in found.items() if request.delay_s is not None}
    assert thinks == {
        "one/a1#0": 0.5,
        "one/a2#0": 11.5,
        "one/a1#1": 48.0,
        "two/a1#0": 75.0,
        "one#1": 17.0,
        "two#1": 10.0,
    }


def test_ids_are_of_a_session_and_the_end_of_a_prompt_is_of_no_other() -> None:
    trace = load_trace(FILE)
    found = by_name(trace)
    assert (trace.chunk_tokens, trace.answers) == (64, "returned")
    assert list(found["one#1"].chunks)[:4] == [1, 2, 3, 7]
    assert found["one/a1#0"].chunks[:2] == found["one/a1#1"].chunks[:2]
    two = [set(found[name].chunks) for name in ("two#0", "two/a1#0", "two#1")]
    assert two[1] & two[2]
    one = {each for name, request in found.items() if name.startswith("one") for each in request.chunks}
    assert one.isdisjoint(two[0] | two[1] | two[2])
    assert trace.recorded[found["one/a1#1"].index] == Recorded(4.0, 1.5)
    assert trace.recorded[found["two#1"].index].service_s is None


def test_what_was_found_is_said() -> None:
    notes = load_trace(FILE).notes
    for note in (
        "sessions have no common clock: all start at 0",
        "sub-agents, streams of their own, with times from its own start: 2",
        "sub-agents, streams of their own, with times from the start of the session: 1",
        "requests without api_time, whose service is part of the think time after: 1",
    ):
        assert note in notes


def test_ids_of_a_global_scope_are_the_same_in_all_sessions(tmp_path: Path) -> None:
    rows = [session(request(0, 64, [7]), id=name, hash_id_scope="global") for name in "ab"]
    first, second = load(tmp_path, *rows).requests
    assert first.chunks == second.chunks


def test_sessions_that_repeat_earlier_ones_are_counted_and_keep_apart(tmp_path: Path) -> None:
    trace = load(tmp_path, *[session(request(0, 64, [7]), request(5, 128, [7, 8]))] * 3)
    assert trace.sessions == ("s", "s (2)", "s (3)")
    assert "sessions with the lengths of an earlier one, request by request: 2" in trace.notes


def test_a_request_that_seems_to_be_sent_before_its_answer_waits_for_it(tmp_path: Path) -> None:
    trace = load(tmp_path, session(request(0, 64, [7], api_time=4.4), request(4, 128, [7, 8])))
    assert trace.requests[1].delay_s == 0.0
    assert trace.fixed == {"requests sent before the answer that they wait for, taken as sent at it": 1}


def test_requests_without_a_prompt_are_dropped_and_others_sorted(tmp_path: Path) -> None:
    trace = load(
        tmp_path,
        session(request(0, 64, [7]), request(9, 128, [7, 8]), request(5, 192, [7, 8, 9]), request(6, 0, [])),
    )
    assert [r.prompt_tokens for r in trace.requests] == [64, 192, 128]
    assert trace.dropped == {"requests of sessions dropped, as they have no prompt": 1}
    assert trace.fixed == {"requests of a session put in the order of their times": 1}


def test_sub_agents_of_sub_agents_are_streams_too(tmp_path: Path) -> None:
    inner = {
        "t": 3.0,
        "type": "subagent",
        "agent_id": "y",
        "status": "completed",
        "requests": [request(0, 64, [9])],
    }
    outer = {
        "t": 10.0,
        "type": "subagent",
        "agent_id": "x",
        "status": "completed",
        "requests": [request(0, 64, [8], api_time=3.0), inner, request(5, 64, [8])],
    }
    trace = load(tmp_path, session(request(0, 64, [7], api_time=10.0), outer, request(20, 64, [7])))
    assert {r.session: r.timestamp_s for r in trace.requests if r.turn == 0} == {
        "s": 0.0,
        "s/x": 10.0,
        "s/x/y": 13.0,
    }
    assert by_name(trace)["s/x#1"].waits_for == (1, 2)


def test_a_session_that_is_taken_brings_its_sub_agents_along() -> None:
    whole, first = load_trace(FILE), load_trace(FILE, sessions=1)
    assert {*first.sessions} == {"one", "one/a1", "one/a2"}
    found = by_name(first)
    assert found["one#1"].waits_for == (found["one#0"].index, found["one/a1#1"].index)
    assert first.in_file == 8
    assert "sessions taken, the first of 2 in the file, with their sub-agents: 1" in first.notes
    assert load_trace(FILE, sessions=2).requests == whole.requests
    with pytest.raises(InputError, match="sessions = 3, but the file holds 2;"):
        load_trace(FILE, sessions=3)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_over_many_lines_and_a_list_of_sessions_are_read(tmp_path: Path, *, packed: bool) -> None:
    sessions = [json.loads(line) for line in FILE.read_text().splitlines()]
    path = tmp_path / "sessions.json"
    for value, n in ((sessions[0], 5), (sessions, 8)):
        text = json.dumps(value, indent=1).encode()
        path.write_bytes(gzip.compress(text) if packed else text)
        assert len(load_trace(path).requests) == n


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            session(request(0, 64, [7]), block_size=0),
            "block_size = 0: must be a whole number of tokens from 1",
        ),
        (session(hash_id_scope="own"), 'hash_id_scope = \'own\': must be "local" or "global"'),
        (session(request(0, 64, [7]), requests=[7]), "requests[0] = 7: must be a JSON object"),
        (session({"t": 0, "out": 1, "in": 64}), "requests[0].hash_ids is missing"),
        (session({"in": 64, "out": 1, "hash_ids": []}), "requests[0].t is missing"),
        (session(request(0, -1, [])), "requests[0].in = -1: must be a whole number of tokens from 1"),
        (session(request(0, 64, [7], api_time=-1)), "requests[0].api_time = -1: must be a finite number"),
        (
            session(request(0, 64, [7]), {"type": "subagent", "t": 0, "requests": [request(0, 64, [-7])]}),
            "requests[1].requests[0].hash_ids holds -7",
        ),
        (
            session({"t": 0, "in": 64, "out": 1, "hash_runs": [[1, 0]]}),
            "requests[0].hash_runs, number of ids = 0",
        ),
        (
            session({"t": 0, "in": 64, "out": 1, "hash_runs": [[-1, 1]]}),
            "requests[0].hash_runs holds [-1, 1]",
        ),
        (session({"t": 0, "in": 64, "out": 1, "hash_runs": 5}), "requests[0].hash_runs holds 5"),
        (session(request(0, 200, [7])), "input_length = 200 has 3 full chunks of 64 tokens, but 1 hash_ids"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_key(
    tmp_path: Path, record: dict[str, object], message: str
) -> None:
    assert refusal(tmp_path, session(request(0, 64, [7])), record).startswith(f"line 2: {message}")


@needs_shared
def test_the_public_sessions() -> None:
    trace = load_trace(SHARED_TRACES / "kv-cache-tester" / "traces_710_rle.jsonl.gz")
    assert (len(trace.requests), len(trace.sessions)) == (49_334, 710 + 63)
    assert "rows with output_length 0, taken as 1: 27" in trace.notes
    lengths = sorted(request.prompt_tokens for request in trace.requests)
    assert [round(lengths[len(lengths) * share // 100], -3) for share in (10, 50, 90)] == [
        42_000,
        104_000,
        234_000,
    ]


@needs_shared
def test_a_raw_file_is_the_session_that_the_coded_one_has() -> None:
    raw = load_trace(SHARED_TRACES / "kv-cache-tester" / "raw_trace_0001.json.gz")
    coded = load_trace(SHARED_TRACES / "kv-cache-tester" / "traces_710_rle.jsonl.gz", sessions=1)
    assert raw.requests == coded.requests
