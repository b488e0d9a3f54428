"""A trace file to a `Trace`: what is read, and what is said about it."""

import gzip
import json
from array import array
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.base.reading import BUFFER_BYTES
from sim.workload.request import Request
from sim.workload.trace_file import load_trace
from tests.workload.files import DATA, ROW, SHARED_TRACES, load, needs_shared, refusal


def test_a_mooncake_file_with_sessions_and_delays() -> None:
    trace = load_trace(DATA / "sessions.jsonl")
    assert trace.requests == (
        Request(0, "s2", 0, 0.0, None, 128, 3, array("Q", [1, 7])),
        Request(1, "s1", 0, 0.5, None, 150, 7, array("Q", [1, 2, 3])),
        Request(2, "s2", 1, 0.5, 0.0, 129, 4, array("Q", [1, 7, 8])),
        Request(3, "s1", 1, 8.5, 1.5, 230, 9, array("Q", [1, 2, 4, 5])),
        Request(4, "s1", 2, None, 0.25, 256, 11, array("Q", [1, 2, 4, 6])),
    )
    assert (trace.chunk_tokens, trace.source) == (64, "sessions.jsonl")
    assert trace.notes == (
        "read as mooncake: timestamps in units of 0.001 s",
        "one hash id stands for 64 tokens, which fits every row",
        "rows sorted by timestamp, stably (vLLM's own client sends in file order)",
        "timestamps re-based: the first, 500, became 0",
    )


def test_a_timed_trace_in_seconds() -> None:
    trace = load_trace(DATA / "timed_trace.jsonl")
    assert [request.timestamp_s for request in trace.requests] == [0.0, 0.75]
    assert trace.chunk_tokens == 16
    assert trace.notes[0] == "read as timed_trace: timestamps in units of 1 s"


def test_sec_multiplier_is_the_unit_of_a_timed_trace(tmp_path: Path) -> None:
    row = {"timestamp": 2500, "input_length": 130, "output_length": 12, "hash_ids": [7, 8, 31]}
    trace = load(tmp_path, ROW | row, row | {"timestamp": 2750}, sec_multiplier=0.001, chunk_tokens=64)
    assert [request.timestamp_s for request in trace.requests] == [0.0, 0.25]
    with pytest.raises(InputError, match=r"mooncake timestamps are in units of 0\.001 s"):
        load(tmp_path, row, format="mooncake", sec_multiplier=1)


def test_whole_timestamps_are_seconds_only_if_the_format_is_stated(tmp_path: Path) -> None:
    rows = ROW, ROW | {"timestamp": 3}
    assert load(tmp_path, *rows).requests[1].timestamp_s == 0.003
    assert load(tmp_path, ROW, ROW | {"timestamp": 3.0}).requests[1].timestamp_s == 0.003
    assert load(tmp_path, *rows, format="timed_trace").requests[1].timestamp_s == 3.0


def test_gzip_is_read_whatever_the_name_and_in_several_members(tmp_path: Path) -> None:
    plain = (DATA / "sessions.jsonl").read_bytes()
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(gzip.compress(plain[:300]) + gzip.compress(plain[300:]))
    assert load_trace(path) == load_trace(DATA / "sessions.jsonl")


def test_dynamos_other_names_for_keys(tmp_path: Path) -> None:
    row = {
        "created_time": 2.5,
        "input_tokens": 1000,
        "output_tokens": 5,
        "hash_ids": [1, 2],
        "session_id": "a",
    }
    trace = load(tmp_path, row, row | {"created_time": 10, "delay_ms": 1500})
    assert trace.requests[1] == Request(1, "a", 1, 0.0075, 1.5, 1000, 5, array("Q", [1, 2]))
    assert "input_length and input_tokens mean the same" in refusal(tmp_path, row | {"input_length": 1000})


def test_sessions_takes_the_first_in_order_of_appearance_in_the_file() -> None:
    trace = load_trace(DATA / "sessions.jsonl", sessions=1)
    assert trace.sessions == ("s1",)
    assert trace.requests[0].timestamp_s == 0.0, "re-based to the first row that is left"
    assert [request.index for request in trace.requests] == [0, 1, 2]
    assert "sessions taken, the first of 2 in the file: 1" in trace.notes
    assert (trace.in_file, list(trace.lines)) == (5, [1, 2, 3])
    with pytest.raises(InputError, match=r"sessions = 3, but the file holds 2; without sessions .* all are"):
        load_trace(DATA / "sessions.jsonl", sessions=3)


def test_rows_without_a_session_are_sessions_of_their_own(tmp_path: Path) -> None:
    trace = load(tmp_path, ROW, ROW)
    assert trace.sessions == ("line 1", "line 2")
    assert "rows without a session, each taken as one of its own: 2" in trace.notes


def test_unsorted_and_negative_timestamps_are_sorted_stably_and_re_based_and_that_is_said(
    tmp_path: Path,
) -> None:
    times = (5000, 0, -100, 5000, 10)
    trace = load(tmp_path, *(ROW | {"timestamp": t, "output_length": i} for i, t in enumerate(times, 1)))
    assert [(r.timestamp_s, r.output_tokens) for r in trace.requests] == [
        (0.0, 3),
        (0.1, 2),
        (0.11, 5),
        (5.1, 1),
        (5.1, 4),
    ]
    assert "rows sorted by timestamp, stably (vLLM's own client sends in file order)" in trace.notes
    assert "timestamps re-based: the first, -100, became 0" in trace.notes


def test_rebasing_whole_milliseconds_is_exact(tmp_path: Path) -> None:
    trace = load(tmp_path, ROW | {"timestamp": 1178625}, ROW | {"timestamp": 1178725})
    assert [request.timestamp_s for request in trace.requests] == [0.0, 0.1]


def test_ids_are_exact_up_to_64_bits(tmp_path: Path) -> None:
    ids = [2**63 + 1, 2**32 + 1]
    trace = load(tmp_path, ROW | {"hash_ids": ids}, ROW | {"hash_ids": [1, 1]})
    assert list(trace.requests[0].chunks) == ids
    assert list(trace.requests[1].chunks) == [1, 1]


def test_an_output_of_0_counts_as_1_and_that_is_said(tmp_path: Path) -> None:
    trace = load(tmp_path, ROW | {"output_length": 0}, ROW | {"output_length": 1})
    assert [request.output_tokens for request in trace.requests] == [1, 1]
    assert "rows with output_length 0, taken as 1: 1" in trace.notes


def test_blank_lines_and_unknown_keys_are_left_out_and_that_is_said(tmp_path: Path) -> None:
    trace = load(tmp_path, ROW, "", "  ", ROW | {"user": 3, "type": "text"})
    assert len(trace.requests) == 2
    assert "blank lines skipped: 2" in trace.notes
    assert "keys without a meaning here, left out: type, user" in trace.notes


def test_ids_beyond_the_length_are_left_out_and_that_is_said(tmp_path: Path) -> None:
    trace = load(tmp_path, ROW | {"hash_ids": [1, 2, 3, 4]}, ROW, chunk_tokens=512)
    assert [list(request.chunks) for request in trace.requests] == [[1, 2], [1, 2]]
    assert "rows with more hash_ids than their input_length needs, the rest left out: 1" in trace.notes


def test_a_turn_without_delay_is_said_to_leave_at_its_timestamp(tmp_path: Path) -> None:
    trace = load(tmp_path, ROW | {"session_id": "a"}, ROW | {"session_id": "a", "timestamp": 2000})
    assert trace.requests[1].delay_s is None
    assert any(
        note.startswith("later turns without a delay") and note.endswith(": 1") for note in trace.notes
    )


def test_a_repeated_request_id_is_dropped_if_the_row_is_the_same_and_refused_otherwise(
    tmp_path: Path,
) -> None:
    row = ROW | {"request_id": "r1"}
    trace = load(tmp_path, row, row, row | {"request_id": "r2"})
    assert len(trace.requests) == 2
    assert "rows dropped that repeat an earlier one, request_id and all: 1" in trace.notes
    message = refusal(tmp_path, row, row | {"output_length": 6})
    assert message == 'line 2: request_id = "r1" is that of line 1, with other content'


def test_a_key_that_the_format_does_not_know_is_none_of_its_fields(tmp_path: Path) -> None:
    rows = ROW | {"session_id": "a", "delay": 3}, ROW | {"session_id": "a", "timestamp": 1, "delay": 3}
    assert load(tmp_path, *rows, format="mooncake").requests[1].delay_s == 0.003
    assert load(tmp_path, *rows, format="timed_trace").requests[1].delay_s is None


def test_a_key_that_holds_null_is_not_given(tmp_path: Path) -> None:
    row = ROW | {"session_id": None, "created_time": None, "timestamp": 5, "delay": None}
    trace = load(tmp_path, ROW | {"created_time": None}, row, row | {"timestamp": None, "created_time": 7})
    assert [request.timestamp_s for request in trace.requests] == [0.0, 0.005, 0.007]
    assert trace.sessions == ("line 1", "line 2", "line 3")


def test_the_keys_of_a_row_may_come_in_any_order_and_differ_from_row_to_row(tmp_path: Path) -> None:
    rows = ROW, dict(reversed(ROW.items())), ROW | {"session_id": 7}, ROW | {"session": 7, "x": 1}
    trace = load(tmp_path, *rows)
    assert trace.sessions == ("line 1", "line 2", "7")
    assert {(r.prompt_tokens, r.output_tokens, *r.chunks) for r in trace.requests} == {(1000, 5, 1, 2)}


@pytest.mark.parametrize("line", [json.dumps(ROW).encode("utf-16"), "\ufeff" + json.dumps(ROW)])
def test_what_only_the_standard_library_takes_for_json_is_read(tmp_path: Path, line: str | bytes) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(line if isinstance(line, bytes) else line.encode())
    assert len(load_trace(path).requests) == 1


def test_a_line_longer_than_the_buffer_is_one_line(tmp_path: Path) -> None:
    n = BUFFER_BYTES // 4
    long = ROW | {"input_length": n * 16, "hash_ids": list(range(10_000, 10_000 + n))}
    trace = load(tmp_path, long, long, chunk_tokens=16)
    assert [list(request.chunks) for request in trace.requests] == [long["hash_ids"]] * 2


@needs_shared
@pytest.mark.parametrize(
    ("name", "n_requests", "n_sessions", "chunk_tokens"),
    [
        ("mooncake/conversation_trace.jsonl", 12_031, 12_031, 512),
        ("dynamo/mooncake_trace_1000.jsonl", 1_000, 1_000, 512),
        ("talk-like-53/t28x20_mid20_local.jsonl.gz", 560, 28, 64),
    ],
)
def test_recorded_traces(name: str, n_requests: int, n_sessions: int, chunk_tokens: int) -> None:
    trace = load_trace(SHARED_TRACES / name)
    assert (len(trace.requests), len(trace.sessions)) == (n_requests, n_sessions)
    assert trace.chunk_tokens == chunk_tokens
