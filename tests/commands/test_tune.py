"""`sim tune`: what it prints and keeps."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import sim.experiments.jobs.job
from sim.cli import app
from sim.scenario.load import load_scenario

pytest.importorskip("optuna", reason="Optuna is not installed")

SMALL = ("agg8", "--set", "workload.sessions=2", "--set", "workload.turns=2", "--jobs", "1")
SEARCH = (
    "--objective",
    "ttft_s.p95",
    "--constraint",
    "itl_s.p99<1",
    "--constraint",
    "1% of by_turn.later.ttft_s<1000",
    "--trials",
    "3",
    "--repeat",
    "1",
    "--check",
    "3",
)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["tune", *arguments])


def test_settings_and_what_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    first = call(*SMALL, *SEARCH, "--out", str(out))

    assert (first.exit_code, first.stderr) == (0, "")
    assert "With seeds 1 to 3, which the search did not see" in first.stdout
    assert {path.name for path in out.iterdir()} == {
        "best.toml",
        "runs.jsonl",
        "trials.parquet",
        "trials.png",
        "tune.json",
    }
    assert "What binds TTFT p95" in first.stdout
    # What runs were asked for beside is no setting of the scenario.
    assert "time_spent" not in (out / "best.toml").read_text()
    content = json.loads((out / "tune.json").read_text())
    assert len(content["search"]["trials"]) == 3
    best = load_scenario(out / "best.toml")
    credit = content["best"]["settings"]["router.overlap_score_credit"]
    assert best.router.overlap_score_credit == float(credit)

    monkeypatch.setattr(sim.experiments.jobs.job, "run", None)
    again = call(*SMALL, *SEARCH, "--out", str(out), "--format", "json")
    assert json.loads(again.stdout) == content


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--objective"),
        (["--objective", "ttft_s.p95", "--check", "2"], "--check"),
        (["--objective", "ttft"], "--objective ttft: no number of the summary has this name"),
        (["--objective", "ttft_s.p95", "--space", "router.temperature"], "--space router.temperature: write"),
        (["--objective", "ttft_s.p95", "--constraint", "x"], "--constraint x: write NUMBER<LIMIT"),
    ],
)
def test_wrong_input_is_a_message_and_status_2(arguments: list[str], message: str) -> None:
    result = call(*SMALL, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
