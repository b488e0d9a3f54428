"""`sim run --trace-events`: a timeline beside the summary."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sim.cli import app
from sim.simulation.run import run

SMALL = ("--set", "workload.sessions=2", "--set", "workload.turns=2")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["run", "agg8", *SMALL, *arguments])


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_a_timeline_is_written(tmp_path: Path, name: str) -> None:
    result = call("--trace-events", str(tmp_path / name))
    assert result.exit_code == 0
    assert result.stdout == call().stdout
    content = (tmp_path / name).read_bytes()
    events = json.loads(gzip.decompress(content) if name.endswith(".gz") else content)["traceEvents"]
    expected = run("agg8", {"workload.sessions": 2, "workload.turns": 2}).trace_events()
    assert events == json.loads(json.dumps(expected))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_it_is_of_one_run(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    result = call("--trace-events", str(file), "--repeat", "2")
    assert result.exit_code == 2
    assert result.stderr == f"Error: --trace-events {file}: shows one run; leave --repeat and --draws out\n"
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_told_before_anything_is_run(tmp_path: Path) -> None:
    file = tmp_path / "none" / "run.json"
    result = call("--trace-events", str(file), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert result.stderr == f"Error: {file}: No such file or directory\n"
    assert not list(tmp_path.iterdir())


def test_bounds_are_in_json_and_in_what_is_kept(tmp_path: Path) -> None:
    result = call("--bounds", "--format", "json", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0
    bounds = json.loads(result.stdout)["bounds"]
    assert [*bounds] == ["round-robin", "oracle"]
    assert bounds["round-robin"] < bounds["oracle"] < 1
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["bounds"] == bounds


@pytest.mark.slow
def test_several_seeds_have_bounds_of_each() -> None:
    content = json.loads(call("--bounds", "--repeat", "2", "--format", "json").stdout)
    found = [seed["bounds"]["oracle"] for seed in content["runs"]]
    assert content["intervals"]["bounds"]["oracle"]["mean"] == pytest.approx(sum(found) / 2)
