"""Turns that do not wait, idle lanes, and requests left out by mistake are seen."""

from sim.cluster.checks import requests, turns
from tests.cluster.checks.broken import FIVE, aggregated, violation
from tests.clusters import trace, turn

CHAT = trace(
    turn(0, 32, 9, (1, 2), "a"),
    turn(1, 32, 9, (3, 4), "b"),
    turn(2, 48, 9, (1, 2, 5), "a", delay_s=3.0),
)
TURNS = {"client": "turn-dependent"}
LANES = {**TURNS, "lanes": 1, "duration_s": 40.0}


def test_a_turn_sent_before_the_answer_is_seen():
    def hurry(cluster):
        cluster.client._leave(CHAT.requests[2])

    error = violation(hurry, aggregated(replay=TURNS), requests=CHAT)
    assert (error.rule, error.request, error.now_s) == (turns.RULE, 2, 6.5)
    assert error.detail == "sent, but request 0 has not ended, for which it waits"


def test_a_think_time_that_is_not_kept_is_seen():
    def hurry(cluster):
        cluster.client._think._factor = 0.5

    error = violation(hurry, aggregated(replay=TURNS), requests=CHAT)
    assert (error.rule, error.request) == (turns.RULE, 2)
    assert error.detail == "sent 1.5 s after what it waits for, not 3 s"


def test_a_session_too_many_in_lanes_is_seen():
    error = violation(lambda cluster: cluster.client._take(), aggregated(replay=LANES), requests=CHAT)
    assert (error.rule, error.detail) == (turns.LANES, "2 sessions in 1 lanes")


def test_a_lane_that_idles_is_seen():
    def idle(cluster):
        cluster.client._over = True

    error = violation(idle, aggregated(replay={**TURNS, "lanes": 1, "duration_s": 60.0}), requests=CHAT)
    assert error.rule == turns.LANES
    assert "session seconds in 1 lanes of 60 s" in error.detail


def test_what_is_sent_when_time_is_over_is_seen():
    def late(cluster):
        cluster.client._end_s = cluster.client._duration_s = float("inf")

    error = violation(late, aggregated(replay={**TURNS, "lanes": 1, "duration_s": 9.0}), requests=CHAT)
    assert (error.rule, error.detail) == (turns.LANES, "sent when time was over")


def test_a_part_that_begins_before_the_one_before_is_over_is_seen():
    def hurry(cluster):
        cluster.replay._play(1)

    error = violation(hurry, aggregated(replay={"warm_start": "first-contexts"}), at_s=0.5)
    assert error.rule == requests.RULE
    assert "of what goes before are in flight" in error.detail


def test_requests_left_out_by_mistake_are_seen():
    def forget(cluster):
        cluster.replay.left_out.phases[1] = "first"

    error = violation(forget, aggregated(replay={"warm_up_s": 0.5}), at_s=0.75)
    assert (error.rule, error.request) == (turns.LEFT_OUT, 1)


def test_too_few_left_out_are_seen():
    def forget(cluster):
        del cluster.replay.left_out.phases[0]

    error = violation(forget, aggregated(replay={"warm_up_requests": 2}), at_s=30)
    assert (error.rule, error.detail) == (
        turns.LEFT_OUT,
        "1 requests are left out as the first ones, not 2",
    )


def test_one_left_out_in_place_of_an_earlier_one_is_seen():
    def swap(cluster):
        phases = cluster.replay.left_out.phases
        del phases[0]
        phases[len(FIVE.requests) - 1] = "first"

    error = violation(swap, aggregated(replay={"warm_up_requests": 2}), at_s=60)
    assert (error.rule, error.detail) == (
        turns.LEFT_OUT,
        "one that counts was sent before one of the first",
    )
