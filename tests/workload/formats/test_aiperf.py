"""AIPerf's profile_export.jsonl as requests."""

from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.workload.findings import Findings
from sim.workload.formats import aiperf
from sim.workload.trace_file import load_trace
from tests.workload.files import written

S = 10**9
BEGIN = 1_700_000_000 * S


def record(
    session: str, turn: int, times_s: tuple[float, float], prompt: int, output: int, **more: Any
) -> dict[str, Any]:
    start_s, end_s = times_s
    return {
        "metadata": {
            "session_num": 0,
            "x_request_id": f"{session}.{turn}",
            "x_correlation_id": session,
            "conversation_id": "data-0",
            "turn_index": turn,
            "request_start_ns": BEGIN + round(start_s * S),
            "request_end_ns": BEGIN + round(end_s * S),
            "benchmark_phase": "profiling",
            "was_cancelled": False,
            **more.pop("metadata", {}),
        },
        "metrics": {
            "input_sequence_length": {"value": prompt, "unit": "tokens"},
            "output_sequence_length": {"value": output, "unit": "tokens"},
            "time_to_first_token": {"value": 250.0, "unit": "ms"},
        },
        "error": None,
        **more,
    }


RECORDS = (
    record("b", 0, (4.0, 5.0), 1000, 30),
    record("a", 1, (3.0, 4.5), 1200, 40),
    record("a", 0, (1.0, 2.0), 1000, 50),
    record("a", 2, (9.0, 9.5), 1100, 10),
)


def test_turns_begin_with_the_prompt_and_the_answer_before(tmp_path: Path) -> None:
    """The third prompt of a is shorter than its second, and nothing tells what is left of that."""
    found = aiperf.calls([written(tmp_path, *RECORDS)], Findings())
    assert [
        (call.name, call.send_s, call.end_s, call.ttft_s, call.parent, call.kept_tokens, call.answer_tokens)
        for call in found
    ] == [
        ("a.0", 0.0, 1.0, 0.25, None, 0, 0),
        ("a.1", 2.0, 3.5, 0.25, 0, 1000, 50),
        ("b.0", 3.0, 4.0, 0.25, None, 1000, 0),
        ("a.2", 8.0, 8.5, 0.25, 1, 0, 0),
    ]


def test_what_was_no_request_of_the_run_is_counted(tmp_path: Path) -> None:
    findings = Findings()
    others = (
        record("w", 0, (0, 1), 10, 5, metadata={"benchmark_phase": "warmup"}),
        record("c", 0, (0, 1), 10, 5, metadata={"was_cancelled": True}),
        record("f", 0, (0, 1), 10, 5, error={"code": 500}),
        record("n", 0, (0, 1), 10, 5, metrics={}),
        record("n", 0, (2, 1), 10, 5),
        "{cut",
    )
    assert len(aiperf.calls([written(tmp_path, *RECORDS, *others)], findings)) == 4
    assert findings.dropped == {
        "lines that are no JSON object, such as those cut in the middle": 1,
        "records without lengths or times": 2,
        "requests of the warm-up": 1,
        "requests that failed": 1,
        "requests that were cancelled": 1,
    }
    assert findings.notes[-2:] == [
        "conversations sent again, which begin with the same prompt: 1",
        "later turns, taken to begin with the whole prompt before if they are as long: 2",
    ]


def test_a_folder_of_results_and_a_file_of_any_name_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, *RECORDS)
    alone = load_trace(path)
    assert (alone.format, len(alone.requests), alone.answers) == ("aiperf", 4, "returned")
    assert [request.delay_s for request in alone.requests] == [None, 1.0, None, 4.5]
    folder = tmp_path / "artifacts"
    folder.mkdir()
    path.rename(folder / "profile_export.jsonl")
    assert load_trace(folder, format="aiperf").requests == alone.requests


def test_a_file_without_requests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no request with lengths and times"):
        load_trace(written(tmp_path, record("n", 0, (0, 1), 10, 5, metrics={})))
