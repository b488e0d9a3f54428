from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.measured.formats.request_trace import read_request_trace
from sim.measured.formats.usage import read_usage
from tests.measured.small_run import jsonl

REQUEST: dict[str, Any] = {
    "request_id": "r",
    "input_tokens": 40,
    "output_tokens": 2,
    "cached_tokens": 16,
    "request_received_ms": 1_000,
    "prefill_wait_time_ms": 0.5,
    "prefill_time_ms": 99.5,
    "ttft_ms": 100.0,
    "kv_transfer_estimated_latency_ms": 20.0,
    "worker": {"prefill_worker_id": 2**64 - 3, "decode_worker_id": 7},
    "replay": {"trace_block_size": 16, "input_length": 40, "input_sequence_hashes": [2**64 - 1, 4, 6]},
}


def write(folder: Path, *events: Any) -> Path:
    path = folder / "trace.jsonl"
    path.write_text(jsonl([{"timestamp": 5, "event": event} for event in events]), encoding="utf-8")
    return path


def end(**changes: Any) -> dict[str, Any]:
    request = {key: value for key, value in (REQUEST | changes).items() if value is not None}
    return {
        "schema": "dynamo.request.trace.v1",
        "event_type": "request_end",
        "event_time_unix_ms": 3000,
        "request": request,
    }


def test_a_request_has_its_workers_and_the_routers_estimate(tmp_path: Path) -> None:
    [found] = read_request_trace(write(tmp_path, end()))
    assert (found.request_id, found.received_s, found.end_s) == ("r", 1.0, 3.0)
    assert (found.prompt_tokens, found.output_tokens, found.router_cached_tokens) == (40, 2, 16)
    assert (found.prefill_wait_s, found.prefill_s, found.ttft_s) == (0.0005, 0.0995, 0.1)
    assert (found.kv_transfer_s, found.block_tokens) == (0.02, 16)
    assert (found.prefill_worker_id, found.decode_worker_id) == (2**64 - 3, 7)
    assert found.block_hashes == [2**64 - 1, 4, 6]


def test_the_older_form_says_less(tmp_path: Path) -> None:
    absent = dict.fromkeys(
        ("input_tokens", "cached_tokens", "prefill_wait_time_ms", "prefill_time_ms", "ttft_ms", "worker")
    )
    [found] = read_request_trace(write(tmp_path, end(**absent)))
    assert (found.prompt_tokens, found.router_cached_tokens, found.ttft_s) == (40, None, None)
    assert found.prefill_worker_id is None


def test_other_events_are_left_out(tmp_path: Path) -> None:
    tool = {"event_type": "tool", "event_time_unix_ms": 3000}
    assert len(read_request_trace(write(tmp_path, tool, end()))) == 1


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 2: event\.request\.replay is missing"):
        read_request_trace(write(tmp_path, end(), end(replay=None)))
    with pytest.raises(InputError, match=r"line 1: event\.request is missing"):
        read_request_trace(write(tmp_path, end() | {"request": None}))


def test_usage_is_known_by_the_clients_id_and_has_the_routers(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    counts = {"prompt_tokens": 40, "completion_tokens": 2}
    rows = [
        {
            "id": "req-0",
            "rid": "chatcmpl-r",
            "usage": counts | {"prompt_tokens_details": {"cached_tokens": 16}},
        },
        {"id": "req-1", "rid": "cmpl-s", "usage": counts | {"prompt_tokens_details": None}},
    ]
    path.write_text(jsonl(rows), encoding="utf-8")
    found = read_usage(path)
    assert [(usage.request_id, usage.cached_tokens) for usage in found.values()] == [("r", 16), ("s", None)]
    assert found["req-0"].prompt_tokens == 40
    path.write_text(jsonl([{"id": "req-0", "usage": {"prompt_tokens": 1}}]), encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: usage\.completion_tokens is missing"):
        read_usage(path)
