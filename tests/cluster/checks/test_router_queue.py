"""A router's queue that lets somebody wait for nothing, or go too early, is seen."""

import pytest

from sim.cluster.checks import router_queue
from sim.router.queue.queue import RouterQueue
from tests.cluster.checks.broken import aggregated, violation
from tests.clusters import run_cluster, trace, turn

MANY = trace(*(turn(n * 0.1, 640, 1, range(100 * n, 100 * n + 40), f"s{n}") for n in range(6)))
"""Two workers compute each for 10 s: the last four wait."""
QUEUE = aggregated(router={"queue_threshold": 0.0})


def queue_of(cluster):
    return cluster.frontend.stages[0].lines[0].queue


def seen(breakage, **options):
    error = violation(breakage, QUEUE, requests=MANY, **options)
    assert error.rule == router_queue.RULE
    return error


def test_nobody_looks_when_a_worker_is_free():
    def deaf(cluster):
        line = cluster.frontend.stages[0].lines[0]
        line.look = lambda: None
        line._after_scan = lambda: None

    assert "still waits beside a worker that is not busy" in seen(deaf).detail


def test_the_second_goes_before_the_first():
    def overtaking(cluster):
        lane = queue_of(cluster)._queues[0]._shared
        first, second = (waiting for _, waiting in sorted(lane._heap)[:2])
        lane._heap = [((-1, 0.0, 0), second), (first.key, first)]

    error = seen(overtaking)
    assert (error.detail, error.request) == ("goes before another one of its class that is to go first", 3)


def test_somebody_waits_for_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(RouterQueue, "_all_busy", lambda self, query, busy_tokens, now_s: True)
    error = seen(lambda cluster: None)
    assert (error.detail, error.request) == ("waits beside a worker that is not busy", 0)


def test_somebody_ends_who_still_waits():
    def forgotten(cluster):
        record = cluster.recorder.records[3]
        record.router_wait.line = None
        cluster.migration.abandon(3, "cancelled", "client_cancelled")

    error = seen(forgotten)
    assert (error.detail, error.request) == ("has ended, and still waits", 3)


def test_a_look_at_the_index_is_of_what_was_heard():
    """Every second look is compared."""
    from sim.cluster.checks import index

    def credited(cluster):
        watched = cluster._watch._routers.indexes[0][0]
        watched._every = watched._until_look = 1
        cluster.frontend.pools[0].router._caches.told.stored(0, None, range(500, 540), "device")

    error = violation(credited, QUEUE, at_s=0.45, requests=MANY)
    assert error.rule == index.RULE


def test_who_is_bound_to_a_busy_worker_waits_beside_an_idle_one():
    """The second turn comes while the first one's prompt of 10 s is booked on worker 0."""
    turns = trace(turn(0, 640, 1, range(40), "a"), turn(0.5, 64, 1, range(100, 104), "a"))
    soft = {"queue_threshold": 0.0, "session_affinity_ttl_secs": 60, "session_affinity_mode": "soft"}
    table = run_cluster(aggregated(router=soft), turns, check=True).recorder.rows.tables["requests"]
    assert len(set(table.column("worker"))) == 1
    assert table.column("router_queue_s") == [0.0, 9.5]
