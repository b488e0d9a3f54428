"""Loads that fade on the clock: a step takes 1 s and 64 tokens, a prompt should take one step."""

import pytest

from tests.cluster.test_router_queue import ALWAYS, alone, times
from tests.clusters import run_cluster, scenario, trace

FADING = ALWAYS | {"prefill_load_model": "aic"}


@pytest.mark.parametrize(("model", "routed_s"), [("none", 2.0), ("aic", 1.0)])
def test_who_waits_goes_when_the_prompt_before_it_should_be_computed(model, routed_s):
    router = ALWAYS | {"prefill_load_model": model}
    requests = trace(alone(0, tokens=128), alone(1, 0.25))
    cluster = run_cluster(scenario(workers={"count": 1}, router=router), requests)
    assert times(cluster, "routed_s", "router_queue_s") == [(0.0, 0.0), (routed_s, routed_s - 0.25)]


def test_it_is_looked_every_tenth_of_a_second_counted_from_the_start():
    requests = trace(alone(0, 0.03, 128), alone(1, 0.25))
    cluster = run_cluster(scenario(workers={"count": 1}, router=FADING), requests)
    (_, (routed_s,)) = times(cluster, "routed_s")
    assert routed_s == 11 * 0.1  # it faded away at 1.03


def test_routers_of_several_front_ends_take_their_estimates_from_each_other():
    front = {"replicas": 2, "load_balancing": "round-robin"}
    router = FADING | {"replica_sync": True, "replica_sync_delay_s": 0.25}
    requests = trace(alone(0, tokens=128), alone(1, 0.5))
    cluster = run_cluster(scenario(workers={"count": 1}, router=router, frontend=front), requests)
    (_, (routed_s,)) = times(cluster, "routed_s")
    assert routed_s == 13 * 0.1  # heard of at 0.25, faded away at 1.25


def test_a_prefill_pool_fades_by_the_time_of_its_own_workers():
    workers = {"count": None, "prefill": 1, "decode": 1}
    requests = trace(alone(0, tokens=128), alone(1, 0.25))
    cluster = run_cluster(scenario(workers=workers, router=FADING), requests)
    (_, (waited_s,)) = times(cluster, "router_queue_s")
    assert waited_s == pytest.approx(0.75)
