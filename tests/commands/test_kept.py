"""What `--out` keeps when a name is taken meanwhile, a disk is full, or Ctrl-C comes."""

import errno
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import sim.show.pictures.comparison
import sim.show.pictures.sweep
import sim.simulation.run
from sim.cli import app
from sim.commands.report import NAME

SMALL = ("--set", "workload.sessions=2", "--set", "workload.turns=2")


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Have something done at the end of the next run."""

    def prepare(do: Callable[[], object]) -> None:
        run = sim.simulation.run.run

        def run_and_do(*arguments: Any, **named: Any) -> Any:
            result = run(*arguments, **named)
            do()
            return result

        monkeypatch.setattr(sim.simulation.run, "run", run_and_do)

    return prepare


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_name_that_is_taken_meanwhile_is_status_4_and_costs_nothing(
    tmp_path: Path, during: Callable[[Callable[[], object]], None], force: list[str]
) -> None:
    out = tmp_path / "out"

    def take() -> None:
        out.mkdir()
        (out / "thesis.tex").write_text("years of work")

    during(take)
    result = call("run", "agg8", *SMALL, "--out", out, *force)
    assert result.exit_code == 4
    assert "4 requests: 4 completed" in result.stdout
    assert result.stderr == (
        f"Error: {out}: something appeared there meanwhile, and stays as it is; "
        f"the results are kept in {out}-1\n"
    )
    assert names(out) == ["thesis.tex"]
    assert call("report", tmp_path / "out-1").exit_code == 0


def test_ctrl_c_keeps_nothing_of_a_run_and_says_so(
    tmp_path: Path, during: Callable[[Callable[[], object]], None]
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    during(stop)
    result = call("run", "agg8", *SMALL, "--out", tmp_path / "out")
    again = shlex.join(["run", "agg8", *SMALL, "--out", str(tmp_path / "out")])
    says = f"Stopped: nothing is kept\nTo begin anew: sim {again}\n"
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", says)
    assert not names(tmp_path)


def test_a_full_disk_leaves_the_summary_on_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    out = tmp_path / "out"
    for repeat in ([], ["--repeat", "2"]):
        result = call("run", "agg8", *SMALL, "--format", "json", "--out", out, *repeat)
        assert result.exit_code == 2
        assert json.loads(result.stdout)["schema_version"] == 1
        file = "seed-0/requests.parquet" if repeat else "requests.parquet"
        assert result.stderr == f"Error: {out}/{file}: No space left on device; nothing is kept\n"
        assert not names(tmp_path)


@pytest.mark.slow
def test_a_full_disk_at_the_picture_costs_no_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    result = call("compare", "agg8", "agg4", *SMALL, "--jobs", "1", "--out", out)
    assert result.exit_code == 2
    assert "TTFT p50" in result.stdout
    assert result.stderr == (
        f"Error: {out}/comparison.png: No space left on device; "
        f"all else is kept in {out}; sim compare {out} --out NEW draws it again\n"
    )
    assert names(out) == ["comparison.json", "comparison.parquet", "scenarios"]
    monkeypatch.undo()
    assert call("compare", out, "--out", tmp_path / "new").exit_code == 0
    assert "comparison.png" in names(tmp_path / "new")


def test_a_picture_that_fails_costs_no_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("sim.show.pictures.comparison.plots", fail)
    result = call("compare", "agg8", "agg4", *SMALL, "--jobs", "1", "--out", tmp_path / "out")
    assert isinstance(result.exception, ZeroDivisionError)
    assert "comparison.json" in names(tmp_path / "out")


def test_a_full_disk_at_the_pictures_of_a_sweep_keeps_all_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("sweep", "agg8", *SMALL, "--repeat", "3", "--jobs", "1", "--metric", "ttft_s.p50")
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    result = call(*arguments, "--out", tmp_path)
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: {tmp_path}/ttft_s.p50.png: No space left on device; "
        f"3 of 3 runs kept in {tmp_path}; once there is room the same call goes on from there\n"
    )
    assert names(tmp_path) == ["runs.jsonl", "sweep.json", "sweep.parquet"]
    monkeypatch.undo()
    assert call(*arguments, "--out", tmp_path).exit_code == 0
    assert names(tmp_path) == ["runs.jsonl", "sweep.json", "sweep.parquet", "ttft_s.p50.png"]


def test_a_full_disk_at_the_timeline_costs_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim.simulation.result.write_events", full)
    events, out = tmp_path / "events.json", tmp_path / "out"
    result = call("run", "agg8", *SMALL, "--out", out, "--trace-events", events)
    assert result.exit_code == 2
    assert result.stderr == f"Error: {events}: No space left on device; all else is kept in {out}\n"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("place", ["none/events.json", "."])
def test_a_place_for_no_timeline_is_told_before_the_run(
    tmp_path: Path, place: str, during: Callable[[Callable[[], object]], None]
) -> None:
    during(lambda: pytest.fail("must not come to this"))
    result = call("run", "agg8", *SMALL, "--trace-events", tmp_path / place)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {tmp_path / place}: ")


def test_a_session_that_utf_8_cannot_say_is_escaped(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    row = {"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [1, 2], "session_id": "a$b"}
    trace.write_text(json.dumps(row) + "\n")
    result = sim.simulation.run.run("llama8b-agg2", {"workload.path": str(trace), "workload.sessions": None})
    table = result.rows.tables["requests"]
    place = [column.name for column in table.columns].index("session")
    values, measured = table._batches[0][place]
    values[:] = "a\ud800"
    result.save(tmp_path / "out")
    assert list(pd.read_parquet(tmp_path / "out" / "requests.parquet")["session"]) == ["a\\ud800"]
    assert measured.all()
    assert call("report", tmp_path / "out").exit_code == 0
    result.plot.recomputation("session")
    result.save_trace_events(tmp_path / "events.json")
    assert NAME in names(tmp_path / "out")
