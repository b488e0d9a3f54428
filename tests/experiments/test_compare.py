"""From sources and overrides to runs."""

import os
from pathlib import Path
from typing import Any

import pytest

import sim.experiments.jobs.engine
import sim.experiments.jobs.job
from sim.base.errors import InputError
from sim.experiments.compare import compare, execute, plan
from sim.runs.run import Run
from sim.scenario.load import load_scenario
from sim.simulation.run import run

SMALL = ["workload.sessions=2", "workload.turns=2"]
TOML = """\
title = "Mine"
seed = 7
model = { preset = "llama-3.1-8b-bf16", max_model_len = "200K" }
gpu = "h100-80gb"
workload = { profile = "kct", sessions = 2, turns = 2 }
workers = { count = 2 }
"""


def nothing(_: Run) -> None:
    """Nobody watches."""


def saved(folder: Path, *overrides: str) -> str:
    """A folder as `sim run --out` makes it."""
    folder.mkdir(parents=True)
    run(load_scenario("agg8", [*SMALL, *overrides])).save(folder)
    return str(folder)


# What is planned


def test_points_are_slowest_then_seeds_then_scenarios() -> None:
    jobs = plan(["agg8", "agg4"], ["workload.sessions=2,4", "seed=3", "workload.turns=2"], repeat=2).jobs

    assert [(job.name, job.scenario.workload.sessions, job.scenario.seed) for job in jobs] == [
        (name, sessions, seed) for sessions in (2, 4) for seed in (3, 4) for name in ("agg8", "agg4")
    ]
    assert jobs[0].written == {"workload.sessions": "2"}
    assert {job.scenario.workload.turns for job in jobs} == {2}
    assert jobs[0].settings["workers"]["count"] == 8


def test_all_scenarios_run_with_the_seeds_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    mine = str(tmp_path / "mine.toml")

    assert {job.scenario.seed for job in plan(["agg8", mine], SMALL).jobs} == {0}
    assert {job.scenario.seed for job in plan([mine, "agg8"], SMALL, repeat=2).jobs} == {7, 8}


def test_names_are_short_where_they_stay_apart(tmp_path: Path) -> None:
    paths = [tmp_path / "a" / "mine.toml", tmp_path / "b" / "mine.toml", tmp_path / "other.toml"]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(TOML)
    first, second, other = map(str, paths)

    assert plan([first, "agg8"]).names == ["mine", "agg8"]
    assert plan([first, other, second]).names == [first, "other", second]


def test_a_value_that_is_not_swept_makes_no_point() -> None:
    assert plan(["agg8"], ["workload.sessions=2"]).jobs[0].written == {}


@pytest.mark.parametrize(
    ("sources", "overrides", "message"),
    [
        (["agg8", "agg9"], [], "no scenario is called 'agg9'; did you mean 'agg8'?"),
        (["agg8", "none.toml"], [], "none.toml: No such file or directory"),
        (["agg8", "agg8"], [], "agg8: is given twice"),
        (["agg8"], ["workload.sessions=2,0"], "--set workload.sessions=0: must be greater than 0"),
        (
            ["agg8"],
            ["workload.sesions=2,3"],
            "--set workload.sesions=2: unknown key; did you mean 'sessions'?",
        ),
        (["agg8"], ["seed=1,2"], "--set seed: several seeds are repeats, not points; give --repeat"),
        (["agg8"], ["offload.cpu_bytes=1GiB,1024MiB"], "1GiB and 1024MiB are the same value; give it once"),
        (["agg8"], ["timing.draw=1,2"], "--draws: agg8: timing.draw = 1 is one draw already; leave it out"),
        (["agg8"], ["timing.preset=roofline"], '--draws: agg8: timing.preset = "roofline" has no ranges'),
        (
            ["llama8b-agg2"],
            ["gpu=a100-40gb"],
            "--draws: llama8b-agg2: no ranges to draw coefficients from: roofline",
        ),
        (["agg8"], ["workload.sessions=4:2:1"], "4:2:1 never reaches its stop"),
    ],
)
def test_wrong_input_is_refused(sources: list[str], overrides: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        plan(sources, overrides, draws=2)
    assert message in str(error.value)


def test_every_draw_runs_with_every_seed() -> None:
    jobs = plan(["agg8", "agg4"], SMALL, repeat=2, draws=2).jobs

    assert [(job.scenario.seed, job.scenario.timing.draw, job.name) for job in jobs] == [
        (seed, draw, name) for seed in (0, 1) for draw in (1, 2) for name in ("agg8", "agg4")
    ]
    assert {job.settings["timing"]["draw"] for job in jobs} == {0}
    assert [job.done(None).draw for job in jobs[:3]] == [1, 1, 2]


# What is read


def test_saved_folders_are_read_and_scenarios_run(tmp_path: Path) -> None:
    folder = saved(tmp_path / "before", "seed=1")
    made = plan(["agg4", folder], SMALL)

    assert made.names == ["agg4", "before"]
    assert [run.scenario for run in made.saved] == ["before"]
    assert made.saved[0].seed == 1
    assert [job.name for job in made.jobs] == ["agg4"]


@pytest.mark.parametrize(
    ("overrides", "repeat", "option"), [(["seed=1"], None, "--set"), ([], 3, "--repeat"), ([], 1, "--repeat")]
)
def test_what_ran_already_cannot_be_changed(
    tmp_path: Path, overrides: list[str], repeat: int | None, option: str
) -> None:
    folder = saved(tmp_path / "before")
    with pytest.raises(InputError, match=f"{option}: .*before ran already; give a scenario to run"):
        plan([folder], overrides, repeat)


def test_a_bare_name_of_a_shipped_scenario_is_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "agg8")
    monkeypatch.chdir(tmp_path)

    assert len(plan(["agg8"]).jobs) == 1
    assert len(plan(["./agg8"]).saved) == 1


def test_a_folder_without_results_is_not_a_source(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no results"):
        plan(["agg8", str(tmp_path)])


# What is run


def test_each_run_is_the_one_that_sim_run_makes() -> None:
    comparison = execute(plan(["agg8", "llama8b-agg2"], SMALL, repeat=2), 1, nothing)

    assert comparison.scenarios == ("agg8", "llama8b-agg2")
    assert comparison.seeds == (0, 1)
    for found in comparison.runs:
        alone = run(load_scenario(found.scenario, [*SMALL, f"seed={found.seed}"]))
        assert (found.summary, found.notes) == (alone.to_dict(), alone.notes)


@pytest.mark.slow
def test_processes_change_nothing_but_the_time() -> None:
    made = plan(["agg8", "agg4"], [*SMALL, "router.policy=kv,random"])
    seen: list[Run] = []
    parallel = execute(made, 2, seen.append)

    assert parallel.to_dict(["gpu_hours"]) == execute(made, 1, nothing).to_dict(["gpu_hours"])
    assert len(seen) == 4


@pytest.mark.parametrize(
    ("raised", "message"), [(InputError("no room"), "no room"), (KeyError("x"), "KeyError: 'x'")]
)
def test_one_run_that_fails_does_not_lose_the_others(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, message: str
) -> None:
    def failing(scenario: object, **_: object) -> object:
        if scenario == made.jobs[1].scenario:
            raise raised
        return run(scenario)  # type: ignore[arg-type]

    made = plan(["agg8", "agg4"], SMALL)
    monkeypatch.setattr(sim.experiments.jobs.job, "run", failing)
    comparison = execute(made, 1, nothing)

    assert [(run.scenario, run.error) for run in comparison.failed] == [("agg4", message)]
    assert comparison.runs[0].summary is not None


def test_a_process_that_dies_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan(["agg8", "agg4"], SMALL)
    monkeypatch.setattr(sim.experiments.jobs.engine, "attempt", _die)
    comparison = execute(made, 2, nothing)

    assert len(comparison.failed) == 2
    assert "a process ended abruptly; was it out of memory?" in comparison.failed[0].error


def _die(job: object) -> None:
    os._exit(1)


def test_a_watcher_can_end_it() -> None:
    seen: list[Run] = []

    def on_run(found: Run) -> None:
        seen.append(found)
        raise InputError("enough")

    with pytest.raises(InputError, match="enough"):
        execute(plan(["agg8", "agg4"], SMALL), 1, on_run)
    assert len(seen) == 1


def test_saved_runs_stand_beside_new_ones(tmp_path: Path) -> None:
    folder = saved(tmp_path / "before", "workload.sessions=3")
    comparison = execute(plan([folder, "agg8"], ["workload.sessions=2,3", "workload.turns=2"]), 1, nothing)

    assert comparison.scenarios == ("before", "agg8")
    row = next(row for row in comparison.rows(["simulated_s"]) if row.point == (3,))
    assert row.differences["agg8"].value == 0


# From Python


def test_whatever_takes_part_is_compared_by_name(tmp_path: Path) -> None:
    folder = saved(tmp_path / "before", "seed=1")
    mine = run("agg8", SMALL, policy=lambda terms, query, draw: 0)
    sources = {"default": "agg8", "read": Path(folder), "mine": mine, "four": load_scenario("agg4")}
    comparison = compare(sources, overrides=SMALL, jobs=1)

    assert comparison.scenarios == ("default", "read", "mine", "four")
    assert comparison.runs[2].numbers == mine.numbers
    assert "routing: a policy passed by the caller" in comparison.runs[2].notes
    assert comparison.runs[1].seed == 1
    assert comparison.runs[1].notes == run("agg8", [*SMALL, "seed=1"]).notes


def test_results_with_several_seeds_are_one_scenario_and_a_comparison_takes_part_as_a_whole() -> None:
    seeds = [run("agg8", [*SMALL, f"seed={seed}"]) for seed in (0, 1)]
    first = compare({"mine": seeds})
    assert (first.scenarios, first.seeds) == (("mine",), (0, 1))
    both = compare(first, "agg4", overrides=SMALL, repeat=2, jobs=1)
    assert both.scenarios == ("mine", "agg4")
    assert both.summary("gpu_hours")["difference"].notna().tolist() == [False, True]


def test_values_by_key_make_points() -> None:
    comparison = compare("agg8", overrides={"workload.sessions": [1, 2], "workload.turns": 2}, jobs=1)
    assert comparison.points == ((1,), (2,))
    assert comparison.frame["workload.sessions"].tolist() == [1, 2]


def test_a_name_may_be_a_number() -> None:
    small = {"workload.sessions": 1, "workload.turns": 1}
    assert compare({4: "agg4", 8: run("agg8", small)}, overrides=small, jobs=1).scenarios == ("4", "8")


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ((), "give scenarios or results, or one mapping of them by name"),
        (({},), "give scenarios or results"),
        (("agg8", {"mine": "agg4"}), "give scenarios or results, or one mapping"),
        (("agg8", "agg8"), r"agg8: is given twice"),
        ((5,), "5: give a scenario, a folder, or results of run"),
        (([],), r"\[\]: give a scenario, a folder, or results of run"),
        (({"mine": 5},), "mine: give a scenario, a folder, or results of run"),
        (({"mine": []},), "mine: give a scenario, a folder, or results of run"),
        (({"mine": ["agg8"]},), "mine: give a scenario, a folder, or results of run"),
    ],
)
def test_what_cannot_be_compared_is_refused(sources: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(*sources)


def test_a_run_that_fails_is_a_warning_and_none_that_ends_well_an_error(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text("{}\n")
    broken = load_scenario("agg4", [f"workload.path={trace}"])
    with pytest.warns(UserWarning, match=r"broken, seed 0: .*trace\.jsonl"):
        comparison = compare({"good": load_scenario("agg8", SMALL), "broken": broken}, jobs=1)
    assert [run.scenario for run in comparison.failed] == ["broken"]
    with pytest.raises(InputError, match=r"trace\.jsonl"):
        compare({"broken": broken}, jobs=1)
