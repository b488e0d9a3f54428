"""The commands: what they print, where, and with which status."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sim.base.shipped import scenario_names
from sim.cli import app
from sim.scenario.load import load_scenario

ROOT = Path(__file__).resolve().parents[1]
SMALL = ("--set", "workload.sessions=2", "--set", "workload.turns=3")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def process(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "sim.cli", *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def add_up(summary: Mapping[str, dict[str, int]]) -> None:
    requests, prefill = summary["requests"], summary["prefill"]
    assert requests["completed"] + requests["rejected"] + requests["unfinished"] == requests["total"]
    assert sum(prefill["by_source"].values()) == prefill["prompt_tokens"]
    assert sum(prefill["by_cause"].values()) == prefill["computed_tokens"] - prefill["required_tokens"]


# sim run


@pytest.mark.slow
def test_run_twice_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    arguments = ("run", "agg8", *SMALL, "--format", "json")
    first, second = (process(*arguments, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == second.stdout
    summary = json.loads(first.stdout)
    assert summary["schema_version"] == 1
    assert summary["requests"]["total"] == 6
    add_up(summary)


def test_run_prints_a_table_and_the_notes() -> None:
    result = call("run", "llama8b-agg2", *SMALL)
    assert result.exit_code == 0
    assert "6 requests: 6 completed" in result.stdout
    assert "step times (aiconfigurator): " in result.stdout
    assert not result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_run_by_path_and_by_name_are_the_same() -> None:
    path = str(ROOT / "scenarios" / "agg4.toml")
    assert call("run", path, *SMALL).stdout == call("run", "agg4", *SMALL).stdout


def test_out_holds_tables_summary_and_the_scenario_that_gave_them(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = call("run", "agg4", *SMALL, "--format", "json", "--out", str(out))
    assert first.stderr.endswith(f"Kept in {out}; for the browser: sim report {out}\n")
    tables = {f"{name}.parquet" for name in ("requests", "decisions", "workers", "links", "itl")}
    assert {path.name for path in out.iterdir()} == {*tables, "summary.json", "scenario.toml"}
    assert (out / "summary.json").read_text() == first.stdout
    again = call("run", str(out / "scenario.toml"), "--format", "json")
    assert again.stdout == first.stdout


def test_out_never_overwrites_unasked(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text("old")
    refused = call("run", "agg4", *SMALL, "--out", str(tmp_path))
    assert refused.exit_code == 2
    assert "is not empty" in refused.stderr
    assert (tmp_path / "summary.json").read_text() == "old"
    assert call("run", "agg4", *SMALL, "--out", str(tmp_path), "--force").exit_code == 0
    assert (tmp_path / "summary.json").read_text() != "old"


def test_repeat_runs_the_next_seeds_and_gives_intervals(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = call(
        "run", "agg4", *SMALL, "--set", "seed=5", "--repeat", "2", "--format", "json", "--out", str(out)
    )
    combined = json.loads(result.stdout)
    assert combined["seeds"] == [5, 6]
    assert combined["intervals"]["requests"]["total"]["mean"] == 6
    assert combined["runs"][0] != combined["runs"][1]
    assert (out / "summary.json").read_text() == result.stdout
    assert sorted(path.name for path in out.iterdir()) == ["seed-5", "seed-6", "summary.json"]
    assert load_scenario(out / "seed-6" / "scenario.toml").seed == 6
    single = call("run", "agg4", *SMALL, "--set", "seed=6", "--format", "json")
    assert json.loads(single.stdout) == combined["runs"][1]


def test_fast_forward_changes_nothing() -> None:
    arguments = ("run", "agg4", *SMALL, "--format", "json", "--set")
    step_by_step = call(*arguments, "engine.fast_forward=false").stdout
    assert json.loads(step_by_step)["requests"]["completed"] == 6
    assert call(*arguments, "engine.fast_forward=true").stdout == step_by_step


def test_repeat_prints_intervals() -> None:
    result = call("run", "agg4", *SMALL, "--repeat", "2")
    assert result.exit_code == 0
    assert "seeds 0 and 1" in result.stdout
    assert "95 % interval" in result.stdout
    assert result.stdout.count("generated from profile") == 1
    assert "seed 0: 2 sessions, the middle 3 turns of each (0 have fewer); other" in result.stdout


def test_draws_have_folders_and_bands_and_can_be_compared(tmp_path: Path) -> None:
    out = tmp_path / "out"
    drawn = ("run", "agg4", *SMALL, "--draws", "2")
    result = call(*drawn, "--format", "json", "--out", str(out))
    combined = json.loads(result.stdout)
    assert (combined["seeds"], combined["draws"]) == ([0], [1, 2])
    assert combined["bands"]["itl_s"]["p50"]["least"] < combined["bands"]["itl_s"]["p50"]["most"]
    assert sorted(path.name for path in out.iterdir()) == ["draw-1", "draw-2", "summary.json"]
    assert result.stderr.endswith(f"Kept in {out}\n")
    single = call("run", "agg4", *SMALL, "--set", "timing.draw=2", "--format", "json")
    assert json.loads(single.stdout) == combined["runs"][1]

    text = call(*drawn).stdout
    assert "2 draws, seed 0" in text
    assert "95 % band" in text
    assert "coefficients and links: draw" not in text
    assert (
        "· coefficients and links: draw 2 over their ranges"
        in call("run", "agg4", *SMALL, "--set", "timing.draw=2").stdout
    )
    assert "medians of 2 draws, seed 0" in call("compare", str(out)).stdout


def test_draws_and_seeds_are_crossed(tmp_path: Path) -> None:
    call("run", "agg4", *SMALL, "--draws", "2", "--repeat", "2", "--out", str(tmp_path / "out"))
    folders = sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir())
    assert folders == ["seed-0-draw-1", "seed-0-draw-2", "seed-1-draw-1", "seed-1-draw-2"]


# Bad input: a message on stderr, status 2, nothing on stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "agg9"], "no scenario is called 'agg9'; did you mean"),
        (["run", "none.toml"], "none.toml: No such file"),
        (["run", "agg8", "--set", "workload.sesions=3"], "unknown key; did you mean 'sessions'?"),
        (["run", "agg8", "--set", "offload.cpu_bytes=64Gbps"], "'64Gbps' is not a size"),
        (["run", "agg8", "--set", "workload.path=none.jsonl"], "no such file: "),
        (["run", "agg8", "--set", "router.block_size=16"], "the engine's blocks have 800 tokens"),
        (["run", "agg8", "--set", "gpu.memory_bytes=24GiB"], "does not fit on h100-80gb"),
        (["capacity", "agg8", "--set", "gpu.memory_bytes=24GiB"], "does not fit on h100-80gb"),
        (["capacity", "--model", "gpt"], "no model is called 'gpt'"),
        (
            ["capacity", "--gpu", "h20"],
            "no gpu is called 'h20' (known: a100-40gb, a100-80gb, b200, h100-80gb, h200-141gb, l40s)",
        ),
        (["run", "agg8", "--set", "workload.sessions=1e30"], "--set workload.sessions=1e30: "),
        (["run", "agg8", "--set", "workload.start_gap_s=1e300"], "must be less than or equal to 1000000000"),
        (["run", "agg8", "--set", "engine.max_model_len=1"], "max_model_len = 1: a session shorter than a"),
        (["run", "agg8", "--repeat", "0"], "--repeat"),
        (["run", "agg8", "--draws", "0"], "--draws"),
        (["run", "agg8", "--draws", "2", "--set", "timing.draw=1"], "timing.draw = 1 is one draw already"),
        (["run", "agg8", "--draws", "2", "--set", "timing.preset=roofline"], "has no ranges to draw from"),
        (
            ["run", "llama8b-agg2", "--draws", "2", "--set", "gpu=a100-40gb"],
            "no ranges to draw coefficients from: roofline",
        ),
        (["run", "agg8", "--format", "xml"], "--format"),
        (["walk"], "walk"),
    ],
)
def test_bad_input_is_a_message_and_status_2(arguments: list[str], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not result.stdout
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"timestamp": 0, "input_length": 10, "output_length": 1, "hash_ids": [1]\n',
            "line 1: not valid JSON",
        ),
        ('{"timestamp": 0, "input_length": -5, "output_length": 1, "hash_ids": [1]}\n', "input_length"),
        ("", "holds no row"),
    ],
)
def test_a_bad_trace_leaves_no_folder(tmp_path: Path, content: str, message: str) -> None:
    trace, out = tmp_path / "trace.jsonl", tmp_path / "out"
    trace.write_text(content)
    result = call("run", "agg8", "--set", f"workload.path={trace}", "--out", str(out))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {trace}")
    assert message in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["trace.jsonl"]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="the system has no full device")
@pytest.mark.parametrize("arguments", [["schema"], ["capacity"], ["run", "agg8", *SMALL]])
def test_a_full_device_behind_stdout_is_a_message_and_status_2(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "sim.cli", *arguments],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (2, b"Error: standard output: No space left on device\n")


def test_a_prompt_larger_than_the_pool_is_a_counted_rejection() -> None:
    result = call("run", "agg8", *SMALL, "--set", "engine.kv_blocks=100", "--format", "json")
    summary = json.loads(result.stdout)
    assert result.exit_code == 3  # nothing was served
    requests = summary["requests"]
    assert requests["rejected_by_reason"] == {"prompt_exceeds_pool": requests["total"]}
    add_up(summary)


def test_ctrl_c_ends_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sim.cli", "run", "agg8", "--set", "workload.sessions=500"]
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")], cwd=ROOT, stderr=subprocess.PIPE
    ) as run:
        deadline_s = time.monotonic() + 30
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline_s:
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=30)
    assert run.returncode == 130
    again = shlex.join([*command[3:], "--out", str(tmp_path / "out")])
    assert stderr.decode() == f"Stopped: nothing is kept\nTo begin anew: sim {again}\n"
    assert not list(tmp_path.iterdir())


# The other commands


def test_capacity_is_the_arithmetic_of_the_talk() -> None:
    result = call("capacity", "--model", "qwen3.8-27b-fp8", "--gpu", "h100-80gb")
    assert result.exit_code == 0
    for number in (
        "28.3 GiB",
        "28.88 GiB",
        "39.93 GiB",
        "1,635",
        "800 tokens",
        "32 KiB",
        "74.8 MiB",
        "6.6 GiB",
    ):
        assert number in result.stdout
    assert "cold" in result.stdout
    assert "grown" in result.stdout


def test_capacity_of_another_scenario_with_a_changed_key() -> None:
    result = call("capacity", "llama8b-agg2", "--set", "engine.kv_blocks=1,000")
    assert result.exit_code == 0
    assert "llama-3.1-8b-bf16 on h100-80gb" in result.stdout
    assert "1,000 blocks, given" in result.stdout


def test_scenarios_lists_every_one_with_its_title() -> None:
    lines = call("scenarios").stdout.splitlines()
    assert len(lines) == 2 * len(scenario_names())
    for name, line in zip(scenario_names(), lines[::2], strict=True):
        assert line.split() == [name, *load_scenario(name).title.split()]
    agg8 = lines[2 * scenario_names().index("agg8") + 1]
    assert (
        "8 x h100-80gb, qwen3.8-27b-fp8; 12 sessions of talk x 20 turns, max-concurrency; kv router" in agg8
    )


def test_schema_is_json_of_draft_2020_12() -> None:
    schema = json.loads(call("schema").stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(load_scenario("agg8").model_dump()) == set(schema["properties"])


def test_help_names_every_command_without_loading_the_simulator() -> None:
    script = "import sim.cli, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert "typer" in loaded
    assert not {"numpy", "pandas", "pyarrow", "pydantic", "simpy"} & set(loaded)
    listed = call("--help").stdout
    for command in ("run", "capacity", "schema", "scenarios"):
        assert command in listed
