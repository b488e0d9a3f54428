"""A scenario at many points."""

from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.experiments.jobs.engine import local
from sim.experiments.jobs.job import Job
from sim.experiments.load import load
from sim.experiments.sweep import execute_plan, plan, sweep
from sim.runs.run import Run
from sim.runs.saved import read_runs
from sim.scenario.load import load_scenario
from sim.simulation.run import run
from tests.experiments.jobs.fakes import fake_engine

SMALL = ["workload.sessions=2", "workload.turns=2"]
CREDITS = "router.overlap_score_credit=0,1"


def nothing(_: Run) -> None:
    """Nobody watches."""


def table_bytes(folder: Path) -> bytes:
    return (folder / "sweep.parquet").read_bytes()


def test_a_grid_has_every_combination_with_the_same_seeds() -> None:
    made = plan("agg8", [*SMALL, CREDITS, "router.temperature=0,0.5", "seed=3"], repeat=2)

    assert [
        (job.scenario.router.overlap_score_credit, job.scenario.router.temperature, job.scenario.seed)
        for job in made.jobs
    ] == [(credit, temperature, seed) for credit in (0, 1) for temperature in (0, 0.5) for seed in (3, 4)]
    assert made.sampled == []


def test_a_sample_has_so_many_points_of_the_ranges_for_each_value_of_the_lists() -> None:
    made = plan("agg8", [*SMALL, "router.overlap_score_credit=0:2", "router.policy=kv,random"], sample=4)

    assert made.sampled == ["router.overlap_score_credit"]
    credits = [job.written["router.overlap_score_credit"] for job in made.jobs]
    assert credits[:4] == credits[4:]
    assert len(set(credits)) == 4
    assert plan("agg8", [*SMALL, "router.overlap_score_credit=0:2"], sample=4).jobs[0].written == {
        "router.overlap_score_credit": credits[0]
    }


@pytest.mark.parametrize(
    ("overrides", "sample", "message"),
    [
        ([CREDITS], 4, "--sample: there is no range to sample"),
        (["router.temperature=0:1", "router.temperature=0:2"], 4, "--set router.temperature: is given twice"),
        (["router.temperature=0:1", "router.temperature=1"], 4, "--set router.temperature: is given twice"),
        (["seed=1:9"], 4, "--set seed: several seeds are repeats, not points"),
        (["seed=1,2"], None, "--set seed: several seeds are repeats, not points"),
        (["router.overlap_score_credit=-1:2"], 4, "must be greater than or equal to 0"),
        (["router.overlap_score_credit=0:2"], None, "must be a valid number"),
    ],
)
def test_wrong_input_is_refused(overrides: list[str], sample: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan("agg8", overrides, sample=sample)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"repeat": 0}, r"repeat = 0: give a whole number from 1 to 100,000"),
        ({"repeat": 10**12}, r"repeat = 1000000000000: give"),
        ({"sample": 0}, r"sample = 0: give"),
        ({"sample": 1.5}, r"sample = 1.5: give"),
        ({"jobs": 0}, r"jobs = 0: give"),
        ({"sample": 60_000, "repeat": 2}, r"these are 120,000 runs or more"),
    ],
)
def test_counts_that_cannot_be_are_refused(counts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sweep("agg8", {"router.temperature": "0:1"} if "sample" in counts else (), **counts)


def test_more_runs_than_can_be_listed_are_refused() -> None:
    with pytest.raises(InputError, match="these are 100,002 runs or more"):
        plan("agg8", [*SMALL, CREDITS], repeat=50_001)


def test_the_frame_has_a_row_for_each_run_and_a_column_for_each_number() -> None:
    frame = sweep("agg8", [*SMALL, CREDITS], repeat=2, jobs=1).frame

    assert list(frame.columns[:5]) == [
        "scenario",
        "router.overlap_score_credit",
        "seed",
        "draw",
        "error",
    ]
    assert list(frame["router.overlap_score_credit"]) == [0, 0, 1, 1]
    assert list(frame["seed"]) == [0, 1, 0, 1]
    alone = run(load_scenario("agg8", [*SMALL, "router.overlap_score_credit=0", "seed=1"])).to_dict()
    assert frame.loc[1, "ttft_s.p50"] == alone["ttft_s"]["p50"]
    assert frame.loc[1, "prefill.by_cause.elsewhere"] == alone["prefill"]["by_cause"]["elsewhere"]


@pytest.mark.slow
def test_what_is_resumed_gives_the_same_bytes(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    made = plan("agg8", [*SMALL, CREDITS], repeat=2)
    sweep("agg8", [*SMALL, CREDITS], repeat=2, jobs=1, out=whole)

    seen: list[Run] = []

    def kill_after_three(ended: Run) -> None:
        seen.append(ended)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute_plan(made, local(1), kill_after_three, parts)
    assert not (parts / "sweep.parquet").exists()
    ran: list[Run] = []
    left = execute_plan(made, local(1), ran.append, parts)

    assert table_bytes(parts) == table_bytes(whole)
    assert (parts / "sweep.json").read_bytes() == (whole / "sweep.json").read_bytes()
    assert len((parts / "runs.jsonl").read_text().splitlines()) == 4
    assert left.frame.equals(load(whole).frame)


def test_more_points_take_only_what_is_new(tmp_path: Path) -> None:
    ran: list[Job] = []
    engine = fake_engine(lambda job: {"x": job.scenario.router.temperature}, ran)
    for temperatures in ("0,1", "0,1,2"):
        made = plan("agg8", [*SMALL, f"router.temperature={temperatures}"])
        execute_plan(made, engine, nothing, tmp_path / "out")

    assert [job.scenario.router.temperature for job in ran] == [0, 1, 2]
    assert list(load(tmp_path / "out").frame["x"]) == [0, 1, 2]


def test_a_folder_of_a_sweep_can_be_compared(tmp_path: Path) -> None:
    made = sweep("agg8", [*SMALL, CREDITS], jobs=1, out=tmp_path / "out")
    assert read_runs(tmp_path / "out", "out") == list(made.runs)


def test_one_run_that_fails_has_its_error_in_the_table(tmp_path: Path) -> None:
    def failing(jobs):  # type: ignore[no-untyped-def]
        for place, job in enumerate(jobs):
            yield place, job.done({"x": 1.0} if place else None, error="" if place else "no room")

    execute_plan(plan("agg8", [*SMALL, CREDITS]), failing, nothing, tmp_path / "out")
    frame = load(tmp_path / "out").frame

    assert list(frame["error"].fillna("")) == ["no room", ""]
    assert list(frame["x"].isna()) == [True, False]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a JSON file"),
        ('{"schema_version": 99}', "schema_version is 99"),
        (
            '{"schema_version": 1, "scenario": "a", "sampled": [], '
            '"runs": [{"fingerprint": "x", "written": {}}]}',
            "a run is lost",
        ),
    ],
)
def test_a_damaged_folder_is_told(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "sweep.json").write_text(content)
    (tmp_path / "runs.jsonl").touch()
    with pytest.raises(InputError, match=message):
        read_runs(tmp_path, "out")


def test_a_loaded_scenario_is_swept_over_values_by_key() -> None:
    loaded = load_scenario("agg8", SMALL)
    found = sweep(loaded, {"router.overlap_score_credit": [0, 1]}, jobs=1)
    texts = sweep("agg8", [*SMALL, CREDITS], jobs=1)

    assert found.scenarios == (loaded.title,)
    assert found.frame.drop(columns="scenario").equals(texts.frame.drop(columns="scenario"))
    assert [found.written(key, value) for key in found.keys for value in found.values_of(key)] == ["0", "1"]


def test_a_text_by_key_is_a_range() -> None:
    assert sweep("agg8", {"workload.sessions": "1:2:1", "workload.turns": 1}, jobs=1).points == ((1,), (2,))
