"""Taps of vllm-vcr."""

from pathlib import Path

import pytest

from sim.workload.recorded import Recorded
from sim.workload.trace_file import load_trace
from tests.workload.files import DATA, load, refusal

HEAD = {"meta": {"block_size": 16}}
ROW = {"prompt_tokens": 40, "output_tokens": 3, "arrival_ms": 5.0, "block_hashes": [1, 2]}


def test_requests_are_sorted_by_their_arrival_with_what_was_recorded() -> None:
    trace = load_trace(DATA / "vllm_vcr.jsonl")
    assert (trace.chunk_tokens, trace.format) == (16, "vllm-vcr")
    assert [(r.timestamp_s, r.prompt_tokens, r.output_tokens) for r in trace.requests] == [
        (0.0, 20, 1),
        (1.5, 40, 3),
    ]
    assert trace.requests[0].chunks[0] == trace.requests[1].chunks[0] == 2**64 - 1
    assert trace.recorded == [Recorded(0.05, 0.05, 0), Recorded(0.125, 0.1, 16)]


def test_without_a_head_the_size_is_found(tmp_path: Path) -> None:
    rows = [ROW, ROW | {"prompt_tokens": 100_001, "block_hashes": [*range(6250)]}]
    assert load(tmp_path, *rows).chunk_tokens == 16


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"meta": 7}, "meta = 7: must be a JSON object"),
        ({"meta": {"block_size": 32}}, "meta.block_size = 32: an earlier head has 16"),
        (ROW | {"itl_ms": 5}, "itl_ms = 5: must be a list of times"),
        (ROW | {"itl_ms": [-1], "ttft_ms": 1}, "itl_ms = -1: must be a finite number"),
        (ROW | {"arrival_ms": None}, "arrival_ms is missing"),
        (ROW | {"prompt_tokens": 0}, "prompt_tokens = 0: must be a whole number of tokens"),
        (ROW | {"block_hashes": [1]}, "input_length = 40 has 2 full chunks of 16 tokens, but 1 hash_ids"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, row: dict[str, object], message: str) -> None:
    assert refusal(tmp_path, HEAD, row).startswith(f"line 2: {message}")
