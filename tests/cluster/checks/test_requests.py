"""Requests and slots that are lost or counted twice are seen."""

from sim.cluster.checks import requests
from tests.cluster.checks.broken import FIVE, aggregated, violation


def test_a_request_that_ends_twice_is_seen():
    error = violation(lambda cluster: cluster.frontend._ended(FIVE.requests[0]), at_s=30)
    assert (error.rule, error.request, error.now_s) == (requests.RULE, 0, 30)
    assert error.detail == "ended twice"


def test_a_slot_that_is_lost_is_seen_by_the_first_that_could_have_had_it():
    def lost(cluster):
        cluster.client._free_slots -= 3

    one_at_a_time = aggregated(replay={"client": "max-concurrency", "max_concurrency": 3})
    assert violation(lost, one_at_a_time).rule == requests.RULE


def test_a_slot_too_many_is_seen():
    def gained(cluster):
        cluster.client._free_slots += 3

    error = violation(
        gained, aggregated(replay={"client": "max-concurrency", "max_concurrency": 2}), at_s=0.5
    )
    assert error.rule == requests.RULE
    assert "3 requests in flight, the client has 2 slots" in error.detail


def test_a_request_without_a_row_is_seen():
    def lost(cluster):
        cluster.recorder.rows.tables["requests"]._buffer.pop()

    error = violation(lost, at_s=30)
    assert error.rule == requests.RULE
    assert error.detail == "0 rows in the table of requests"
