"""`sim validate`: what it prints, and how bad input ends."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from sim.cli import app
from tests.measured.small_run import SMALL, copy


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["validate", *arguments], terminal_width=100)


def test_it_prints_measured_beside_predicted() -> None:
    result = call("cpu-agg2", "--measured", str(SMALL), "--seeds", "2")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "small validated on cpu-agg2"
    assert "Workers and times as recorded measured predicted error LRU error" in lines
    assert "of them recomputed 32 32 0 32 0" in lines
    assert "Engine's cached tokens right for 3 of 3 requests, by the LRU for 3" in lines
    assert "worker0 2 2 2 of 2 33.3 %" in lines
    assert any(line.startswith("Tokens recomputed 32 ") for line in lines)
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_several_runs_end_with_a_line_for_each(tmp_path: Path) -> None:
    other = copy(tmp_path / "other")
    result = call("cpu-agg2", "--measured", str(SMALL), "--measured", str(other), "--step", "forced")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines() if line.strip()]
    assert lines[-3:] == [
        "Recomputed tokens measured forced LRU requests right free: 95 % measured is",
        "small 32 0 0 3/3 - -",
        "other 32 0 0 3/3 - -",
    ]


def test_json_has_every_number() -> None:
    result = call("cpu-agg2", "--measured", str(SMALL), "--step", "free", "--seeds", "1", "--format", "json")
    (run,) = json.loads(result.stdout)["runs"]
    assert run["forced"] is None
    assert run["free"]["seeds"] == 1
    assert run["free"]["predictions"]["recomputed_tokens"]["measured"] == 32
    assert run["settings"] == (
        'as the run\'s own files tell: workers.count = 2, engine.kv_blocks = 320, router.policy = "kv", '
        "router.prefill_load_scale = 1.0, router.overlap_score_credit = 1.0"
    )


def test_set_wins_over_what_the_run_tells() -> None:
    result = call(
        "cpu-agg2",
        "--measured",
        str(SMALL),
        "--step",
        "forced",
        "--set",
        "engine.kv_blocks=100",
        "--format",
        "json",
    )
    assert "kv_blocks" not in json.loads(result.stdout)["runs"][0]["settings"]


def test_bad_input_is_a_message() -> None:
    result = call("cpu-agg2", "--measured", "nowhere")
    assert (result.exit_code, result.stderr) == (2, "Error: nowhere: no such folder\n")
    result = call("cpu-2p2d", "--measured", str(SMALL))
    assert result.exit_code == 2
    assert "workers" in result.stderr
    assert call("cpu-agg2").exit_code == 2
