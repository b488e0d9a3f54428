"""`sim sweep`: what it prints and keeps, how it is stopped and goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import sim.experiments.jobs.job
from sim.base.errors import InputError
from sim.cli import app
from sim.scenario.scenario import Scenario
from sim.simulation.run import run

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--set", "workload.sessions=2", "--set", "workload.turns=2")
CREDITS = ("--set", "router.overlap_score_credit=0:1:0.5")
RUNS = 16
STOPPED = (
    "agg8",
    "--set",
    "workload.sessions=3",
    "--set",
    "workload.turns=3",
    "--repeat",
    str(RUNS),
    "--metric",
    "gpu_hours",
)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["sweep", *arguments])


def start(out: Path) -> "subprocess.Popen[bytes]":
    """A sweep in a process group of its own, after its first run has ended."""
    command = [sys.executable, "-m", "sim.cli", "sweep", *STOPPED, "--jobs", "2", "--out", str(out)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline_s = time.monotonic() + 60
    while runs_in(out) < 2 and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return process


def runs_in(out: Path) -> int:
    journal = out / "runs.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def test_a_table_with_a_row_for_each_point() -> None:
    result = call("agg8", *SMALL, *CREDITS, "--repeat", "3", "--jobs", "1", "--metric", "requests.total")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]

    assert result.exit_code == 0
    assert lines[0].endswith("means of seeds 0 to 2")
    assert lines[5:8] == ["0 4", "0.5 4", "1 4"]
    assert result.stderr.splitlines() == [
        f"overlap_score_credit={credit}: Requests 4" for credit in ("0", "0.5", "1")
    ]


def test_json_has_rows_and_every_summary() -> None:
    result = call("agg8", *SMALL, *CREDITS, "--jobs", "1", "--format", "json", "--metric", "gpu_hours")
    content = json.loads(result.stdout)
    assert content["keys"] == ["router.overlap_score_credit"]
    assert [row["point"]["router.overlap_score_credit"] for row in content["rows"]] == [0, 0.5, 1]
    assert len(content["runs"]) == 3


def test_a_folder_has_table_plots_and_runs_and_a_second_call_uses_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("agg8", *SMALL, *CREDITS, "--jobs", "1", "--out", str(tmp_path), "--metric", "ttft_s.p50")
    first = call(*arguments)
    assert {path.name for path in tmp_path.iterdir()} == {
        "runs.jsonl",
        "sweep.json",
        "sweep.parquet",
        "ttft_s.p50.png",
    }

    def never(*_: object, **__: object) -> object:
        raise AssertionError("nothing is left to run")

    monkeypatch.setattr(sim.experiments.jobs.job, "run", never)
    assert call(*arguments).stdout == first.stdout
    compared = CliRunner().invoke(app, ["compare", str(tmp_path), "--metric", "ttft_s.p50"])
    assert compared.exit_code == 0


def test_draws_are_bands() -> None:
    result = call("agg8", *SMALL, "--draws", "3", "--repeat", "2", "--jobs", "1", "--metric", "ttft_s.p50")
    assert result.stdout.splitlines()[0].endswith("medians of 3 draws, seeds 0 and 1")


def test_each_sampled_point_has_all_draws() -> None:
    sampled = ("--set", "router.overlap_score_credit=0:2", "--sample", "2", "--draws", "3")
    result = call("agg8", *SMALL, *sampled, "--jobs", "1", "--metric", "ttft_s.p50")
    assert result.stdout.splitlines()[0].endswith("medians of 3 draws, seed 0")
    assert len(result.stderr.splitlines()) == 6


def test_a_sampled_sweep() -> None:
    result = call("agg8", *SMALL, "--set", "router.overlap_score_credit=0:2", "--sample", "4", "--jobs", "1")
    assert result.exit_code == 0
    assert len(result.stderr.splitlines()) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["agg9"], "no scenario is called 'agg9'"),
        (["agg8", "--set", "workload.sessions=0,2"], "--set workload.sessions=0: must be greater than 0"),
        (["agg8", "--sample", "4"], "--sample: there is no range to sample"),
        (["agg8", *SMALL, "--metric", "recomputation"], "did you mean prefill.recomputation or"),
        (["agg8", "--repeat", "0"], "--repeat"),
        (["agg8", "--scheduler", "tcp://a:1"], "--scheduler tcp://a:1: goes with --engine dask"),
        (["agg8", "--engine", "dask"], "--engine dask: give the cluster's --scheduler"),
        (
            ["agg8", "--engine", "dask", "--scheduler", "tcp://a:1", "--jobs", "2"],
            "--jobs 2: is for --engine local",
        ),
        (["agg8", "--out", str(ROOT)], "has files but no runs.jsonl"),
    ],
)
def test_wrong_input_is_a_message_and_status_2(arguments: list[str], message: str) -> None:
    result = call(*arguments, "--jobs", "1") if "--jobs" not in arguments else call(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr.replace("--jobs 1: is for", "")
    assert not result.stdout


def test_a_run_that_fails_is_told_and_the_others_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(scenario: Scenario, **_: object) -> object:
        if scenario.router.overlap_score_credit == 0.5:
            raise InputError("no room")
        return run(scenario)

    monkeypatch.setattr(sim.experiments.jobs.job, "run", failing)
    result = call("agg8", *SMALL, *CREDITS, "--jobs", "1", "--metric", "gpu_hours", "--out", str(tmp_path))

    assert result.exit_code == 1
    assert "Failed: agg8 at router.overlap_score_credit=0.5, seed 0: no room" in result.stderr
    assert "† without some of the runs" in result.stdout
    assert (tmp_path / "gpu_hours.png").is_file()


def test_no_run_that_ends_well_is_status_2_and_leaves_no_folder(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text("{}\n")
    result = call("agg8", "--set", f"workload.path={trace}", "--jobs", "1", "--out", str(tmp_path / "out"))

    assert result.exit_code == 2
    assert str(trace) in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["trace.jsonl"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of the sweep that nobody stops."""
    out = tmp_path_factory.mktemp("whole")
    assert call(*STOPPED, "--jobs", "1", "--out", str(out)).exit_code == 0
    return (out / "sweep.parquet").read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.slow
def test_what_is_stopped_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bytes, stop: signal.Signals
) -> None:
    out = tmp_path / "out"
    process = start(out)
    if stop is not signal.SIGKILL:
        # A terminal sends it to all of its processes.
        os.killpg(process.pid, stop)
    else:
        os.kill(process.pid, stop)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout) == ((-stop if stop is signal.SIGKILL else 130), b"")
    kept = runs_in(out)
    says = f"Stopped: {kept} of {RUNS} runs kept in {out}; the same call goes on from there\nTo go on: sim "
    assert stop is signal.SIGKILL or stderr.decode().startswith(says)
    assert 2 <= kept < RUNS
    wait_for_workers(process.pid)

    ran = 0

    def counting(scenario: Scenario, **_: object) -> object:
        nonlocal ran
        ran += 1
        return run(scenario)

    monkeypatch.setattr(sim.experiments.jobs.job, "run", counting)
    assert call(*STOPPED, "--jobs", "1", "--out", str(out)).exit_code == 0
    assert ran == RUNS - kept
    assert (out / "sweep.parquet").read_bytes() == whole


def wait_for_workers(group: int) -> None:
    """The processes of a killed sweep end with it, within seconds."""
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("processes of the sweep go on")
