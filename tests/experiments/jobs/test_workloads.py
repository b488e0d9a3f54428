"""Workloads that the runs of a process share: what is the same is made once, and no run changes it."""

import json
import os
from copy import deepcopy
from pathlib import Path

import pytest

from sim.experiments.jobs import workloads
from sim.experiments.jobs.job import attempt, jobs_at
from sim.experiments.jobs.workloads import Workloads
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario
from sim.simulation.run import run
from sim.workload.load import load_workload
from sim.workload.request import Trace

SMALL = ("workload.sessions=3", "workload.turns=3")


def scenario(*overrides: str) -> Scenario:
    return load_scenario("agg8", [*SMALL, *overrides])


def of_file(path: Path, *overrides: str) -> Scenario:
    sets = ["workload.profile=none", "workload.sessions=none", "workload.turns=none", *overrides]
    return load_scenario("agg8", [f"workload.path={path}", *sets])


def rows(n: int) -> str:
    row = {"session_id": "", "timestamp": 0, "input_length": 700, "output_length": 5, "hash_ids": [1, 2]}
    return "".join(json.dumps({**row, "timestamp": 1000 * k, "session_id": f"s{k}"}) + "\n" for k in range(n))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many requests each workload has that was made, not shared."""
    found: list[int] = []

    def counted(*given) -> Trace:  # type: ignore[no-untyped-def]
        trace = load_workload(*given)
        found.append(len(trace.requests))
        return trace

    monkeypatch.setattr(workloads, "load_workload", counted)
    return found


def test_what_decides_a_workload_is_all_that_is_compared(made: list[int]) -> None:
    shared = Workloads()
    first = shared.of(scenario())
    assert shared.of(scenario("router.overlap_score_credit=0", "workers.count=2")) is first
    assert shared.of(scenario("seed=1")) is not first
    assert shared.of(scenario("workload.sessions=2")) is not first
    assert shared.of(scenario()) is first
    one_set = shared.of(scenario("workload.session_set=4"))
    assert shared.of(scenario("workload.session_set=4", "seed=1")) is one_set
    assert len(made) == 4


def test_a_file_is_read_once_for_all_seeds_and_anew_once_it_has_changed(
    made: list[int], tmp_path: Path
) -> None:
    shared, path = Workloads(), tmp_path / "trace.jsonl"
    path.write_text(rows(3))
    first = shared.of(of_file(path))
    assert shared.of(of_file(path, "seed=7", "router.policy=round-robin")) is first
    drawn = shared.of(of_file(path, "workload.resample=true", "workload.sessions=5"))
    assert shared.of(of_file(path, "workload.resample=true", "workload.sessions=5", "seed=7")) is not drawn
    path.write_text(rows(4))
    assert len(shared.of(of_file(path)).requests) == 4
    os.utime(path, ns=(0, 0))
    shared.of(of_file(path))
    assert made == [3, 5, 5, 4, 4]


def test_only_so_many_requests_are_kept_and_the_last_trace_always(
    made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workloads, "MOST_REQUESTS", 20)
    shared = Workloads()
    for seed in (0, 1, 2, 1, 2, 0):  # of 9 requests each: two are kept
        shared.of(scenario(f"seed={seed}"))
    assert made == [9, 9, 9, 9]
    long = shared.of(scenario("workload.turns=8"))
    assert len(long.requests) > 20
    assert shared.of(scenario("workload.turns=8")) is long
    shared.of(scenario())
    assert len(made) == 6


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("replay.answers=returned",),
        ("replay.client=turn-dependent", "workers.count=2"),
        ("engine.kv_blocks=700", "offload=none"),
    ],
)
def test_a_run_changes_nothing_of_what_it_sends(overrides: tuple[str, ...]) -> None:
    shared = Workloads()
    once = scenario(*overrides)
    alone = run(once).to_dict()
    before = deepcopy(shared.of(once))
    shared_runs = [run(once, trace=shared.of).to_dict() for _ in range(2)]
    assert shared_runs == [alone, alone]
    assert shared.of(once) == before


def test_what_cannot_be_read_is_told_as_without_sharing(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("{}\n")
    job = jobs_at({"a": of_file(path)}, [], [{}], 1)[0]
    first, again = attempt(job), attempt(job)
    assert first.error == again.error
    assert "trace.jsonl, line 1" in first.error
    path.unlink()
    assert "no such file" in attempt(job).error
