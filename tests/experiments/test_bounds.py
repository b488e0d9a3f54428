"""Further runs for what other routing would hit."""

from typing import Any

import pytest

import sim.experiments.jobs.job
from sim.base.errors import InputError
from sim.experiments.bounds import bound_jobs, bounded
from sim.experiments.compare import compare, plan
from sim.experiments.jobs.job import Job
from sim.results.bounds import BOUNDS
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario
from sim.simulation.result import RunResult
from sim.simulation.run import run

SMALL = ["workload.sessions=2", "workload.turns=2"]


def hit_share(policy: str) -> float | None:
    return run("agg8", [*SMALL, f"router.policy={policy}"]).numbers["prefill.hit_share"]


def policies(name: str, *overrides: str) -> list[tuple[str, str | None, str]]:
    """The policies of the further runs of a scenario: router, prefill pool, which bound."""
    made = bound_jobs([Job(name, load_scenario(name, overrides), {}, {})])
    routers = [bound.job.scenario.router for bound in made]
    return [
        (router.policy, router.prefill_policy, bound.policy)
        for router, bound in zip(routers, made, strict=True)
    ]


def test_the_bounds_of_a_run_are_what_runs_under_these_policies_hit() -> None:
    result = run("agg8", SMALL)
    found = bounded(result, processes=1)
    assert found.to_dict()["bounds"] == {policy: hit_share(policy) for policy in BOUNDS}
    assert {**found.to_dict(), "bounds": None} == {**result.to_dict(), "bounds": None}
    assert found.requests.equals(result.requests)


def test_a_policy_is_its_own_bound() -> None:
    assert policies("agg8", "router.policy=oracle") == [("round-robin", None, "round-robin")]
    (without,) = policies("2p6d", "router.prefill_policy=round-robin")
    assert without == ("kv", "oracle", "oracle")


def test_of_a_disaggregated_cluster_the_policy_of_the_prefill_pool_is_another() -> None:
    assert policies("2p6d") == [("kv", policy, policy) for policy in BOUNDS]


def test_a_comparison_has_the_bounds_of_every_run() -> None:
    plain = compare("agg8", overrides=SMALL, jobs=1)
    found = compare("agg8", overrides=SMALL, jobs=1, bounds=True)
    (run_,), (other,) = found.runs, plain.runs
    assert run_.summary is not None
    assert other.summary is not None
    assert run_.summary["bounds"] == {policy: hit_share(policy) for policy in BOUNDS}
    assert {key: value for key, value in run_.summary.items() if key != "bounds"} == other.summary


def test_a_bound_that_failed_is_null_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(scenario: Scenario, **given: Any) -> RunResult:
        if scenario.router.policy == "oracle":
            raise InputError("no luck")
        return run(scenario, **given)

    monkeypatch.setattr(sim.experiments.jobs.job, "run", fails)
    found = bounded(run("agg8", SMALL), processes=1)
    assert found.to_dict()["bounds"] == {"round-robin": hit_share("round-robin"), "oracle": None}
    assert found.notes[-1] == "bounds: no run under oracle: no luck"


def test_what_ran_already_gets_no_bounds() -> None:
    with pytest.raises(InputError, match="--bounds: agg8 ran already; give a scenario to run"):
        plan([run("agg8", SMALL)], bounds=True)
