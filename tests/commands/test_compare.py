"""`sim compare`: what it prints and writes, and with which status it ends."""

import json
import os
import shlex
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
SMALL = ("--set", "workload.sessions=2", "--set", "workload.turns=2", "--jobs", "1")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["compare", *arguments])


def test_scenarios_side_by_side() -> None:
    result = call("agg8", str(ROOT / "scenarios" / "agg4.toml"), *SMALL, "--repeat", "3")
    lines = result.stdout.splitlines()

    assert result.exit_code == 0
    assert not result.stderr
    assert max(map(len, lines)) <= 100
    assert " ".join(lines[0].split()) == "Compared with agg8 means of seeds 0 to 2"
    assert " ".join(lines[5].split()) == "agg8 agg4 agg4 - agg8 agg4 / agg8"
    labels = [line[:24].strip() for line in lines[6:21]]
    assert labels[:2] == ["TTFT p50", "TTFT p95"]
    assert {"ITL p99.9", "Recomputation", "Workers a session", "Requests unfinished", "GPU hours"} <= set(
        labels
    )
    (hours,) = [line.split() for line in lines if line.startswith("GPU hours")]
    assert hours[-1] == "0.500≠"


def test_a_sweep_and_one_number() -> None:
    result = call(
        "agg8", "agg4", *SMALL[2:], "--set", "workload.sessions=2:3:1", "--metric", "requests.total"
    )

    assert [line.split() for line in result.stdout.splitlines()[5:8]] == [
        ["sessions", "agg8", "agg4", "agg4", "-", "agg8", "agg4", "/", "agg8"],
        ["Requests", "2", "4", "4", "0", "1.00"],
        ["3", "6", "6", "0", "1.00"],
    ]


def test_json_has_rows_and_every_summary() -> None:
    result = call("agg8", "agg4", *SMALL, "--format", "json", "--metric", "prefill.by_cause")
    content = json.loads(result.stdout)

    assert content["schema_version"] == 1
    assert {row["metric"].rpartition(".")[0] for row in content["rows"]} == {"prefill.by_cause"}
    assert [run["scenario"] for run in content["runs"]] == ["agg8", "agg4"]
    alone = CliRunner().invoke(app, ["run", "agg4", *SMALL[:4], "--format", "json"])
    assert content["runs"][1]["summary"] == json.loads(alone.stdout)


@pytest.mark.slow
def test_out_is_a_folder_that_can_be_compared_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = call("agg8", "agg4", *SMALL, "--set", "router.policy=kv,random", "--out", str(out))
    files = {"comparison.json", "comparison.parquet", "comparison.png", "comparison.svg", "scenarios"}
    assert {path.name for path in out.iterdir()} == files
    assert len(list((out / "scenarios").iterdir())) == 4

    again = call(str(out))
    assert (again.exit_code, again.stdout) == (0, first.stdout)
    refused = call(str(out), "--out", str(out))
    assert refused.exit_code == 2
    assert "is not empty" in refused.stderr
    assert call(str(out), "--out", str(out), "--force").exit_code == 0


def test_folders_of_runs_repeats_and_comparisons(tmp_path: Path) -> None:
    one, many, both = (str(tmp_path / name) for name in ("one", "many", "both"))
    for arguments in (["agg8", "--out", one], ["agg4", "--repeat", "2", "--out", many]):
        assert CliRunner().invoke(app, ["run", *SMALL[:4], *arguments]).exit_code == 0
    assert call("agg8", "agg4", *SMALL, "--out", both).exit_code == 0
    result = call(one, many, both, "--format", "json", "--metric", "gpu_hours")
    content = json.loads(result.stdout)

    assert content["scenarios"] == ["one", "many", "agg8", "agg4"]
    assert [(run["scenario"], run["seed"]) for run in content["runs"]] == [
        ("one", 0),
        ("many", 0),
        ("many", 1),
        ("agg8", 0),
        ("agg4", 0),
    ]
    assert content["rows"][0]["against_first"]["agg8"]["ratio"]["value"] == 1


@pytest.mark.slow
def test_comparisons_of_the_same_scenarios_keep_theirs_apart(tmp_path: Path) -> None:
    before, after = str(tmp_path / "before"), str(tmp_path / "after")
    for out in (before, after):
        assert call("agg8", *SMALL, "--out", out).exit_code == 0

    result = call(before, after, "agg8", *SMALL, "--metric", "gpu_hours", "--format", "json")
    assert json.loads(result.stdout)["scenarios"] == ["before/agg8", "after/agg8", "agg8"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["agg8", "agg9"], "no scenario is called 'agg9'"),
        (["agg8", "--set", "workload.sessions=0,2"], "--set workload.sessions=0: must be greater than 0"),
        (["agg8", "--set", "workload.sessions=2:4:0"], "never reaches its stop"),
        (["agg8", *SMALL, "--metric", "recomputation"], "did you mean prefill.recomputation or"),
        (["agg8", "--repeat", "0"], "--repeat"),
        (["agg8", "--jobs", "0"], "--jobs"),
        ([], "SCENARIO_OR_FOLDER"),
    ],
)
def test_wrong_input_is_a_message_and_status_2(arguments: list[str], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not result.stdout


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("nonsense", 0),
        # Only some runs have pulls: which numbers these are, a run of each scenario says.
        ("pulls.nonsense", 2),
    ],
)
def test_an_unknown_number_ends_it_as_soon_as_it_is_known_to_be_none(
    name: str, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0

    def counting(scenario: Scenario, **_: object) -> object:
        nonlocal count
        count += 1
        return run(scenario)

    monkeypatch.setattr(sim.experiments.jobs.job, "run", counting)
    arguments = ("agg8", "1p3d-no-offload", *SMALL, "--repeat", "5", "--jobs", "1", "--metric", name)
    assert call(*arguments).exit_code == 2
    assert count == runs


def test_a_run_that_fails_is_told_and_the_others_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(scenario: Scenario, **_: object) -> object:
        if scenario.workers.count == 4 and scenario.seed < 2:
            raise InputError("no room")
        return run(scenario)

    monkeypatch.setattr(sim.experiments.jobs.job, "run", failing)
    sweep = ("--set", "router.policy=kv,random", "--repeat", "3", "--metric", "gpu_hours")
    result = call("agg8", "agg4", *SMALL, *sweep, "--out", str(tmp_path / "out"))

    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"Failed: agg4 at router.policy={policy}, seed 0, 1: no room" for policy in ("kv", "random")
    ]
    assert "† without some of the runs" in result.stdout
    assert (tmp_path / "out" / "comparison.png").is_file()


def test_no_run_that_ends_well_is_status_2_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text("{}\n")
    result = call(
        "agg8", "agg4", "--set", f"workload.path={trace}", "--jobs", "1", "--out", str(tmp_path / "out")
    )

    assert result.exit_code == 2
    assert result.stderr.count(str(trace)) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["trace.jsonl"]


def test_ctrl_c_ends_all_processes_quietly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sim.cli", "compare", "agg8", "agg4", "--set", "workload.sessions=500"]
    options = ["--jobs", "2", "--out", str(tmp_path / "out")]
    with subprocess.Popen(
        [*command, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        deadline_s = time.monotonic() + 120
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline_s:
            time.sleep(0.01)
        time.sleep(1)
        # A terminal sends it to all of its processes.
        os.killpg(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    again = shlex.join([*command[3:], *options])
    assert (stdout, stderr.decode()) == (b"", f"Stopped: nothing is kept\nTo begin anew: sim {again}\n")
    assert not list(tmp_path.iterdir())


def test_help_is_quick_because_it_loads_no_plotting() -> None:
    script = "import sim.cli, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not {"joblib", "matplotlib", "seaborn", "pandas", "numpy"} & set(loaded.stdout.split())
    assert "compare" in CliRunner().invoke(app, ["--help"]).stdout


def test_what_an_earlier_version_kept_is_compared_by_the_numbers_that_it_has(tmp_path: Path) -> None:
    """Before summaries said how late requests left."""
    for name in ("one", "two"):
        run("agg4", {"workload.sessions": 2, "workload.turns": 2}).save(tmp_path / name)
        file = tmp_path / name / "summary.json"
        summary = json.loads(file.read_text())
        for later in ("late_s", "from_due", "not_completed"):
            del summary[later]
        file.write_text(json.dumps(summary))
    result = call(str(tmp_path / "one"), str(tmp_path / "two"))
    assert result.exit_code == 0
    assert "TTFT p50" in result.stdout
    assert "Sent late by" not in result.stdout


def test_policies_are_lines_of_one_table_that_a_folder_keeps(tmp_path: Path) -> None:
    folder = tmp_path / "routers"
    result = call("agg8", "--policies", "kv,round-robin", *SMALL, "--out", str(folder))
    again = call(str(folder))
    lines = result.stdout.splitlines()

    assert result.exit_code == 0
    assert lines[0].startswith("Routing policies, compared with kv")
    assert [line.split()[0] for line in lines if line.startswith(("kv ", "round-robin "))] == [
        "kv",
        "round-robin",
    ]
    assert again.stdout.splitlines()[: len(lines)] == lines
    assert (folder / "comparison.png").exists()
    assert {run["scenario"] for run in json.loads((folder / "comparison.json").read_text())["runs"]} == {
        "kv",
        "round-robin",
    }


def test_a_policy_without_a_name_is_refused_before_the_first_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sim.experiments.jobs.job, "run", None)
    result = call("agg8", "--policies", "kv,sticky", *SMALL)

    assert result.exit_code == 2
    assert "--policies 'sticky': must be " in result.stderr
    assert "'round-robin'" in result.stderr


def test_an_upgrade_that_changes_nothing_is_said_to_change_nothing() -> None:
    result = call("agg8", "--set", "router.version=1.5,1.6", *SMALL)

    assert result.exit_code == 0
    assert "router.version 1.5 and 1.6: every number is equal" in " ".join(result.stdout.split())


def test_numbers_of_turns_by_name() -> None:
    metric = "by_turn.later.ttft_s.p95"
    result = call("agg8", *SMALL, "--metric", metric, "--format", "json")
    content = json.loads(result.stdout)
    (row,) = content["rows"]
    assert row["metric"] == metric
    summary = content["runs"][0]["summary"]
    assert row["scenarios"]["agg8"]["mean"] == summary["by_turn"]["later"]["ttft_s"]["p95"]


def test_a_bound_is_known_where_it_is_asked_for() -> None:
    shown = ("agg8", *SMALL, "--metric", "bounds.oracle")
    assert "Prompt tokens hit, oracle" in call(*shown, "--bounds").stdout
    refused = call(*shown)
    assert refused.exit_code == 2
    assert refused.stderr == (
        "Error: --metric bounds.oracle: no number of the summary has this name; --bounds measures it\n"
    )


def test_releases_are_explained_and_a_folder_keeps_it(tmp_path: Path) -> None:
    folder = tmp_path / "upgrade"
    sets = ("--set", "workers.count=1", "--set", "offload=none", "--set", "engine.rules.queues=0.28")
    held = [f"--set=engine.rules.{rule}=0.28" for rule in ("chunk_stops", "retirement")]
    result = call("agg8", "--explain-versions", *SMALL, *sets, *held, "--out", str(folder))
    lines = result.stdout.splitlines()

    assert result.exit_code == 0
    assert result.stderr.startswith("4 runs: 2 as they are, 2 with one rule switched; 2 rules can act: ")
    assert lines[0].startswith("agg8: from vLLM 0.28 to 0.33")
    assert lines[4].split() == ["0.28", "0.33", "change", "moved", "by"]
    again = call(str(folder))
    assert (again.exit_code, again.stdout) == (0, result.stdout)
    content = json.loads(call(str(folder), "--format", "json", "--metric", "gpu_hours").stdout)
    (moved,) = content["moved_by"]
    assert [*moved["rules"]] == ["retention", "inner_checkpoint"]
    assert len(content["rule_runs"]) == 4


def test_rules_are_not_explained_of_draws_or_of_what_ran() -> None:
    result = call("agg8", "--explain-versions", *SMALL, "--draws", "3")
    assert result.exit_code == 2
    assert "medians of draws do not add up" in result.stderr
