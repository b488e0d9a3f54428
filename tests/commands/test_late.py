"""Commands of many runs where requests wait in the client: one at a time, a step of 0.33 s each."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sim.cli import app

SCENARIO = """\
title = "By hand"
model = "tiny-llama-bf16"
gpu = "h100-80gb"
workload = { path = "burst.jsonl", chunk_tokens = 16 }
replay = { client = "max-concurrency", max_concurrency = 1 }
workers = { count = 1 }
engine = { kv_blocks = 1000, async_scheduling = false, block_size = 16 }
frontend = { alpha_in_s = 0, alpha_in_s_per_token = 0, alpha_out_s = 0, dispatch_s = 0, event_delay_s = 0 }

[timing]
c_step_s = "10ms"
c_tok_s_per_token = "1ms"
smooth_max_p = 1
t_floor_s = 0
a_pair_s = 0
c_kv_s_per_token = 0
c_mixed_s_per_token = 0
c_seq_s = 0
c_pf_s = 0
label = "by hand"
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Three prompts of 320 tokens at once, an answer of one token: sent at 0, 0.33 and 0.66 s."""
    rows = [
        {
            "timestamp": 0,
            "input_length": 320,
            "output_length": 1,
            "hash_ids": list(range(20 * n, 20 * n + 20)),
            "session_id": f"s{n}",
        }
        for n in range(3)
    ]
    (tmp_path / "burst.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    file = tmp_path / "burst.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return str(file)


def call(*arguments: str) -> Result:
    result = CliRunner().invoke(app, [*arguments, "--jobs", "1"])
    assert result.exit_code == 0, result.output
    return result


def words(result: Result) -> str:
    return " ".join(result.stdout.split())


LATE = (
    "requests leave 330 ms after they were due, on average: with its limit on requests in flight the cluster "
    "does not keep up with the arrivals; from the time they were due TTFT p50 is 660 ms, not 330 ms"
)
SIZE = ("--max-gpus", "1", "--repeat", "1", "--host-ram", "0")


def test_a_comparison_warns_and_has_a_row(source: str) -> None:
    result = call("compare", source)
    assert f"! {LATE}" in words(result)
    assert "Sent late by, mean 330 ms" in words(result)


def test_a_sweep_warns_and_has_a_column_unless_others_are_asked_for(source: str) -> None:
    points = ("sweep", source, "--set", "replay.max_concurrency=1,3")
    result = call(*points)
    assert f"! at replay.max_concurrency=1 {LATE}" in words(result)
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row[-2:] for row in rows if row[:1] in (["1"], ["3"])] == [["330", "ms"], ["0", "s"]]
    asked = call(*points, "--metric", "from_due.ttft_s.p50")
    assert "Sent late by" not in asked.stdout
    assert f"! at replay.max_concurrency=1 {LATE}" in words(asked)


def test_a_cluster_that_holds_only_because_requests_wait_is_marked(source: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = call("size", source, "--slo", "ttft_s.p50<0.5", *SIZE, "--out", str(out))

    (row,) = [line.split() for line in result.stdout.splitlines() if "aggregated   " in line and "ms" in line]
    assert row[:3] == ["1", "!", "aggregated"]
    assert row[3:6] == ["none", "330", "ms"]
    assert row[-3:] == ["330", "ms", "0.0917"]
    assert (
        "! 1 worker: keeps TTFT p50 below 500 ms only because requests wait in the client: " + LATE
    ) in words(result)
    assert (
        "! no cluster that was tried keeps it from the time when requests were due; to size by what users "
        'wait: --slo "from_due.ttft_s.p50<0.5"'
    ) in words(result)
    (smallest,) = json.loads((out / "size.json").read_text())["smallest"]
    assert (smallest["holds"], smallest["holds_from_due"]) == (True, False)
    assert smallest["late_s.mean"] == pytest.approx(0.33)


def test_limits_may_count_from_due(source: str) -> None:
    result = call("size", source, "--slo", "from_due.ttft_s.p50<0.5", *SIZE)
    assert "No number of GPUs gets TTFT p50 from due under 660 ms." in words(result)
    assert "So no cluster was tried" in words(result)
    searched = call("size", source, "--slo", "from_due.ttft_s.p50<0.5", *SIZE, "--anyway")
    assert "none of these clusters holds" in words(searched)
    kept = call("size", source, "--slo", "from_due.ttft_s.p50<700ms", "--slo", "late_s.p95<1", *SIZE)
    assert "TTFT p50 from due < 700 ms and Sent late by, p95 < 1.00 s" in words(kept)
    assert "only because requests wait" not in words(kept)
