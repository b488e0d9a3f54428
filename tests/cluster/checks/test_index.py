"""An index that is not what its events come to is seen."""

import pytest

from sim.base.errors import InvariantError
from sim.cluster.checks import index
from sim.events.clock import Phase
from tests.cluster.checks.broken import aggregated, build, violation
from tests.clusters import trace, turn


def test_an_event_that_gets_lost_on_its_way_is_seen():
    def lost(cluster):
        cluster.frontend.pools[0].replicas[0].undelivered._messages.pop()

    slow = aggregated(frontend={"event_delay_s": 8.0})
    error = violation(lost, slow)
    assert error.rule == index.RULE
    assert "messages of KV events were sent" in error.detail


def test_a_block_that_the_index_forgets_is_seen():
    def forgotten(cluster):
        for rank in (0, 1):
            cluster.frontend.pools[0].router.removed(rank, [1], "device")

    error = violation(forgotten)
    assert error.rule == index.RULE


def test_a_block_that_the_index_invents_is_seen_at_the_decision():
    cluster = build(aggregated(), check=True)
    watched = cluster._watch._routers.indexes[0][0]
    watched._every = watched._until_look = 1
    router = cluster.frontend.pools[0].router

    def invent():
        for rank in (0, 1):
            router.stored(rank, None, [0, 1], "device")

    cluster.clock.at(30, Phase.ARRIVAL, 1 << 20, invent)
    with pytest.raises(InvariantError) as caught:
        cluster.run()
    assert (caught.value.rule, caught.value.request, caught.value.now_s) == (index.RULE, 4, 40)


PREDICTS = {"predicted_ttl_secs": 5.0}
ALIKE = trace(*(turn(at_s, 64, 1, range(4), f"{at_s}") for at_s in (0.0, 0.5, 5.25, 60.0)))
"""The prompt is sent at 0 s and is there by events from 1 s on."""


def every_decision(requests, **sections):
    """Return a cluster whose index is looked at for every decision."""
    cluster = build(aggregated(router=PREDICTS, **sections), requests, check=True)
    watched = cluster._watch._routers.indexes[0][0]
    watched._every = watched._until_look = 1
    return cluster


def test_what_a_router_predicts_is_expected_of_it_for_a_while():
    every_decision(ALIKE).run()
    every_decision(ALIKE, frontend={"event_delay_s": 300.0}).run()


class Forgetful:
    """Guesses that learn nothing: a stand-in, as methods of compiled classes cannot be replaced."""

    def __init__(self, guesses):
        self._guesses = guesses

    def __getattr__(self, name):
        return getattr(self._guesses, name)

    def book(self, booking, query, now_s):
        pass


def test_a_prediction_that_is_forgotten_is_seen():
    cluster = every_decision(ALIKE, frontend={"event_delay_s": 300.0})
    caches = cluster.frontend.pools[0].router._caches
    caches.guessed = Forgetful(caches.guessed)
    with pytest.raises(InvariantError) as caught:
        cluster.run()
    assert (caught.value.rule, caught.value.request, caught.value.now_s) == (index.RULE, 1, 0.5)
    assert "the router counts (0, 0, 0) blocks" in caught.value.detail


@pytest.mark.parametrize("fault", ["worker-dies", "frontend-restarts"])
def test_what_was_predicted_is_forgotten_with_the_rest(fault):
    more = {
        "worker-dies": [{"kind": fault, "worker": w, "at_s": 1.0, "back_after_s": 0.5} for w in (0, 1)],
        "frontend-restarts": [{"kind": fault, "at_s": 1.0, "down_s": 0.5, "index": "lost"}],
    }
    requests = trace(*(turn(at_s, 64, 1, range(4), f"{at_s}") for at_s in (0.0, 2.0, 3.0)))
    every_decision(requests, frontend={"event_delay_s": 300.0}, faults=more[fault]).run()
