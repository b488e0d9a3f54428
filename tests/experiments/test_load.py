"""What a name or a path stands for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sim.base.errors import InputError
from sim.experiments.compare import compare
from sim.experiments.load import load, load_run
from sim.experiments.sweep import sweep
from sim.report.page import render_page
from sim.runs.comparison import Comparison
from sim.runs.sweep import Sweep
from sim.scenario.load import load_scenario
from sim.simulation.result import RunResult
from sim.simulation.run import run

SMALL = {"workload.sessions": 2, "workload.turns": 2}


def test_names_and_files_are_scenarios(tmp_path: Path) -> None:
    assert load("agg8") == load_scenario("agg8")
    assert load("agg8", {"seed": 3}) == load_scenario("agg8", ["seed=3"])
    path = tmp_path / "mine.toml"
    path.write_text(load_scenario("agg8").to_toml())
    assert load(path) == load_scenario("agg8")


def test_a_folder_of_a_run_is_its_result(tmp_path: Path) -> None:
    run("agg8", SMALL).save(tmp_path / "run")
    found = load(tmp_path / "run")
    assert isinstance(found, RunResult)
    assert found.numbers == run("agg8", SMALL).numbers


def test_a_folder_from_before_the_wait_in_the_client_was_kept_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run("agg8", SMALL).save(folder)
    summary = json.loads((folder / "summary.json").read_text())
    for name in ("late_s", "from_due", "not_completed"):
        del summary[name]
    del summary["prefill"]["uncounted_tokens"]
    (folder / "summary.json").write_text(json.dumps(summary))
    requests = pq.read_table(folder / "requests.parquet")
    pq.write_table(requests.drop_columns("late_s"), folder / "requests.parquet")
    links = pq.read_table(folder / "links.parquet")
    pq.write_table(links.drop_columns("tier"), folder / "links.parquet")

    found = load_run(folder)
    assert found.numbers["ttft_s.p50"] == run("agg8", SMALL).numbers["ttft_s.p50"]
    assert found.requests["late_s"].isna().all()
    assert len(found.links)
    assert found.links["tier"].isna().all()
    assert "Sent late by" not in str(found)
    assert "Sent late by" not in render_page(found)
    assert "sent at" in str(found.explain(0))


def test_folders_of_comparisons_and_sweeps_are_what_they_were(tmp_path: Path) -> None:
    before = compare("agg8", "agg4", overrides=SMALL, jobs=1)
    before.save(tmp_path / "compared")
    after = load(tmp_path / "compared")
    assert isinstance(after, Comparison)
    assert after.frame.equals(before.frame)
    assert {path.name for path in (tmp_path / "compared").iterdir()} >= {"comparison.png", "comparison.json"}

    swept = sweep("agg8", SMALL | {"workload.sessions": [1, 2]}, out=tmp_path / "swept", jobs=1)
    again = load(tmp_path / "swept")
    assert isinstance(again, Sweep)
    assert again.frame.equals(swept.frame)


def test_seeds_of_a_repeated_run_are_a_comparison_of_one_scenario(tmp_path: Path) -> None:
    for seed in (0, 1):
        run("agg8", SMALL | {"seed": seed}).save(tmp_path / "runs" / f"seed-{seed}")
    found = load(tmp_path / "runs")
    assert isinstance(found, Comparison)
    assert (found.scenarios, found.seeds) == (("runs",), (0, 1))
    with pytest.raises(InputError, match=r"holds 2 seeds; give one of them, such as .*runs/seed-0$"):
        load_run(tmp_path / "runs")


def test_draws_of_a_run_are_told_as_such(tmp_path: Path) -> None:
    for draw in (1, 2):
        run("agg8", SMALL | {"timing.draw": draw}).save(tmp_path / "runs" / f"draw-{draw}")
    with pytest.raises(InputError, match=r"holds 2 draws; give one of them, such as .*runs/draw-1$"):
        load_run(tmp_path / "runs")


def test_a_name_that_is_a_folder_too_is_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("agg8", SMALL).save(tmp_path / "agg8")
    monkeypatch.chdir(tmp_path)
    assert load("agg8") == load_scenario("agg8")
    assert isinstance(load("./agg8"), RunResult)
    assert isinstance(load(Path("agg8")), RunResult)


def test_what_ran_already_cannot_be_changed(tmp_path: Path) -> None:
    run("agg8", SMALL).save(tmp_path / "run")
    with pytest.raises(InputError, match="ran already; overrides are for scenarios"):
        load(tmp_path / "run", {"seed": 1})


@pytest.mark.parametrize("source", [5, None, ["agg8"]])
@pytest.mark.parametrize("function", [load, run, sweep])
def test_what_is_no_name_and_no_file_is_refused(function: Callable[[Any], object], source: object) -> None:
    with pytest.raises(InputError, match=f"a {type(source).__name__} is no scenario: give a name, a TOML"):
        function(source)


def test_a_folder_without_a_run_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no run: no summary\.json; give a folder"):
        load_run(tmp_path)
    with pytest.raises(InputError, match="holds no results"):
        load(tmp_path)
