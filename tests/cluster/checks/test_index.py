"""An index that is not what its events come to is seen."""

import pytest

from sim.base.errors import InvariantError
from sim.cluster.checks import index
from sim.events.clock import Phase
from tests.cluster.checks.broken import aggregated, build, violation


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
    watched = cluster._watch._indexes[0][0]
    watched._every = watched._until_look = 1
    router = cluster.frontend.pools[0].router

    def invent():
        for rank in (0, 1):
            router.stored(rank, None, [0, 1], "device")

    cluster.clock.at(30, Phase.ARRIVAL, 1 << 20, invent)
    with pytest.raises(InvariantError) as caught:
        cluster.run()
    assert (caught.value.rule, caught.value.request, caught.value.now_s) == (index.RULE, 4, 40)
