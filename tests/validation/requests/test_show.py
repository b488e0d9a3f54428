"""`sim validate --requests`: what it prints."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sim.cli import app
from tests.engine_runs import engine, simulated_run, write_csv

KERNELS = ("--set", "timing.coefficients=qwen3-14b-bf16_h100-80gb-kernels")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["validate", "h100-qwen3-14b", *arguments], terminal_width=100)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "runs.csv"
    return write_csv(path, [simulated_run(engine("timing.c_step_s=2ms"), "steady", 8.0, 40)])


@pytest.mark.slow
def test_errors_of_every_run_and_of_every_law_are_printed(runs: Path) -> None:
    result = call("--requests", str(runs), *KERNELS)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    squeezed = [" ".join(line.split()) for line in lines]
    assert squeezed[0] == "1 run of runs.csv validated on h100-qwen3-14b"
    assert "Error of the prediction, % p50 p90 p99 p50 p99 p50 p99 E2E" in squeezed
    (steady,) = (line for line in squeezed if line.startswith("steady"))
    assert all(number.startswith("-") for number in steady.split()[1:8])
    assert [
        line.rsplit(maxsplit=8)[0] for line in squeezed if line.startswith(("this", "kernel", "Dynamo"))
    ] == [
        "this scenario",
        "kernel priors, no fit",
        "Dynamo's mocker",
    ]
    assert "held out: new arrivals, 1 run" in squeezed
    assert not any("both" in line for line in squeezed)


def test_json_has_every_number(runs: Path) -> None:
    result = json.loads(call("--requests", str(runs), *KERNELS, "--no-baselines", "--format", "json").stdout)
    assert result["file"]["name"] == "runs.csv"
    assert [law["name"] for law in result["laws"]] == ["scenario"]
    (run,) = result["runs"]
    assert (run["name"], run["requests"], run["seen"], run["saturated"]) == ("steady", 40, "new", False)
    assert run["errors"]["scenario"]["e2e_p50"] < 0
    assert {group["name"] for group in result["groups"]} == {"new", "held_out"}


def test_what_a_run_does_not_tell_is_null_and_a_dash(tmp_path: Path) -> None:
    header = "run,arrival_s,send_s,input_tokens,output_tokens,ttft_ms,e2e_ms"
    path = tmp_path / "short.csv"
    path.write_text(f"{header}\nshort,0,0,100,1,10,10\nshort,1,1,100,1,10,10\n")
    options = ("--requests", str(path), *KERNELS, "--no-baselines")
    (run,) = json.loads(call(*options, "--format", "json").stdout)["runs"]
    assert run["measured_s"]["tpot_p50"] is run["errors"]["scenario"]["tpot_p99"] is None
    (line,) = (line for line in call(*options).stdout.splitlines() if line.startswith("  short"))
    assert line.split()[4:6] == ["-", "-"]


def test_requests_and_measured_exclude_each_other(runs: Path) -> None:
    for arguments in ((), ("--requests", str(runs), "--measured", "somewhere")):
        result = call(*arguments)
        assert (result.exit_code, result.stderr) == (
            2,
            "Error: give either --measured DIR or --requests CSV\n",
        )


@pytest.mark.parametrize(
    ("option", "value"),
    [("--step", "timed"), ("--diff", "router-log"), ("--spread", "0.2"), ("--fit", "somewhere")],
)
def test_options_of_measured_folders_are_refused(runs: Path, option: str, value: str) -> None:
    result = call("--requests", str(runs), option, value)
    assert (result.exit_code, result.stderr) == (
        2,
        f"Error: {option}: goes with --measured, not with --requests\n",
    )


def test_a_wrong_file_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("run,arrival_s\na,0\n")
    result = call("--requests", str(tmp_path / "bad.csv"))
    assert result.exit_code == 2
    assert "bad.csv: no column send_s" in result.stderr
