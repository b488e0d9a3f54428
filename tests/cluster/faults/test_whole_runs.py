"""Whole runs with random faults: everything ends, is counted, and goes back."""

from collections import Counter
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sim.cluster.build import Cluster
from sim.ledger.account import CAUSES
from sim.results.metrics import to_json
from sim.scenario.scenario import Scenario
from sim.simulation.run import summary_of
from tests.cluster.checks.test_watch import random_pair
from tests.cluster.faults.random_faults import random_faults, random_limits
from tests.cluster.test_disaggregated import pair, some_turns
from tests.clusters import Pace, RandomCluster, rows, run_cluster

seeds = st.integers(0, 2**32)


def broken(scenario: Scenario, random: Random, until_s: float) -> Scenario:
    """A scenario with random faults, of about the time that its requests take."""
    faults = random_faults(
        random,
        workers=scenario.workers.gpus,
        disaggregated=scenario.workers.prefill is not None,
        offload=scenario.offload is not None,
        until_s=until_s,
    )
    content = scenario.to_dict() | {"faults": faults}
    for section, keys in random_limits(random, until_s).items():
        content[section] = content[section] | {key: value for key, value in keys.items() if value is not None}
    return Scenario.model_validate(content)


def steady(scenario: Scenario) -> Scenario:
    """The same, step by step."""
    return scenario.model_copy(update={"engine": scenario.engine.model_copy(update={"fast_forward": False})})


def check(cluster: Cluster) -> None:
    requests, summary = rows(cluster), summary_of(cluster)
    assert sorted(row["index"] for row in requests) == list(range(len(cluster._trace.requests)))
    counts = Counter(row["status"] for row in requests)
    if cluster.scenario.can_break:
        statuses = ("completed", "rejected", "failed", "cancelled", "unfinished")
        assert {name: summary["requests"][name] for name in statuses} == {
            name: counts[name] for name in statuses
        }
        assert sum(counts.values()) == summary["requests"]["total"]
        assert summary["requests"]["retries"] == sum(row["retries"] or 0 for row in requests)
    for row in requests:
        assert (row["reason"] is None) == (row["status"] == "completed")
        if row["status"] == "completed":
            assert row["output_tokens"] == cluster._trace.requests[row["index"]].output_tokens
        if row["send_s"] is not None:
            assert row["recomputed_tokens"] == sum(row[f"{cause}_tokens"] for cause in CAUSES)
            assert row["computed_prompt_tokens"] == row["first_tokens"] + row["recomputed_tokens"]
    assert summary["itl_s"]["n"] == sum(max(0, (row["output_tokens"] or 0) - 1) for row in requests)
    if counts["unfinished"]:
        return
    assert not cluster.recorder.records
    for worker in cluster.workers:
        engine = worker.engine
        assert engine.cache.pool.used_blocks == 0
        assert engine.idle
        assert not engine.needs_step
    for pool in cluster.frontend.pools:
        loads = pool.router.loads
        assert not any(loads.prefill_tokens + loads.active_blocks + loads.requests)
    if cluster.pulls is not None:
        assert not cluster.pulls._under_way


def same(first: Cluster, second: Cluster) -> None:
    assert to_json(summary_of(first)) == to_json(summary_of(second))
    for table in first.recorder.rows.tables:
        assert rows(first, table) == rows(second, table)


def play(scenario: Scenario, trace, law) -> None:
    quick = run_cluster(scenario, trace, law)
    check(quick)
    same(quick, run_cluster(steady(scenario), trace, law))


@settings(max_examples=60, deadline=None)
@given(seeds)
@example(19378)  # a client gives up at the very instant of an output
@example(20684)  # a front end restarts at the very instant of an output
@example(10022)  # the only copy of a worker comes to nothing before a byte of it has moved
@pytest.mark.slow
def test_aggregated_workers(seed):
    random = RandomCluster(Random(seed))
    until_s = max(row["end_s"] or 1.0 for row in rows(random.run()))
    play(broken(random.scenario, Random(seed), until_s), random.trace, random.law)


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from([0, 2]), st.sampled_from(["fail", "recompute"]))
@pytest.mark.slow
def test_disaggregated_workers(seed, state_groups, policy):
    random = Random(seed)
    engine = {"kv_blocks": random.randint(40, 70), "async_scheduling": random.random() < 0.5}
    joined = {"kv_load_failure_policy": policy, "decode_kv_role": "kv_consumer"}
    joined["lease_s"] = random.choice([5, 30])
    scenario = pair(
        state_groups, prefill=random.randint(1, 2), decode=random.randint(1, 2), engine=engine, **joined
    )
    play(broken(scenario, random, 100.0), some_turns(seed), Pace(0.1, 0.01))


@settings(max_examples=25, deadline=None)
@given(seeds)
@example(19)  # a prefill worker dies that keeps a prompt of a request that has ended
def test_pairs_under_pressure(seed):
    """With CPU tiers, conditional disaggregation and short leases, each now and then."""
    random = Random(seed)
    scenario = random_pair(random, fast_forward=True)
    law = random.choice([Pace(), Pace(0.1, 0.01)])
    scenario = broken(scenario, random, random.choice([20.0, 100.0]))
    play(scenario, some_turns(seed, sessions=random.randint(1, 8), turns=4), law)
