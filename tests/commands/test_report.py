"""`sim report`: where the page goes, and folders that it is not for."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sim.cli import app

SMALL = ("--set", "workload.sessions=2", "--set", "workload.turns=2")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    assert call("run", "agg8", *SMALL, "--out", str(folder)).exit_code == 0
    return folder


def test_the_page_is_put_beside_the_tables(saved: Path) -> None:
    before = {path.name for path in saved.iterdir()}
    result = call("report", str(saved))
    assert result.exit_code == 0
    assert {path.name for path in saved.iterdir()} - before == {"report.html"}
    page = (saved / "report.html").read_bytes()
    assert page.startswith(b"<!doctype html>")
    assert result.stdout.startswith(f"{saved / 'report.html'}: ")

    assert call("report", str(saved)).exit_code == 0
    assert (saved / "report.html").read_bytes() == page


def test_the_page_goes_where_it_is_told_to(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "here.html"
    assert call("report", str(saved), "--out", str(out)).exit_code == 0
    assert out.read_bytes().startswith(b"<!doctype html>")
    assert not (saved / "report.html").exists()


def test_a_file_is_replaced_only_by_force(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "notes.txt"
    out.write_text("mine")
    result = call("report", str(saved), "--out", str(out))
    assert result.exit_code == 2
    assert result.stderr == f"Error: --out {out}: exists; give a new file, or --force to replace it\n"
    assert out.read_text() == "mine"
    assert call("report", str(saved), "--out", str(out), "--force").exit_code == 0
    assert out.read_bytes().startswith(b"<!doctype html>")


@pytest.mark.parametrize(("place", "reason"), [("no/page.html", "no such folder"), (".", "is a folder")])
def test_a_place_that_cannot_be_written_is_named(
    saved: Path, tmp_path: Path, place: str, reason: str
) -> None:
    out = tmp_path / place
    result = call("report", str(saved), "--out", str(out), "--force")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: --out {out}: {reason}")
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


def test_folders_of_several_runs_are_told_apart(tmp_path: Path) -> None:
    seeds, compared = tmp_path / "seeds", tmp_path / "compared"
    assert call("run", "agg8", *SMALL, "--repeat", "2", "--out", str(seeds)).exit_code == 0
    compared.mkdir()
    (compared / "comparison.json").write_text("{}")
    result = call("report", str(seeds))
    assert result.exit_code == 2
    assert f"holds 2 seeds; give one of them, such as {seeds / 'seed-0'}" in result.stderr
    assert call("report", str(seeds / "seed-1")).exit_code == 0
    result = call("report", str(compared))
    assert result.exit_code == 2
    assert "holds a comparison; give a folder of one run" in result.stderr


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("summary.json", None, "holds no run: no summary.json; give a folder that `sim run --out` made"),
        ("summary.json", "{", "summary.json: not a JSON file"),
        ("scenario.toml", "seed = ", "scenario.toml: not a TOML file"),
        ("requests.parquet", None, "has no requests.parquet; `sim run --out` writes it"),
        ("links.parquet", "no", "links.parquet: not a Parquet file that can be read"),
    ],
)
def test_a_damaged_folder_is_told_and_nothing_is_written(
    saved: Path, file: str, content: str | None, message: str
) -> None:
    (saved / file).unlink()
    if content is not None:
        (saved / file).write_text(content)
    result = call("report", str(saved))
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(saved.glob("*report*"))


def test_a_folder_that_is_not_there() -> None:
    result = call("report", "nowhere")
    assert result.exit_code == 2
    assert result.stderr == "Error: nowhere: no such folder\n"
