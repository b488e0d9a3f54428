"""`sim report`: where the page goes, and folders that it is not for."""

import shlex
from pathlib import Path
from urllib.parse import unquote

import pytest
from typer.testing import CliRunner, Result

from sim.cli import app
from tests.report.html import parse

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
    assert "comparison.json: schema_version is None; 1 is understood" in result.stderr
    result = call("report", str(compared), str(seeds / "seed-0"))
    assert result.exit_code == 2
    assert "holds a comparison; give a folder of one run" in result.stderr


def test_two_runs_are_shown_on_a_page_in_the_first_ones_folder(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert (
        call("run", "agg8", *SMALL, "--set", "router.policy=round-robin", "--out", str(other)).exit_code == 0
    )
    assert call("report", str(other)).exit_code == 0
    result = call("report", str(saved), str(other))
    assert result.exit_code == 0
    assert result.stdout == f"{saved / 'beside-other.html'}: to open in a browser\n"
    page = (saved / "beside-other.html").read_text()
    assert 'href="../other/report.html"' in page
    assert "report.html" not in page.replace("../other/report.html", "")  # the first has none yet
    assert not (saved / "report.html").exists()


def test_more_than_two_folders_are_refused(saved: Path) -> None:
    result = call("report", *[str(saved)] * 3)
    assert result.exit_code == 2
    assert "a page shows one folder or two runs; for more, sim compare --out DIR" in result.stderr


def test_a_sweeps_page_says_how_to_make_those_of_its_runs_and_links_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    policies = ("--set", "router.policy=kv,round-robin")
    assert call("sweep", "agg8", *SMALL, *policies, "--out", "all").exit_code == 0
    assert call("report", "all").stdout == "all/report.html: to open in a browser\n"
    page = parse(Path("all/report.html").read_text())
    commands = [line for line in page.one("pre").children[0].splitlines() if line]
    assert [line.split()[:2] for line in commands] == [["sim", "run"], ["sim", "report"]] * 2
    assert [link["href"] for link in page.one("tbody").all("a")] == []
    for line in commands[:2]:
        assert call(*shlex.split(line)[1:]).exit_code == 0

    assert call("report", "all").exit_code == 0
    again = parse(Path("all/report.html").read_text())
    (link,) = again.one("tbody").all("a")
    assert (Path("all") / unquote(link["href"])).read_text().startswith("<!doctype html>")
    assert (link.text, link["aria-label"]) == ("seed 0", "seed 0 of row 1")
    # The run that was made again has the numbers of the sweep.
    first = again.one("tbody").all("tr")[0].all("td")
    about = {
        row[0]: row for row in parse((Path("all") / unquote(link["href"])).read_text()).all("table")[0].rows()
    }
    assert first[1].text == about["TTFT"][3].rstrip("*")
    # A sweep that goes on leaves its pages alone.
    assert call("sweep", "agg8", *SMALL, *policies, "--out", "all").exit_code == 0
    assert Path("all/report.html").is_file()


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
