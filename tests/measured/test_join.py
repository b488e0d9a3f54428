import json
from pathlib import Path
from typing import Any

import pytest

from sim.measured.run import MeasuredRun, load_run
from tests.measured.small_run import IDS, SMALL, UNIX_S, WORKERS, bench, copy, jsonl, lines


def changed_bench(**changes: Any) -> str:
    return json.dumps({key: value for key, value in (bench() | changes).items() if value is not ...})


LISTS = ("input_lens", "output_lens", "ttfts", "itls", "start_times", "errors")


def run_of(folder: Path, **texts: str | None) -> MeasuredRun:
    return load_run(copy(folder / "run", **texts))


def test_each_request_has_all_its_records() -> None:
    run = load_run(SMALL)
    assert run.notes == ()
    assert [request.row for request in run.requests] == [0, 1, 2]
    assert [request.request_id for request in run.requests] == list(IDS)
    assert [request.session for request in run.requests] == ["a", "b", "a"]
    assert [request.prompt_tokens for request in run.requests] == [40, 40, 70]
    assert [request.output_tokens for request in run.requests] == [2, 2, 1]
    assert [request.engine_cached_tokens for request in run.requests] == [0, 0, 16]
    assert [request.prefill_worker_id for request in run.requests] == [WORKERS[0], WORKERS[1], WORKERS[1]]
    assert all(request.completed and request.trace for request in run.requests)


def test_times_are_seconds_of_the_run_on_one_clock() -> None:
    run = load_run(SMALL)
    assert run.requests[0].clock.bench_s == 500.0
    # Request 1 was with the router 101 ms after 08:00 and sent 100 ms after the first: nobody was quicker.
    assert run.requests[0].clock.unix_s == pytest.approx(UNIX_S + 0.001, abs=1e-6)
    assert [request.send_s for request in run.requests] == pytest.approx([0.0, 0.1, 1.05])
    assert [request.received_s for request in run.requests] == pytest.approx([0.004, 0.1, 1.052], abs=1e-6)
    assert [request.first_token_s for request in run.requests] == pytest.approx([0.2, 0.4, 1.15])
    assert [request.end_s for request in run.requests] == pytest.approx([0.25, 0.46, 1.15])
    decision = run.requests[2].prefill
    assert decision is not None
    assert run.requests[2].at(decision.ended_s) == pytest.approx(3.999, abs=1e-6)


def test_failed_requests_have_no_end(tmp_path: Path) -> None:
    run = run_of(tmp_path, bench_json=changed_bench(errors=["", "gone", ""], input_lens=[40, 0, 70]))
    failed = run.requests[1]
    assert not failed.completed
    assert (failed.send_s, failed.first_token_s, failed.end_s) == (pytest.approx(0.1), None, None)
    assert failed.trace is not None


def test_without_details_the_routers_receipt_counts(tmp_path: Path) -> None:
    run = run_of(tmp_path, bench_json=changed_bench(**dict.fromkeys(LISTS, ...)))
    assert [request.send_s for request in run.requests] == pytest.approx([0.0, 0.096, 1.048], abs=1e-6)
    assert [request.session for request in run.requests] == ["a", "b", "a"]
    assert run.requests[0].first_token_s is None
    assert all(request.completed for request in run.requests)


def test_without_the_log_the_client_and_the_usage_are_joined(tmp_path: Path) -> None:
    run = run_of(tmp_path, router_log=None)
    assert [request.request_id for request in run.requests] == list(IDS)
    assert [request.engine_cached_tokens for request in run.requests] == [0, 0, 16]
    assert [request.prefill_worker_id for request in run.requests] == [None] * 3
    assert run.requests[0].received_s is None


def traced(row: int) -> dict[str, Any]:
    return {
        "timestamp": row,
        "event": {
            "event_type": "request_end",
            "event_time_unix_ms": 1000 * UNIX_S + 500,
            "request": {
                "request_id": IDS[row],
                "output_tokens": 1,
                "request_received_ms": 1000 * UNIX_S + row,
                "worker": {"prefill_worker_id": WORKERS[1], "decode_worker_id": WORKERS[0]},
                "replay": {"trace_block_size": 16, "input_length": 40, "input_sequence_hashes": [1]},
            },
        },
    }


def test_the_request_trace_knows_workers_too(tmp_path: Path) -> None:
    text = jsonl([traced(1), traced(0)])
    run = run_of(tmp_path, router_log=None, **{"requests.jsonl": text})
    assert [request.prefill_worker_id for request in run.requests] == [WORKERS[1], WORKERS[1], None]
    assert [request.decode_worker_id for request in run.requests] == [WORKERS[0], WORKERS[0], None]
    assert run.notes == ("the request trace was found for 2 of 3 requests",)


def test_a_request_trace_alone_is_taken_in_order_of_receipt(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_text(jsonl([traced(1), traced(0)]), encoding="utf-8")
    run = load_run(tmp_path)
    assert [request.request_id for request in run.requests] == [IDS[0], IDS[1]]
    assert [request.received_s for request in run.requests] == pytest.approx([0.0, 0.001], abs=1e-6)


def test_requests_of_other_clients_are_left_out(tmp_path: Path) -> None:
    log = lines("router.log")
    other = [line.replace("aaaa-0", "warm").replace("req-0", "warm-up-0") for line in log[1:]]
    run = run_of(tmp_path, router_log="\n".join(other[:9] + log))
    assert [request.request_id for request in run.requests] == list(IDS)
    assert run.notes[0].endswith("under this client's ids req-0, req-1, ...: 1")


def test_a_log_without_the_clients_ids_is_taken_in_order(tmp_path: Path) -> None:
    run = run_of(tmp_path, router_log="\n".join(lines("router.log")).replace("x_request_id", "x"))
    assert [request.request_id for request in run.requests] == list(IDS)
    assert "no client's ids" in run.notes[0]


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        (
            "\n".join(lines("trace.jsonl")).replace('"input_length": 70', '"input_length": 69'),
            "request 2 was sent with 70 prompt tokens, the trace has 69 tokens",
        ),
        (
            "\n".join(lines("trace.jsonl")[:2]),
            "request 2 was sent with 70 prompt tokens, the trace has no such row",
        ),
    ],
)
def test_a_trace_of_another_run_is_not_joined(tmp_path: Path, trace: str, reason: str) -> None:
    run = run_of(tmp_path, trace_jsonl=trace)
    assert all(request.trace is None for request in run.requests)
    [note] = run.notes
    assert note.startswith(f"the trace is not joined: {reason}")
