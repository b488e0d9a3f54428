"""`sim validate published` and `sim calibrate published`: what they print and write, and how they end."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from sim.cli import app
from sim.commands.published import _recorded
from sim.hardware.coefficient_file import read_coefficient_file
from sim.published.sets import replicates
from sim.published.settings import WorkloadSettings
from tests.published.files import line, write_targets

STATIC = line(id="tokens", kind="static", metric="kv_blocks", unit="blocks", low="1635", high="1635")
EASY = line(id="easy", may_be_fitted="yes", low="0.001", high="1000")
PAIR = line(
    id="pair", configurations="agg4 1p3d", combine="difference", low="500", high="900", sessions_max="8"
)
FEW = ("--set", "workload.turns=1", "--jobs", "1")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["validate", "talk", *arguments])


@pytest.fixture
def rows(tmp_path: Path) -> tuple[str, ...]:
    return ("--targets", str(write_targets(tmp_path, STATIC, EASY, PAIR)), *FEW)


def test_every_row_is_printed_with_its_verdict(rows: tuple[str, ...]) -> None:
    result = call(*rows, "--seeds", "2")
    lines = [" ".join(text.split()) for text in result.stdout.splitlines()]

    assert result.exit_code == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert "agg4: kv_blocks 1,635 1,635 inside" in lines
    assert "1 of 1 static rows hold" in lines
    assert "Workload: generated 2 seeds" in lines
    _, easy = (text for text in lines if text.startswith("agg4: TTFT p50*"))
    assert easy.endswith("agg4 at 4 sessions inside 1/1")
    _, pair = (text for text in lines if text.startswith("1p3d less agg4: TTFT p50 "))
    assert pair.endswith("outside 0/2")
    assert "1 of 2 dynamic rows hold: 1 of 1 that may be fitted, 0 of 1 others" in lines


def test_out_holds_runs_and_tables_and_is_gone_on_with(rows: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = call(*rows, "--seeds", "1", "--out", str(out))
    runs = (out / "runs.jsonl").read_bytes()

    assert {path.name for path in out.iterdir()} == {
        "page.html",
        "runs.jsonl",
        "results.csv",
        "runs.parquet",
    }
    with (out / "results.csv").open() as file:
        found = list(csv.DictReader(file))
    assert [(row["id"], row["place"], row["sessions"]) for row in found] == [
        ("tokens", "", ""),
        ("easy", "agg4", "4"),
        ("pair", "1p3d-agg4", "4"),
        ("pair", "1p3d-agg4", "8"),
    ]
    assert [row["holds"] for row in found] == ["yes", "yes", "no", "no"]
    table = pq.read_table(out / "runs.parquet").to_pandas()
    ttft = table[(table["metric"] == "ttft_s.p50") & (table["configuration"] == "agg4")]
    assert sorted(ttft["sessions"]) == [4, 8]

    again = call(*rows, "--seeds", "1", "--out", str(out))
    assert (again.exit_code, again.stdout) == (0, first.stdout)
    assert (out / "runs.jsonl").read_bytes() == runs


def test_json_has_every_place(rows: tuple[str, ...]) -> None:
    content = json.loads(call(*rows, "--seeds", "1", "--format", "json").stdout)
    assert content["schema_version"] == 1
    assert content["settings"] == ["workload.turns=1"]
    assert [row["id"] for row in content["dynamic"]] == ["easy", "pair"]
    assert [place["sessions"] for place in content["dynamic"][1]["places"]] == [4, 8]
    assert content["static"][0]["holds"] is True


def test_a_recorded_workload_stands_beside(tmp_path: Path) -> None:
    trace = tmp_path / "mine.jsonl"
    row = {"input_length": 128, "output_length": 9}
    sessions = ({"session_id": f"s{n}", "timestamp": n, "hash_ids": [2 * n, 2 * n + 1]} for n in range(4))
    trace.write_text("".join(json.dumps({**row, **session}) + "\n" for session in sessions))
    targets = write_targets(tmp_path, EASY)
    result = call("--targets", str(targets), "--seeds", "1", "--jobs", "1", "--trace", f"mine={trace}")
    assert result.exit_code == 0, result.stderr
    assert "Workload: mine" in result.stdout
    (overview,) = (text for text in result.stdout.splitlines() if text.startswith("All workloads"))
    assert overview.split() == ["All", "workloads", "target", "generated", "mine"]


@pytest.mark.slow
def test_baselines_stand_beside_each_other(rows: tuple[str, ...], tmp_path: Path) -> None:
    result = call(*rows, "--seeds", "1", "--baselines", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 100
    names = {"priors", "roofline", "peak roofline", "Dynamo's mocker", "LRU, no time"}
    shown = result.stdout.split()
    # Headers go over two lines, so that "peak" stands above "roofline".
    assert all(shown.count(word) >= " ".join(names).split().count(word) for word in " ".join(names).split())
    with (tmp_path / "out" / "baselines.csv").open() as file:
        found = {(row["variant"], row["id"]): row["simulated"] for row in csv.DictReader(file)}
    assert {variant for variant, _ in found} == names - {"LRU, no time"}
    assert float(found["peak roofline", "easy"]) < float(found["priors", "easy"])


@pytest.mark.slow
def test_the_sensitivity_study_says_a_sentence_for_each_row(tmp_path: Path) -> None:
    targets = write_targets(tmp_path, line(id="hard", low="500", high="900"))
    out = tmp_path / "out"
    result = call("--targets", str(targets), *FEW, "--seeds", "1", "--sensitivity", "--out", str(out))
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("agg4: TTFT p50 ")
    assert "printed 500 to 900 s" in " ".join(result.stdout.split())
    tables = {"sensitivity.csv", "sentences.csv", "sensitivity.svg"}
    assert {path.name for path in out.iterdir()} == {"runs.jsonl", *tables}
    with (out / "sentences.csv").open() as file:
        (said,) = csv.DictReader(file)
    assert (said["id"], said["holds"]) == ("hard", "no")
    assert said["sentence"] in " ".join(result.stdout.split())
    assert (out / "sensitivity.svg").stat().st_size < 150_000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--trace", "mine"], "--trace mine: write it as NAME=FILE"),
        (["--trace", "generated=x.jsonl"], "generated is there already"),
        (["--baselines", "--sensitivity"], "give one of them"),
        (["--set", "workload.sesions=4"], "did you mean"),
        (["--targets", "none.csv"], "none.csv: No such file"),
    ],
)
def test_what_cannot_be_used_is_said(rows: tuple[str, ...], arguments: list[str], says: str) -> None:
    result = call(*rows, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_a_trace_that_is_not_there_is_said(tmp_path: Path) -> None:
    result = call("--targets", str(write_targets(tmp_path, EASY)), "--trace", "mine=none.jsonl")
    assert (result.exit_code, "no such file" in result.stderr) == (2, True)


def test_the_scenario_form_is_still_there() -> None:
    result = CliRunner().invoke(app, ["validate", "--help"])
    assert "--measured" in result.stdout


def test_a_fit_looks_where_it_writes_before_it_starts(tmp_path: Path) -> None:
    path, other = tmp_path / "fit.toml", tmp_path / "other"
    path.write_text("mine")
    other.mkdir()
    (other / "a").touch()
    for options, says in (
        (("--out", str(path)), f"--out {path}: exists; give a new file, or --force to replace it"),
        (
            ("--out", str(path), "--force", "--runs", str(other)),
            f"--runs {other}: has files but no runs.jsonl",
        ),
    ):
        result = CliRunner().invoke(app, ["calibrate", "talk", "--seeds", "1", *options])
        assert result.exit_code == 2
        assert says in result.stderr
    assert path.read_text() == "mine"


@pytest.mark.slow
def test_a_fit_writes_a_file_that_runs_take(tmp_path: Path) -> None:
    targets, path = write_targets(tmp_path, EASY), tmp_path / "fit.toml"
    effort = ("--seeds", "1", "--rounds", "1")
    fitting = ("calibrate", "talk", "--targets", str(targets), *FEW, *effort, "--out", str(path))
    result = CliRunner().invoke(app, fitting)
    assert result.exit_code == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 100
    # A row that holds anyhow leaves the priors where they are.
    assert "Loss 0 with the priors, 0 fitted" in result.stdout
    assert read_coefficient_file(path).origin == "fitted"
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")

    settings = (f"timing.coefficients={path}", "workload.sessions=1", "workload.turns=1")
    ran = CliRunner().invoke(app, ["run", "agg4", *(f"--set={text}" for text in settings)])
    assert ran.exit_code == 0, ran.stderr
    assert "fitted to rows of the talk" in " ".join(ran.stdout.split())


def test_a_recorded_workload_has_what_the_cluster_says_of_it() -> None:
    known = {"recorded": WorkloadSettings(set=("workload.profile=none",))}
    runs = replicates(1, 0)
    first, second = _recorded(["recorded=a.jsonl", "other=b.jsonl"], runs, known)
    assert first.settings == ("workload.profile=none", "workload.path=a.jsonl")
    assert second.settings == ("workload.path=b.jsonl",)
