"""`sim calibrate aic` and `sim calibrate forward`: what they print, write and refuse."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sim.calibration.forward import cases
from sim.cli import app
from sim.hardware.aic import file as aic_file
from sim.hardware.coefficient_file import read_coefficient_file
from sim.hardware.parallel import Parallel
from sim.hardware.step_time import StepLaw
from tests.calibration.test_forward import KNOWN
from tests.hardware.aic.made_up import MadeUp
from tests.measured.forward import results, write


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["calibrate", *map(str, arguments)])


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(aic_file, "opened", lambda question: MadeUp())
    monkeypatch.setattr(aic_file, "installed_version", lambda: "0.12.0")


@pytest.mark.usefixtures("library")
def test_aic_prints_and_writes_the_coefficients(tmp_path: Path) -> None:
    out = tmp_path / "own.toml"
    result = call("aic", "llama-3.1-8b-bf16", "--gpu", "h100-80gb", "--tp", "2", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 100
    squeezed = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert any(line.startswith("a_pair_s 1ns 7") for line in squeezed)
    assert any(line.startswith("decode steps between the knots 3") for line in squeezed)
    content = read_coefficient_file(out)
    assert content.parallel.parallel == Parallel(tensor=2)
    assert content.model == "llama-3.1-8b-bf16"
    assert result.stderr == f"Drawn in {tmp_path / 'own.png'}\n"
    assert (tmp_path / "own.png").read_bytes().startswith(b"\x89PNG")
    assert out.read_text().startswith("# Step-time coefficients of llama-3.1-8b-bf16 on h100-80gb")


@pytest.mark.usefixtures("library")
def test_aic_takes_a_name_on_hugging_face(tmp_path: Path) -> None:
    out = tmp_path / "own.toml"
    result = call("aic", "Qwen/Qwen3-30B-A3B", "--gpu", "h100-80gb", "--ep", "--moe", "fp8", "--out", out)
    assert result.exit_code == 0, result.stderr
    content = read_coefficient_file(out)
    assert (content.model, dict(content.formats)) == ("qwen3-30b-a3b", {"experts": "fp8"})
    assert content.parallel.expert


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("aic", "llama-3.1-8b-bf16", "--gpu", "h100-80gb", "--kv", "fp8"), "--kv: the preset llama-3.1-8b"),
        (("aic", "llama-3.1-8b", "--gpu", "h100-80gb"), "no model is called 'llama-3.1-8b'"),
        (("aic", "llama-3.1-8b-bf16", "--gpu", "v100"), "no gpu is called 'v100'"),
        (("forward", "--model", "m"), "FILE, --gpu: missing; --cases prints what to run"),
        (("forward", "none.json", "--model", "m", "--gpu", "g"), "none.json: No such file"),
    ],
)
@pytest.mark.usefixtures("library")
def test_bad_calls_are_refused(arguments: tuple[str, ...], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_forward_prints_the_cases() -> None:
    result = call("forward", "--cases", "--model", "Qwen/Qwen3-8B", "--tp", "2")
    assert result.exit_code == 0
    assert result.stdout.startswith("torchrun --nproc-per-node=2 -m vllm.entrypoints.cli.main bench forward")


def test_forward_makes_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "forward.json", results(StepLaw(KNOWN), cases()))
    out = tmp_path / "own.toml"
    result = call("forward", path, "--model", "llama-3.1-8b-bf16", "--gpu", "h100-80gb", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert read_coefficient_file(out).origin == "fitted"
    assert result.stderr == f"Drawn in {tmp_path / 'own.png'}\n"
    assert (tmp_path / "own.png").read_bytes().startswith(b"\x89PNG")
    run = ("llama8b-agg2", "--set", "workload.sessions=1", "--set", "workload.turns=1")
    taken = CliRunner().invoke(app, ["run", *run, "--set", f"timing.coefficients={out}", "--draws", "2"])
    assert taken.exit_code == 0, taken.stderr
    assert "step times (fitted): fitted to 42 batches timed by vllm bench forward" in " ".join(
        taken.stdout.split()
    )
