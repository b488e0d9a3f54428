"""The synthetic trace: the same for the same seed, and like Mooncake's."""

import json
from pathlib import Path
from statistics import fmean

import pytest

from sim.workload.trace_file import load_trace
from tests.bench.synthetic import CHUNK_TOKENS, rows, write_trace


def test_equal_arguments_give_equal_files_that_the_simulator_reads(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_trace(tmp_path / name, 200, 3.2, seed=1)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    trace = load_trace(tmp_path / "a")
    assert (len(trace.requests), trace.chunk_tokens) == (200, CHUNK_TOKENS)
    assert json.loads((tmp_path / "a").read_text().splitlines()[0])["hash_ids"][0] == 0


def test_the_rate_changes_nothing_but_timestamps() -> None:
    slow, fast = list(rows(2000, 1.0, 0)), list(rows(2000, 4.0, 0))
    assert slow[-1]["timestamp"] == pytest.approx(4 * fast[-1]["timestamp"], abs=4)
    assert slow[-1]["timestamp"] == pytest.approx(2000e3, rel=0.1)
    for row in slow + fast:
        del row["timestamp"]
    assert slow == fast


def test_lengths_and_what_prompts_share_are_about_mooncakes() -> None:
    trace = list(rows(20_000, 3.2, 0))
    assert fmean(row["input_length"] for row in trace) == pytest.approx(12_000, rel=0.1)
    assert fmean(row["output_length"] for row in trace) == pytest.approx(343, rel=0.1)
    assert all(len(row["hash_ids"]) == -(-row["input_length"] // CHUNK_TOKENS) for row in trace)
    distinct = len({chunk for row in trace for chunk in row["hash_ids"]})
    assert distinct / sum(len(row["hash_ids"]) for row in trace) == pytest.approx(0.65, abs=0.05)
