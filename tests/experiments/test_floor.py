"""The floor: no cluster serves a request faster than an idle worker serves it alone."""

from collections.abc import Sequence
from typing import Any

import pytest

from sim.experiments.floor import find_floor
from sim.experiments.jobs.engine import local
from sim.experiments.jobs.execute import execute
from sim.experiments.jobs.job import Job
from sim.hardware.parallel import ONE_GPU
from sim.runs.floor import COLD, alone
from sim.runs.layouts import Configuration, Layout
from sim.runs.run import Run
from sim.scenario.load import load_scenario
from sim.simulation.run import run

SMALL = ["workload.sessions=3", "workload.turns=3"]
LATENCIES = ("ttft_s", "tpot_s", "e2e_s")


def times(overrides: Sequence[str]) -> dict[str, list[Any]]:
    requests = run("agg8", [*SMALL, *overrides]).rows.tables["requests"]
    order = sorted(range(len(requests)), key=requests.column("index").__getitem__)
    return {name: [requests.column(name)[row] for row in order] for name in LATENCIES}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("layout", [Layout(1), Layout(3), Layout(2, 1)])
def test_no_request_of_a_cluster_is_faster_than_alone(layout: Layout, seed: int) -> None:
    seeded = [f"seed={seed}"]
    least = times([*seeded, *alone(ONE_GPU)])
    found = times([*seeded, *Configuration(layout, 2**34).overrides()])
    for name in LATENCIES:
        pairs = zip(least[name], found[name], strict=True)
        assert all(low <= high * (1 + 1e-9) for low, high in pairs if low is not None), name


def test_cold_is_slower_than_warm_where_turns_share_a_prefix() -> None:
    warm, cold = times(alone(ONE_GPU))["ttft_s"], times([*alone(ONE_GPU), *COLD])["ttft_s"]
    assert all(low <= high * (1 + 1e-9) for low, high in zip(warm, cold, strict=True))
    assert sum(warm) < sum(cold) / 2


def runner(jobs: Sequence[Job]) -> list[Run]:
    return execute(jobs, local(1), lambda _: None)


def test_the_floor_is_the_runs_numbers() -> None:
    base = load_scenario("agg8", SMALL)
    floor = find_floor("agg8", SMALL, [ONE_GPU], base, runner)
    assert floor is not None
    assert floor.exact
    least = sorted(times(alone(ONE_GPU))["ttft_s"])
    assert floor.least("ttft_s.max") == least[-1]
    assert floor.least_cold("ttft_s.max") == pytest.approx(max(times([*alone(ONE_GPU), *COLD])["ttft_s"]))
    assert floor.warm[0].numbers["prefill.by_cause.gone"] == 0
    assert floor.warm[0].numbers["prefill.by_cause.evicted_here"] == 0


def test_without_an_engine_that_starts_there_is_no_floor() -> None:
    base = load_scenario("agg8", SMALL)

    def fail(jobs: Sequence[Job]) -> list[Run]:
        return [job.done(None, error="no room") for job in jobs]

    assert find_floor("agg8", SMALL, [ONE_GPU], base, fail) is None
