"""`sim calibrate kernels`: what it prints and writes, and that a scenario takes the file."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sim.calibration.kernel_tables import read_tables
from sim.cli import app
from sim.hardware.coefficient_file import read_coefficient_file
from tests.calibration.synthetic import write_tables

MEASURED = Path(__file__).resolve().parents[3] / "shared" / "calibration"
LLAMA = ("--model", "llama-3.1-8b-bf16", "--gpu", "h100-80gb", "--draws", "5")
FLOP_PER_TOKEN = 2 * 32 * (3 * 4096 * 14_336 + 4096 * 128 * (32 * 2 + 8 * 2))


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["calibrate", "kernels", *map(str, arguments)])


def test_tables_become_a_file_that_a_scenario_takes(tmp_path: Path) -> None:
    tables, out = write_tables(tmp_path, "bfloat16"), tmp_path / "own.toml"
    result = call(*tables[:3], *LLAMA, "--out", out)

    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert "GEMM bfloat16" in result.stdout
    assert "800 TFLOP/s, 2.50 TB/s, launch 5.00 us, p 2.00" in result.stdout

    content = read_coefficient_file(out)
    assert (content.model, content.gpu, content.origin) == ("llama-3.1-8b-bf16", "h100-80gb", "prior")
    assert content.step["a_pair_s"].value == pytest.approx(4 * 32 * 32 * 128 / 500e12, rel=1e-3)
    assert content.step["c_kv_s_per_token"].value == pytest.approx(131_072 / 2e12, rel=1e-3)
    assert content.step["c_tok_s_per_token"].value == pytest.approx(FLOP_PER_TOKEN / 800e12, rel=0.15)
    assert [len(column) for column in content.draws.values()] == [5] * 8
    assert [one.mape < 1e-3 for one in content.held_out] == [True] * 3
    hashes = {table.file: table.sha256 for table in read_tables(tables[:3]).values()}
    assert {one.file: one.sha256 for one in content.data} == hashes
    assert [one.rows for one in content.data] == [12 * 7, 6 * 8, 6 * 9]

    run = ("llama8b-agg2", "--set", "workload.sessions=1", "--set", "workload.turns=1")
    taken = CliRunner().invoke(app, ["run", *run, "--set", f"timing.coefficients={out}", "--draws", "2"])
    assert taken.exit_code == 0
    assert "step times (prior): kernels measured alone, added up" in taken.stdout


def test_equal_tables_give_equal_bytes(tmp_path: Path) -> None:
    tables = write_tables(tmp_path, "bfloat16")[:3]
    for name in ("a.toml", "b.toml"):
        assert call(*tables, *LLAMA, "--out", tmp_path / name).exit_code == 0
    assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()


def test_a_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    tables, out = write_tables(tmp_path, "bfloat16")[:3], tmp_path / "own.toml"
    out.write_text("mine")
    refused = call(*tables, *LLAMA, "--out", out)
    assert (refused.exit_code, out.read_text()) == (2, "mine")
    assert "own.toml: exists; give a new file, or --force to replace it" in refused.stderr
    assert call(*tables, *LLAMA, "--out", out, "--force").exit_code == 0
    assert "llama" in out.read_text()


def test_a_picture_goes_beside_the_file(tmp_path: Path) -> None:
    tables, out = write_tables(tmp_path, "bfloat16")[:3], tmp_path / "own.toml"
    result = call(*tables, *LLAMA, "--out", out)
    assert result.stderr == f"Drawn in {tmp_path / 'own.png'}\n"
    assert (tmp_path / "own.png").read_bytes().startswith(b"\x89PNG")


def test_without_a_file_nothing_is_drawn(tmp_path: Path) -> None:
    tables = write_tables(tmp_path, "bfloat16")[:3]
    before = set(tmp_path.iterdir())
    assert call(*tables, *LLAMA).stderr == ""
    assert set(tmp_path.iterdir()) == before


def test_a_picture_of_something_else_is_replaced_only_by_force(tmp_path: Path) -> None:
    tables, out, picture = write_tables(tmp_path, "bfloat16")[:3], tmp_path / "own.toml", tmp_path / "own.png"
    picture.write_text("mine")
    refused = call(*tables, *LLAMA, "--out", out)
    assert (refused.exit_code, picture.read_text(), out.exists()) == (2, "mine", False)
    assert "own.png exists; give a new file, or --force to replace both" in refused.stderr
    assert call(*tables, *LLAMA, "--out", out, "--force").exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_file_that_is_called_like_a_picture_is_refused(tmp_path: Path) -> None:
    refused = call(*write_tables(tmp_path, "bfloat16")[:3], *LLAMA, "--out", tmp_path / "own.png", "--force")
    assert (refused.exit_code, (tmp_path / "own.png").exists()) == (2, False)
    assert "give the file another ending" in refused.stderr


def test_a_picture_that_fails_costs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("no fonts")

    monkeypatch.setattr("sim.show.pictures.pages.write_pages", failing)
    out = tmp_path / "own.toml"
    result = call(*write_tables(tmp_path, "bfloat16")[:3], *LLAMA, "--out", out)
    assert str(result.exception) == "no fonts"
    assert "GEMM bfloat16" in result.stdout
    assert read_coefficient_file(out).model == "llama-3.1-8b-bf16"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gemm.csv", *LLAMA), "a table of prefill attention is missing; given: gemm"),
        (("gemm.csv", "gemm.csv", *LLAMA), "is a table of gemm, as gemm.csv is; give one"),
        (("none.csv", *LLAMA), "none.csv: No such file"),
        (("gemm.csv", "--model", "llama", "--gpu", "h100-80gb"), "no model is called 'llama'"),
        (("gemm.csv", *LLAMA, "--vllm-version", "1.0"), "gemm.csv: no row has vllm_version = 1.0; there are"),
    ],
)
def test_bad_input_is_a_message_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    write_tables(tmp_path, "bfloat16")
    monkeypatch.chdir(tmp_path)
    result = call(*arguments, "--out", "new.toml")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("new.toml").exists()


@pytest.mark.skipif(not MEASURED.is_dir(), reason="kernel tables are not beside the repository")
@pytest.mark.parametrize(
    ("model", "kinds", "version"),
    [
        ("qwen3-14b-bf16", ("gemm", "prefill_attention", "decode_attention"), ("--vllm-version", "0.25.0")),
        ("qwen3.8-27b-fp8", ("gemm", "prefill_attention", "decode_attention", "gdn"), ()),
    ],
)
def test_the_shipped_files_come_from_the_measured_tables(
    tmp_path: Path, model: str, kinds: tuple[str, ...], version: tuple[str, ...]
) -> None:
    shipped = read_coefficient_file(
        Path(__file__).resolve().parents[2] / "calibration" / f"{model}_h100-80gb-kernels.toml"
    )
    tables = [MEASURED / f"h100_vllm_{kind}.csv.gz" for kind in kinds]
    out = tmp_path / "again.toml"
    draws = ("--draws", "2", "--out", out)
    assert call(*tables, "--model", model, "--gpu", "h100-80gb", *version, *draws).exit_code == 0
    again = read_coefficient_file(out)
    assert again.data == shipped.data
    assert again.held_out == shipped.held_out
    for name, entry in shipped.step.items():
        assert again.step[name].value == pytest.approx(entry.value, rel=1e-3), name
        # The first draws are the same, however many there are.
        assert again.draws[name] == pytest.approx(shipped.draws[name][:2], rel=1e-3)
