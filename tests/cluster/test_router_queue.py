"""Requests that wait at the router: times by hand, and whatever may happen to them meanwhile.

A step takes 1 s, nothing else takes time; a step computes 64 tokens, so a prompt of 64 is a step.
"""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from sim.results.metrics import to_json
from sim.simulation.run import summary_of
from tests.cluster.faults.random_faults import random_faults
from tests.cluster.test_disaggregated import pair, some_turns
from tests.clusters import Pace, build_cluster, rows, run_cluster, scenario, trace, turn

ALWAYS = {"queue_threshold": 0.0}
"""Nobody goes while every worker has booked prefill."""


def alone(n, at_s=0.0, tokens=64, output=1):
    """A request that shares nothing with the others."""
    return turn(at_s, tokens, output, range(100 * n, 100 * n + -(-tokens // 16)), f"s{n}")


def times(cluster, *names):
    return [tuple(row[name] for name in names) for row in sorted(rows(cluster), key=lambda row: row["index"])]


# -- by hand ------------------------------------------------------------------------------------------------


def test_one_at_a_time():
    cluster = run_cluster(
        scenario(workers={"count": 1}, router=ALWAYS), trace(alone(0), alone(1, 0.25), alone(2, 0.5))
    )
    assert times(cluster, "routed_s", "queued_s", "router_queue_s", "first_token_s") == [
        (0.0, 0.0, 0.0, 1.0),
        (1.0, 1.0, 0.75, 2.0),
        (2.0, 2.0, 1.5, 3.0),
    ]


def test_without_a_queue_there_is_no_column():
    cluster = run_cluster(scenario(), trace(alone(0)))
    assert "router_queue_s" not in rows(cluster)[0]
    assert "queue_s" not in summary(cluster)["router"]


def summary(cluster):
    return summary_of(cluster)


@pytest.mark.parametrize(("policy", "order"), [("fcfs", [1, 2, 3]), ("wspt", [2, 3, 1]), ("lcfs", [3, 2, 1])])
def test_the_policy_orders(policy, order):
    requests = trace(alone(0), alone(1, 0.1, 48), alone(2, 0.2, 16), alone(3, 0.3, 32))
    cluster = run_cluster(scenario(workers={"count": 1}, router=ALWAYS | {"queue_policy": policy}), requests)
    routed = [row["index"] for row in sorted(rows(cluster), key=lambda row: row["routed_s"])]
    assert routed == [0, *order]


def test_who_waits_goes_before_who_comes_at_that_instant():
    cluster = run_cluster(
        scenario(workers={"count": 1}, router=ALWAYS), trace(alone(0), alone(1, 0.5), alone(2, 1.0))
    )
    assert times(cluster, "routed_s") == [(0.0,), (1.0,), (2.0,)]


def test_the_index_is_that_of_the_arrival_or_after_a_long_wait_of_the_choice():
    """The second prompt is the first one's. On arrival nobody holds it; a second later worker 0 does."""
    same = trace(alone(0), turn(0.5, 80, 1, (*range(4), 900), "b"))
    for refresh_s, credit in ((10.0, 0), (0.5, 64)):
        router = ALWAYS | {"overlap_refresh_after_secs": refresh_s}
        cluster = run_cluster(scenario(workers={"count": 1}, router=router), same)
        assert times(cluster, "credit_tokens", "local_hit_tokens")[1] == (credit, 64)


# -- refusals, and what becomes of those that wait ----------------------------------------------------------


def limited(**limits):
    return {
        "policy_config": {
            "default_policy_family": "std",
            "uncached_isl_buckets": [{"min_tokens": 0, "bucket": "all"}],
            "policy_classes": [
                {
                    "name": "std",
                    "policy_family": "std",
                    "cache_bucket": "all",
                    "quantum": 100,
                    "prefill_busy_threshold": 0,
                    **limits,
                }
            ],
        }
    }


def test_a_limit_refuses_and_the_run_says_so():
    router = limited(request_queue_limit_per_worker=1)
    requests = trace(alone(0), alone(1, 0.1), alone(2, 0.2), alone(3, 1.1))
    cluster = run_cluster(scenario(workers={"count": 1}, router=router), requests)
    assert times(cluster, "status", "reason", "end_s", "router_queue_s") == [
        ("completed", None, 1.0, 0.0),
        ("completed", None, 2.0, pytest.approx(0.9)),
        ("rejected", "router_queue_limit of class std; 1 requests wait", 0.2, 0.0),
        ("completed", None, 3.0, pytest.approx(0.9)),
    ]
    found = summary(cluster)
    assert found["requests"]["rejected_by_reason"] == {"router_queue_limit of class std": 1}
    assert found["router"]["queue_s"]["n"] == 4
    assert found["router"]["queue_s"]["max"] == pytest.approx(0.9)


def test_who_gives_up_while_he_waits_is_not_waited_for():
    requests = trace(alone(0, tokens=640), alone(1, 0.5), alone(2, 0.75))
    cancel = {"kind": "clients-cancel", "sessions": ["s1"], "at_s": 0.0, "after_s": 2.0}
    cluster = run_cluster(scenario(workers={"count": 1}, router=ALWAYS, faults=[cancel]), requests)
    assert times(cluster, "status", "routed_s", "end_s", "router_queue_s") == [
        ("completed", 0.0, 10.0, 0.0),
        ("cancelled", None, 2.5, 2.0),
        ("completed", 10.0, 11.0, 9.25),
    ]


def test_a_worker_that_goes_lets_others_go_and_is_tried_again():
    """The only worker dies at 0.5 s and is back at 2 s: who waits is refused, as who comes then would be."""
    dies = {"kind": "worker-dies", "worker": 0, "at_s": 0.5, "back_after_s": 1.5}
    requests = trace(alone(0), alone(1, 0.25), alone(2, 3.0))
    cluster = run_cluster(scenario(workers={"count": 1}, router=ALWAYS, faults=[dies]), requests)
    assert times(cluster, "status", "reason") == [
        ("failed", "worker_died"),
        ("rejected", "no_eligible_worker"),
        ("completed", None),
    ]


def test_a_worker_that_comes_back_takes_who_waits():
    dies = {"kind": "worker-dies", "worker": 1, "at_s": 0.0, "detected_after_s": 0.0, "back_after_s": 2.5}
    requests = trace(alone(0, 0.5, 640), alone(1, 1.0))
    cluster = run_cluster(scenario(router=ALWAYS, faults=[dies]), requests)
    assert times(cluster, "worker", "routed_s") == [(0, 0.5), (1, 2.5)]


@pytest.mark.parametrize(("in_flight", "found"), [("fail", ["failed"] * 3), ("keep", ["completed"] * 3)])
def test_a_front_end_that_restarts(in_flight, found):
    """It forgets its bookings at 1.5 s: who waits goes until a worker is busy again, or fails."""
    restarts = {"kind": "frontend-restarts", "at_s": 1.5, "in_flight": in_flight}
    requests = trace(alone(0, tokens=640), alone(1, 0.5), alone(2, 0.75))
    cluster = run_cluster(scenario(workers={"count": 1}, router=ALWAYS, faults=[restarts]), requests)
    assert [status for (status,) in times(cluster, "status")] == found
    if in_flight == "keep":
        assert times(cluster, "routed_s")[1] == (1.5,)
    else:
        assert times(cluster, "routed_s", "router_queue_s")[1:] == [(None, 1.0), (None, 0.75)]


def test_a_lost_request_goes_to_the_end_of_the_queue():
    dies = {"kind": "worker-dies", "worker": 0, "at_s": 0.5}
    requests = trace(alone(0, tokens=640), alone(1, tokens=640), alone(2, 0.25))
    settings = scenario(router=ALWAYS, faults=[dies], frontend={"migration_limit": 1})
    cluster = run_cluster(settings, requests)
    found = {row["index"]: row for row in rows(cluster)}
    lost = next(row for row in found.values() if row["retries"])
    assert found[2]["routed_s"] == 10.0
    assert lost["router_queue_s"] == 10.5  # from 0.5 to 11 s, when the third has its token
    assert {row["status"] for row in found.values()} == {"completed"}


def test_bookings_that_expire_let_who_waits_go():
    """Nothing is heard of a prompt of 20 steps: its booking goes at the scan of 10 s, not at 5 s."""
    router = ALWAYS | {"active_request_expiry_secs": 5.0}
    cluster = run_cluster(
        scenario(workers={"count": 1}, router=router), trace(alone(0, 1.0, 1280), alone(1, 2.0))
    )
    assert times(cluster, "routed_s", "router_queue_s") == [(1.0, 0.0), (10.0, 8.0)]


def test_who_waits_when_nothing_can_happen_any_more_is_told():
    """It cannot come to that by itself: here nobody looks."""
    cluster = build_cluster(
        scenario(workers={"count": 1}, router=ALWAYS), trace(alone(0), alone(1, 0.5)), check=False
    )
    line = cluster.frontend.stages[0].lines[0]
    line.look = lambda: None
    line._scans = True
    cluster.run()
    row = times(cluster, "status", "reason", "routed_s")[1]
    assert row == ("unfinished", "waits at the router: every worker that may serve it is busy", None)


# -- two pools ----------------------------------------------------------------------------------------------


def test_each_pool_has_a_queue_and_decoding_books_no_prefill():
    cluster = run_cluster(
        pair().model_copy(update={"router": scenario(router=ALWAYS).router}),
        trace(alone(0), alone(1, 0.5), alone(2, 0.75)),
    )
    assert times(cluster, "routed_s", "prefilled_s", "router_queue_s") == [
        (0.0, 1.0, 0.0),
        (1.0, 2.0, 0.5),
        (2.0, 3.0, 1.25),
    ]


def test_a_threshold_of_the_queue_is_that_of_busy_prefill_workers():
    conditional = {"policy": "prefill_load"}
    settings = scenario(
        workers={"count": None, "prefill": 1, "decode": 1},
        disaggregation={"conditional": conditional},
        router={"queue_threshold": 0.5},
    )
    cluster = run_cluster(settings, trace(alone(0), alone(1, 0.5), alone(2, 0.75)))
    # Prefill is busy with 64 of 64 tokens: the second stays with the decode worker, and so does the third,
    # which waits there as that one is busy too; the first one comes there after it.
    assert times(cluster, "worker", "router_queue_s") == [(0, 1.5), (1, 0.0), (1, 0.75)]


@pytest.mark.parametrize("policy", ["prefill_load", "isl_or_load"])
def test_a_load_without_any_threshold_is_refused(policy):
    with pytest.raises(ValidationError, match=f'policy "{policy}" needs prefill_busy_threshold'):
        scenario(
            workers={"count": None, "prefill": 1, "decode": 1},
            disaggregation={"conditional": {"policy": policy}},
        )


# -- in any case --------------------------------------------------------------------------------------------


@st.composite
def queues(draw):
    policy = draw(st.sampled_from(["fcfs", "wspt", "lcfs"]))
    refresh = draw(st.sampled_from([0.0, 2.0, 10.0]))
    if draw(st.booleans()):
        queue = {"queue_threshold": draw(st.sampled_from([0.0, 0.5, 1.0])), "queue_policy": policy}
    else:
        queue = limited(request_queue_limit_per_worker=draw(st.sampled_from([1, 50])))
    return queue | {"overlap_refresh_after_secs": refresh, "version": draw(st.sampled_from(["1.5", "1.6"]))}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(queues(), st.integers(0, 1 << 16), st.booleans(), st.booleans())
def test_fast_forward_changes_nothing_and_nobody_is_lost(queue, seed, disaggregated, faults):
    random = Random(seed)
    requests = some_turns(seed)
    if disaggregated:
        base = {"workers": {"count": None, "prefill": 2, "decode": 2}}
    else:
        base = {"workers": {"count": 2}}
    wrong = random_faults(
        random, workers=4 if disaggregated else 2, disaggregated=disaggregated, offload=False, until_s=60
    )
    front = {"migration_limit": 1, "replicas": random.choice([1, 1, 2])}
    sync = {"replica_sync": random.random() < 0.5, "replica_sync_delay_s": random.choice([0.0, 0.75])}
    base |= {"router": queue | sync, "faults": wrong if faults else [], "frontend": front}
    found = []
    for fast_forward in (True, False):
        cluster = run_cluster(
            scenario(**base, engine={"fast_forward": fast_forward}), requests, Pace(0.5, 0.01, 1e-4)
        )
        statuses = {row["status"] for row in rows(cluster)}
        assert len(rows(cluster)) == len(requests.requests)
        assert faults or "unfinished" not in statuses
        found.append((rows(cluster), to_json(summary(cluster))))
    assert found[0] == found[1]
