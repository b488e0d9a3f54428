"""Folders of results: read by a comparison, and its own."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sim.base.errors import InputError
from sim.runs.comparison import Comparison
from sim.runs.saved import read_runs, write_comparison
from tests.runs.comparisons import made, swept, two_points


def save(folder: Path, seed: int = 0, p50: float = 1.0) -> Path:
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps({"schema_version": 1, "ttft_s": {"p50": p50}}))
    (folder / "scenario.toml").write_text(f'title = "T"\nseed = {seed}\n[workload]\nsessions = 3\n')
    return folder


def test_a_folder_of_one_run(tmp_path: Path) -> None:
    (run,) = read_runs(save(tmp_path / "a", seed=4), "a")

    assert (run.scenario, run.seed, run.value("workload.sessions")) == ("a", 4, 3)
    assert run.numbers == {"ttft_s.p50": 1.0}
    assert run.written == {}


def test_a_folder_of_several_seeds_in_their_order(tmp_path: Path) -> None:
    for seed in (10, 9, 11):
        save(tmp_path / "a" / f"seed-{seed}", seed, p50=seed)
    (tmp_path / "a" / "summary.json").write_text("combined")
    runs = read_runs(tmp_path / "a", "a")

    assert [(run.seed, run.numbers["ttft_s.p50"]) for run in runs] == [(9, 9), (10, 10), (11, 11)]


def test_a_comparison_comes_back_as_it_was(tmp_path: Path) -> None:
    failed = made(
        "slow", None, 3, workload={"sessions": 12}, written={"workload.sessions": "12"}, error="no room"
    )
    before = Comparison(["fast", "slow"], [*two_points().runs, failed])
    write_comparison(before, ["ttft_s.p50"], tmp_path)
    after = Comparison(["fast", "slow"], read_runs(tmp_path, "x"))

    assert after.to_dict(["ttft_s.p50"]) == before.to_dict(["ttft_s.p50"])
    assert [run.error for run in after.failed] == ["no room"]
    assert after.runs[0].settings == before.runs[0].settings


def test_what_a_comparison_writes(tmp_path: Path) -> None:
    write_comparison(two_points(), ["ttft_s.p50"], tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {
        "comparison.json",
        "comparison.parquet",
        "scenarios",
    }
    content = json.loads((tmp_path / "comparison.json").read_text())
    named = {run["settings"] for run in content["runs"]}
    assert {path.name for path in (tmp_path / "scenarios").iterdir()} == named
    assert sorted(named)[0] == "1_fast_workload.sessions=12.toml"

    table = pq.read_table(tmp_path / "comparison.parquet")
    assert table.column_names == ["scenario", "workload.sessions", "seed", "draw", "metric", "value"]
    kinds = ["string", "int64", "int64", "int64", "string", "double"]
    assert [str(kind) for kind in table.schema.types] == kinds
    row = {"scenario": "slow", "workload.sessions": 20, "seed": 1, "draw": 0, "metric": "ttft_s.p50"}
    assert row | {"value": 3.5} in table.to_pylist()


@pytest.mark.parametrize(
    ("values", "kind", "column"),
    [
        ([1, 2], "int64", [1, 2]),
        ([1, 0.5], "double", [1.0, 0.5]),
        ([1, None], "int64", [1, None]),
        ([True, False], "bool", [True, False]),
        (["sessions", 4, None], "string", ["sessions", "4", None]),
    ],
)
def test_a_swept_key_is_a_column_of_one_type(tmp_path: Path, values, kind, column) -> None:
    runs = [
        made(
            "a",
            1.0,
            seed,
            workload={} if value is None else {"key": value},
            written={"workload.key": str(value)},
        )
        for seed, value in enumerate(values)
    ]
    write_comparison(Comparison(["a"], runs), ["ttft_s.p50"], tmp_path)
    table = pq.read_table(tmp_path / "comparison.parquet", filters=[("metric", "=", "ttft_s.p50")])

    assert str(table.schema.field("workload.key").type) == kind
    assert table["workload.key"].to_pylist() == column


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(
        InputError,
        match=r"no summary\.json, comparison\.json, sweep\.json, no folders seed-",
    ):
        read_runs(tmp_path, "x")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("summary.json", "{", "summary.json: not a JSON file"),
        ("summary.json", "{}", "summary.json: schema_version is None; 1 is understood"),
        ("summary.json", "[1]", "summary.json: must hold a JSON object"),
        ("scenario.toml", "seed = ", "scenario.toml: not a TOML file"),
        ("scenario.toml", None, "scenario.toml: No such file"),
        ("comparison.json", '{"schema_version": 99}', "schema_version is 99; 1 is understood"),
        (
            "comparison.json",
            '{"schema_version": 1, "runs": []}',
            "runs = []: List should have at least 1",
        ),
        ("comparison.json", '{"schema_version": 1}', "not as --out writes it: runs is missing"),
        ("comparison.json", '{"schema_version": 1, "runs": [3]}', "runs.0 = 3: must be"),
        ("sweep.json", '{"schema_version": 1, "scenario": 5}', "scenario = 5: must be a valid string"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, file: str, content: str | None, message: str) -> None:
    path = save(tmp_path / "a") / file
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError) as error:
        read_runs(tmp_path / "a", "a")
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_equal_comparisons_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        write_comparison(Comparison(["a"], swept("a", {1: [1.0], 2: [3.0]})), ["ttft_s.p50"], tmp_path / name)
    for file in ("comparison.json", "comparison.parquet"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()
