"""Who waits at the router, and who goes next: small cases by hand."""

import pytest

from sim.router.queue.classes import UNKNOWN_BATCHED_TOKENS, queue_classes
from sim.router.queue.settings import QueueSettings
from tests.router.queue.desk import Desk

# -- who waits ----------------------------------------------------------------------------------------------


def test_a_rank_is_busy_with_more_than_its_share_of_tokens_before_the_request():
    """Half of 1,000 tokens: 500 booked are not too many, 501 are."""
    desk = Desk(queue_threshold=0.5)
    assert desk.come(500) == 0
    assert desk.come(1) == 1
    assert desk.come(1) is None
    assert (len(desk.queue), desk.queue.isl_tokens) == (1, 1)
    assert desk.first_token(1) == [2]


def test_at_threshold_zero_any_booked_prefill_is_too_much():
    desk = Desk(2, queue_threshold=0.0)
    assert [desk.come(100), desk.come(100), desk.come(100)] == [0, 1, None]
    assert desk.first_token(0) == [2]


def test_while_one_rank_is_not_busy_the_cost_decides_among_all():
    """Rank 1 is busy, and holds the whole prompt: it is cheaper than the idle rank 0."""
    desk = Desk(2, queue_threshold=0.5)
    desk.router.stored(1, None, range(100), "device")
    desk.come(501, pinned=1)
    assert desk.come(1600, blocks=range(100)) == 1
    assert desk.bookings[1].rank == 1


def test_no_worker_is_nothing_to_wait_for():
    desk = Desk(2, queue_threshold=0.0)
    desk.come(10, pinned=0)
    desk.come(10, pinned=1)
    assert desk.come(10) is None
    desk.alive = frozenset({1})
    assert desk.look() == []
    desk.alive = frozenset()
    query = desk.queue.next(0.0)
    assert query is not None
    assert query.request == 2


def test_a_rank_that_comes_back_takes_who_waits():
    desk = Desk(2, queue_threshold=0.0)
    desk.alive = frozenset({0})
    desk.come(10)
    assert desk.come(10) is None
    desk.alive = None
    assert desk.look() == [1]
    assert desk.bookings[1].rank == 1


def test_bookings_that_expire_let_others_go():
    desk = Desk(queue_threshold=0.0, active_request_expiry_secs=5.0)
    desk.come(10, 6.0)
    desk.come(10, 7.0)
    assert desk.look(14.9) == []
    assert desk.look(15.0) == [1]


def test_an_unknown_limit_of_a_step_is_ten_million_tokens():
    desk = Desk(queue_threshold=1.0, batched_tokens=None)
    assert desk.come(UNKNOWN_BATCHED_TOKENS) == 0
    assert desk.come(1) == 1
    assert desk.come(1) is None


def test_without_a_threshold_there_is_no_queue():
    assert queue_classes(QueueSettings(), max_num_batched_tokens=10) is None
    assert not QueueSettings().has_queue


# -- in which order -----------------------------------------------------------------------------------------


def order(policy, requests):
    """Return who goes in which order, of (isl_tokens, at_s, demands), one at a time."""
    desk = Desk(queue_threshold=0.0, queue_policy=policy)
    desk.come(1)
    for isl_tokens, at_s, demands in requests:
        desk.come(isl_tokens, at_s, **demands)
    gone, last = [], 0
    for _ in requests:
        (last,) = desk.first_token(last, 9.0)
        gone.append(last)
    return gone


THREE = [(30, 1.0, {}), (10, 2.0, {}), (20, 3.0, {})]


@pytest.mark.parametrize(("policy", "gone"), [("fcfs", [1, 2, 3]), ("wspt", [2, 3, 1]), ("lcfs", [3, 2, 1])])
def test_the_policy_orders(policy, gone):
    assert order(policy, THREE) == gone


def test_a_jump_is_seconds_for_fcfs_and_lcfs():
    jumps = [(30, 1.0, {}), (10, 2.0, {"priority_jump": 1.5}), (20, 3.0, {"priority_jump": -9.0})]
    assert order("fcfs", jumps) == [2, 1, 3]
    assert order("lcfs", jumps) == [2, 3, 1]


def test_a_jump_is_a_factor_for_wspt():
    """4/30 > 1/10 > 1/20."""
    assert order("wspt", [(30, 1.0, {"priority_jump": 3.0}), (10, 2.0, {}), (20, 3.0, {})]) == [1, 2, 3]
    # 2/30 < 1/10: it is no second ahead.
    assert order("wspt", [(30, 1.0, {"priority_jump": 1.0}), (10, 2.0, {})]) == [2, 1]


def test_a_strict_priority_comes_before_all_that():
    for policy in ("fcfs", "wspt", "lcfs"):
        tiers = [(10, 1.0, {"priority_jump": 99.0}), (90, 2.0, {"strict_priority": 1}), (10, 3.0, {})]
        assert order(policy, tiers)[0] == 2


def test_equal_requests_go_as_they_came():
    for policy in ("fcfs", "wspt", "lcfs"):
        assert order(policy, [(10, 1.0, {})] * 3) == [1, 2, 3]


def test_wspt_counts_what_no_rank_holds_on_arrival():
    desk = Desk(2, queue_threshold=0.0, queue_policy="wspt")
    desk.router.stored(1, None, range(6), "device")
    desk.come(1, pinned=0)
    desk.come(1, pinned=1)
    desk.come(50)
    desk.come(100, blocks=range(6))  # 4 tokens are new
    desk.come(3)
    assert desk.first_token(0) == [4]


# -- lanes --------------------------------------------------------------------------------------------------


def test_nobody_overtakes_a_head_that_is_blocked():
    desk = Desk(2, queue_threshold=0.0)
    desk.come(10, pinned=0)
    desk.come(10, pinned=1)
    desk.come(10, allowed=frozenset({1}))
    desk.come(10)
    assert desk.first_token(0) == []  # the second could go, the first of them could not
    assert desk.first_token(1) == [2, 3]


def test_a_newcomer_waits_behind_a_backlog_whoever_is_idle():
    desk = Desk(2, queue_threshold=0.0)
    desk.come(10, pinned=1)
    desk.come(10, allowed=frozenset({1}))
    assert desk.come(10) is None
    assert desk.first_token(0) == [1, 2]


def test_who_is_pinned_waits_in_a_lane_of_his_own():
    """Recorded (q16-07): others go past him, and another rank's lane does not hold him up."""
    desk = Desk(3, queue_threshold=0.0)
    desk.come(10, pinned=0)
    assert desk.come(10, pinned=0) is None
    assert desk.come(10, pinned=1) == 2
    assert desk.come(10) == 3
    assert desk.come(10) is None
    assert desk.first_token(0) == [1]  # he came first
    assert desk.first_token(2) == [4]


def test_who_leaves_waits_no_longer():
    desk = Desk(queue_threshold=0.0)
    for _ in range(4):
        desk.come(10)
    assert desk.queue.leave(1)
    assert not desk.queue.leave(1)
    assert not desk.queue.leave(0)
    assert (len(desk.queue), desk.queue.isl_tokens, 1 in desk.queue) == (2, 20, False)
    assert desk.first_token(0) == [2]


# -- what is known of caches --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("refresh_s", "waited_s", "credit"), [(10.0, 9.9, 0), (10.0, 10.0, 160), (0.0, 99.0, 0), (1.0, 2.0, 160)]
)
def test_overlaps_are_those_of_the_arrival_unless_it_is_long_ago(refresh_s, waited_s, credit):
    desk = Desk(2, queue_threshold=0.0, refresh_s=refresh_s)
    desk.come(10, pinned=0)
    desk.come(10, pinned=1)
    desk.come(170, blocks=range(10))
    desk.router.stored(1, None, range(10), "device")
    assert desk.first_token(1, waited_s) == [2]
    assert desk.credits[2] == credit


def test_loads_are_those_of_the_moment():
    """On arrival rank 0 has fewer requests; when it goes, rank 1 has."""
    desk = Desk(2, queue_threshold=0.0)
    desk.come(10, pinned=0)
    desk.come(160, pinned=1)
    desk.come(32)
    assert desk.free(1) == [2]
    assert desk.bookings[2].rank == 1
