"""Bytes, copies and reads that links should not have carried, or should have, are seen."""

from sim.cluster.checks import links
from sim.cluster.tiers import tiers_of
from sim.engine.nixl import Pull, RemoteBlocks
from tests.cluster.checks.broken import aggregated, violation
from tests.cluster.test_disaggregated import pair
from tests.cluster.test_tiers import DISK


def test_a_copy_that_was_not_planned_is_seen():
    error = violation(lambda cluster: cluster.workers[1].links.streams["host"].up.submit(4096, 1, 6.5))
    assert (error.rule, error.worker) == (links.RULE, 1)
    assert "host, up: 1 copies of 4096 bytes" in error.detail


def test_so_is_one_between_two_tiers():
    def copied(cluster):
        cluster.workers[0].links.streams["disk"].down.submit(4096, 1, 6.5)

    settings = aggregated()
    error = violation(copied, settings, tiers=(*tiers_of(settings, settings.capacity()), DISK))
    assert error.rule == links.RULE
    assert "disk, down: " in error.detail


def test_a_copy_that_nobody_waits_for_is_seen():
    def unasked(cluster):
        cluster.workers[0].links.done_s[999] = 1e9

    assert violation(unasked, at_s=60).rule == links.RULE


def test_bytes_that_are_lost_between_workers_are_seen():
    def shorter(cluster):
        cluster.pulls.network.start(99, 5, 1, 0, 1, now_s=cluster.clock.now)
        cluster.pulls.network.finish(1e6)

    error = violation(shorter, pair(), at_s=90)
    assert error.rule == links.RULE
    assert "reads of" in error.detail


def test_a_read_that_never_ends_is_seen():
    def posted(cluster):
        pull = Pull(3, RemoteBlocks(16, (1,)), (1,))
        cluster._watch._transfers.started(1, pull, cluster.clock.now)

    error = violation(posted, pair(), at_s=90)
    assert (error.rule, error.request, error.worker) == (links.RULE, 3, 1)
