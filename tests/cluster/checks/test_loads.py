"""Loads that do not return, or too early, are seen."""

from sim.cluster.checks import loads
from sim.events.clock import Phase
from sim.router import Booking
from tests.cluster.checks.broken import aggregated, build, violation
from tests.clusters import rows, scenario, trace, turn


def test_a_load_that_does_not_return_is_seen():
    def booked_again(cluster):
        cluster.frontend.pools[0].router.loads.book(Booking(**OF_NOBODY))

    error = violation(booked_again)
    assert (error.rule, error.worker) == (loads.RULE, 1)
    assert "1 requests are booked, 0 are there" in error.detail


OF_NOBODY = {
    "request": 77,
    "rank": 1,
    "booked_s": 6.5,
    "isl_tokens": 16,
    "expected_osl": None,
    "credit_tokens": 0,
    "prefill_tokens": 0,
    "blocks": (),
    "own_blocks": 0,
    "total_blocks": 1,
}


def test_a_load_that_returns_too_early_is_seen():
    def freed(cluster):
        pool = cluster.frontend.pools[0]
        pool.router.loads.free(cluster.recorder.records[1].booking, 6.5)
        cluster._watch._routers.loads[0][0].check_sums(cluster.clock.now)

    error = violation(freed)
    assert (error.rule, error.now_s) == (loads.RULE, 6.5)
    assert error.detail == "1 requests are booked, 2 are there"


def test_a_negative_load_is_seen_at_the_next_booking():
    def taken_twice(cluster):
        cluster.frontend.pools[0].router.loads._numbers[0, 1] -= 1

    error = violation(taken_twice)
    assert (error.rule, error.worker, error.now_s) == (loads.RULE, 1, 9.0)


SYNCED = {"frontend": {"replicas": 2, "load_balancing": "round-robin"}, "router": {"replica_sync": True}}


def test_what_another_router_said_and_is_not_on_the_books_is_seen():
    def forgets(cluster):
        router = cluster.frontend.pools[0].replicas[1].router
        booking = next(iter(router._of_others.values()))
        router.loads.free(booking, 0.0)
        cluster._watch._routers.loads[0][1].check_sums(cluster.clock.now)

    error = violation(forgets, aggregated(**SYNCED))
    assert (error.rule, error.now_s) == (loads.RULE, 6.5)


def test_what_a_router_has_on_its_books_that_nobody_said_is_seen():
    def hears_wrong(cluster):
        cluster.frontend.pools[0].replicas[0].router.booked_elsewhere(1, Booking(**OF_NOBODY), 6.5)

    error = violation(hears_wrong, aggregated(**SYNCED))
    assert (error.rule, error.worker) == (loads.RULE, 1)


def test_who_is_between_two_pools_is_on_no_books():
    """Prefilled at 4 s, refused while no decode worker is there, and sent again from 4.75 s on."""
    dies = {"kind": "worker-dies", "worker": 1, "at_s": 1.0, "detected_after_s": 0.0, "back_after_s": 9.0}
    settings = scenario(
        workers={"count": None, "prefill": 1, "decode": 1},
        replay={"retries": 4, "retry_backoff_s": 1.0},
        faults=[dies],
    )
    cluster = build(settings, trace(turn(0, 256, 2, range(16))), check=True)
    seen = []

    def look():
        watched = cluster._watch._routers.loads[0][0]
        watched.check_sums(cluster.clock.now)
        seen.append(cluster.frontend.pools[0].router.loads.requests[0])

    for at_s in (3.5, 4.5):
        cluster.clock.at(at_s, Phase.ARRIVAL, 1 << 20, look)
    cluster.run()
    assert seen == [1, 0]
    assert [row["status"] for row in rows(cluster)] == ["completed"]


def test_more_prompt_left_than_booked_is_seen_at_the_next_booking():
    def grown(cluster):
        loads_of_router = cluster.frontend.pools[0].router.loads
        loads_of_router._fading_prefill.book(None, 0, -1, 1.0, 0.0)

    error = violation(grown, aggregated(router={"prefill_load_model": "aic"}))
    assert error.rule == loads.RULE
    assert "prefill tokens are left of" in error.detail
