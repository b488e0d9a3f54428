"""`sim size`: what it prints and keeps."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import sim.experiments.jobs.job
from sim.cli import app

SMALL = ("agg8", "--sessions", "2", "--set", "workload.turns=2", "--jobs", "1")
SEARCH = ("--slo", "ttft_s.p50<1000", "--max-gpus", "3", "--repeat", "1")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["size", *arguments])


def test_clusters_and_their_margins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    first = call(*SMALL, *SEARCH, "--out", str(out))

    assert (first.exit_code, first.stderr) == (0, "")
    assert "agg8: clusters with TTFT p50 < 1,000 s at 2 sessions" in first.stdout
    assert {path.name for path in out.iterdir()} == {
        "clusters.parquet",
        "frontier.png",
        "runs.jsonl",
        "size.json",
    }
    content = json.loads((out / "size.json").read_text())
    assert [row["layout"] for row in content["smallest"]] == ["1", "1P1D"]

    monkeypatch.setattr(sim.experiments.jobs.job, "run", None)
    again = call(*SMALL, *SEARCH, "--out", str(out), "--format", "json")
    assert json.loads(again.stdout) == content


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--slo"),
        (["--slo", "ttft_s.p50"], "--slo ttft_s.p50: write NUMBER<LIMIT"),
        (["--slo", "ttft.p50<3"], "--slo ttft.p50: no number of the summary has this name"),
        (["--slo", "ttft_s.p50<3", "--host-ram", "x"], "--host-ram x: 'x' is not a size"),
        (["--slo", "ttft_s.p50<3", "--max-gpus", "0"], "--max-gpus"),
    ],
)
def test_wrong_input_is_a_message_and_status_2(arguments: list[str], message: str) -> None:
    result = call(*SMALL, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
