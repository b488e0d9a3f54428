"""Blocks that are lost, invented or not told of are seen."""

import pytest

from sim.base.errors import InvariantError
from sim.cluster.checks import blocks
from sim.cluster.tiers import tiers_of
from sim.kv.extent import Extent
from tests.cluster.checks.broken import Tampering, aggregated, build, violation
from tests.cluster.test_disaggregated import pair
from tests.cluster.test_tiers import DISK


def pool_of(cluster, worker=0):
    return cluster.workers[worker].engine.cache.pool


def test_a_block_that_nobody_holds_is_a_leak():
    error = violation(lambda cluster: pool_of(cluster, 1).allocate(Extent(0, 0), 1))
    assert (error.rule, error.worker) == (blocks.RULE, 1)
    assert "100 blocks: " in error.detail


def test_a_free_block_too_many_is_seen():
    def doubled(cluster):
        pool_of(cluster).free_blocks += 1

    error = violation(doubled)
    assert (error.rule, error.worker) == (blocks.RULE, 0)


def test_a_reference_that_nobody_has_is_seen():
    def touched(cluster):
        pool = pool_of(cluster)
        pool.touch([next(part for part in pool.evictable())])

    assert violation(touched, at_s=35).rule == blocks.RULE


def test_a_kv_event_that_is_not_told_is_seen():
    cluster = build(aggregated(), check=True)

    class Silent(Tampering):
        def planned(self, worker, plan, events, now_s):
            self.other.planned(worker, plan, [], now_s)

    cluster.workers[0]._observer = Silent(cluster.workers[0]._observer)
    with pytest.raises(InvariantError, match="by KV events"):
        cluster.run()


def test_a_block_of_the_cpu_tier_that_was_not_told_is_seen():
    def stored(cluster):
        tier = cluster.workers[0].engine.offload.tier
        tier.store([(999_999, 0)])
        tier.stored([(999_999, 0)])

    error = violation(stored)
    assert error.rule == blocks.RULE
    assert "tier host" in error.detail


def test_so_is_one_of_a_tier_below():
    def stored(cluster):
        tier = cluster.workers[0].engine.offload.tiers[1]
        tier.store([(999_999, 0)])

    settings = aggregated()
    error = violation(stored, settings, tiers=(*tiers_of(settings, settings.capacity()), DISK))
    assert error.rule == blocks.RULE
    assert "tier disk" in error.detail


def test_a_prompt_that_is_kept_for_ever_is_seen_at_the_end():
    def kept(cluster):
        request = cluster.workers[0].engine.requests[0]
        cluster.workers[0].engine.nixl.held[99] = request

    assert violation(kept, pair(), at_s=1.5).rule == blocks.RULE
