"""Policy classes: who is in which, their limits, and the round between them."""

import pytest

from sim.router.queue.arbiter import BYPASSES, TAKES_PART, cursor_rule
from tests.router.queue.desk import Desk, two_classes

BUSY = {"prefill_busy_threshold": 300}
GOLD = {"name": "gold", "quantum": 1600, "prefill_busy_threshold": 0}


def config(*more, **changes):
    found = two_classes(short=BUSY | changes, long=BUSY | changes)
    return found | {"policy_classes": [*found["policy_classes"], *more]}


def class_of(desk, isl_tokens, **demands):
    number = desk._came
    assert desk.come(isl_tokens, **demands) is None
    return desk.queue.class_of(number)


# -- the smallest examples of what releases do otherwise (measured, twice each) ------------------------------


@pytest.mark.parametrize(
    ("rule", "prompts"), [(BYPASSES, [333, 333, 700]), (TAKES_PART, [333, 700, 333])], ids=["1.5", "1.6"]
)
def test_a_request_that_does_not_wait_moves_the_cursor_only_from_1_6_on(rule, prompts):
    """450 tokens are admitted at once, 333, 333 and 700 wait; each first token lets the next one go."""
    desk = Desk(rule=rule, policy_config=config())
    assert desk.come(450) == 0
    assert [desk.come(tokens, 0.1) for tokens in (333, 333, 700)] == [None] * 3
    gone, last = [], 0
    for _ in range(3):
        (last,) = desk.first_token(last, 1.0)
        gone.append(desk.bookings[last].isl_tokens)
    assert gone == prompts


def test_the_cursor_stays_only_with_a_head_that_can_go_and_pay():
    """Deficits 487 and 500, all busy: the 57 goes, the 40 could pay, but is blocked; then the 700."""
    busy = {"prefill_busy_threshold": 400}
    desk = Desk(2, policy_config=two_classes(short=busy, long=busy))
    desk.come(390, pinned=0)
    desk.come(820, pinned=1)
    desk.come(20, pinned=0)  # 410: busy
    for tokens in (57, 40, 700):
        assert desk.come(tokens) is None
    short, long = desk.queue._queues
    short.deficit, long.deficit = 487, 500
    assert desk.first_token(2) == [3]  # 390, and 447 with him
    assert (short.deficit, long.deficit) == (430, 500)
    assert desk.first_token(0) == [5]  # 57 are booked: the cursor moved on
    assert (short.deficit, long.deficit) == (430, 0)
    assert desk.first_token(5) == [4]


def test_releases_name_their_rule():
    assert (cursor_rule("1.5"), cursor_rule("1.6")) == (BYPASSES, TAKES_PART)


# -- the round ----------------------------------------------------------------------------------------------


def waiting(ranks):
    """Ranks with a booked token each, and 6 prompts of 399 and 3 of 400 tokens that wait in two classes."""
    found = two_classes(short={"prefill_busy_threshold": 0}, long={"prefill_busy_threshold": 0})
    found["uncached_isl_buckets"][1]["min_tokens"] = 400
    desk = Desk(ranks, policy_config=found)
    for rank in range(ranks):
        desk.come(1, pinned=rank)
    for tokens in [399] * 6 + [400] * 3:
        assert desk.come(tokens) is None
    return desk


def test_credit_is_shared_by_quantum():
    """Nine ranks become idle at once: two short prompts for each long one."""
    desk = waiting(9)
    for rank in range(9):
        desk.router.first_token(desk.bookings[rank], 1.0)
    gone = [desk.bookings[number].isl_tokens for number in desk.look(1.0)]
    assert gone == [399, 399, 400, 399, 399, 400, 399, 399, 400]


def test_a_class_whose_next_head_is_blocked_gives_way():
    """One rank, so one at a time: they take turns, and a short one may cost what is left of a quantum."""
    desk, gone, last = waiting(1), [], 0
    for _ in range(9):
        (last,) = desk.first_token(last)
        gone.append(desk.bookings[last].isl_tokens)
    assert gone == [399, 400, 399, 400, 399, 400, 399, 399, 399]


def test_a_prompt_of_many_quanta_gets_the_rounds_it_needs_at_once():
    """9,000 tokens at 400 a round: 23 rounds, which give the blocked class nothing."""
    desk = Desk(2, policy_config=config())
    desk.come(301, pinned=0)
    desk.come(301, pinned=1)
    desk.come(9000, allowed=frozenset({1}))
    desk.come(40, allowed=frozenset({0}))
    assert desk.first_token(1) == [2]
    short, long = desk.queue._queues
    assert (short.deficit, long.deficit) == (0, 0)  # one is empty, the other was blocked
    assert desk.first_token(0) == [3]


def test_an_empty_class_has_no_credit():
    desk = Desk(policy_config=config())
    desk.come(301)
    desk.come(40)
    desk.come(40)
    assert desk.queue._queues[0].deficit == 0
    desk.first_token(0)
    assert desk.queue._queues[0].deficit == 0


# -- who is in which class ----------------------------------------------------------------------------------


def test_buckets_count_uncached_tokens_of_the_best_rank_that_may_serve():
    desk = Desk(2, policy_config=config())
    desk.router.stored(1, None, range(30), "device")
    desk.come(301, pinned=0)
    desk.come(301, pinned=1)
    assert class_of(desk, 499) == "short"
    assert class_of(desk, 500) == "long"
    assert class_of(desk, 979, blocks=range(61)) == "short"
    assert class_of(desk, 979, blocks=range(61), allowed=frozenset({0})) == "long"


def test_a_class_without_a_family_is_asked_for_by_name_and_others_are_not():
    desk = Desk(policy_config=config(GOLD))
    desk.come(301)
    assert class_of(desk, 900, policy_class="gold") == "gold"
    for name in ("long", "", "nothing", None):
        assert class_of(desk, 100, policy_class=name) == "short"


def test_a_family_that_is_asked_for():
    vip = {"policy_family": "vip", "quantum": 1, "prefill_busy_threshold": 0}
    short, long = ({"name": f"vip-{bucket}", "cache_bucket": bucket} for bucket in "sl")
    desk = Desk(policy_config=config(vip | short, vip | long))
    desk.come(301)
    assert class_of(desk, 900, policy_class="vip") == "vip-l"
    assert class_of(desk, 90, policy_class="vip") == "vip-s"


def test_a_class_without_thresholds_never_waits_and_either_one_is_enough():
    free = {"name": "free", "quantum": 1, "request_queue_limit_per_worker": 0}
    either = {"prefill_busy_threshold": 500, "prefill_busy_threshold_frac": 0.1}
    either |= {"name": "either", "quantum": 1}
    desk = Desk(policy_config=config(free, either))
    desk.come(101, policy_class="free")
    assert desk.come(9000, policy_class="free") == 1
    assert desk.first_token(1) == []
    assert class_of(desk, 1, policy_class="either") == "either"


# -- limits -------------------------------------------------------------------------------------------------


def test_limits_are_looked_at_before_a_request_is_added_and_count_by_worker():
    desk = Desk(2, policy_config=config(request_queue_limit_per_worker=1))
    desk.come(301, pinned=0)
    desk.come(301, pinned=1)
    for _ in range(3):
        desk.come(40)
    (refusal,) = desk.refusals
    assert refusal == ("short", "requests", 2, 2)
    assert str(refusal) == 'router policy class "short" queue requests limit reached (current=2, limit=2)'
    assert class_of(desk, 500) == "long"  # a class's own
    desk.alive = frozenset({0})
    desk.come(500)
    assert desk.refusals[1] == ("long", "requests", 1, 1)


@pytest.mark.parametrize(
    ("limit", "kind", "current"),
    [("raw_isl_token_queue_limit_per_worker", "raw_isl_tokens", 200),
     ("cached_token_queue_limit_per_worker", "cached_tokens", 160)],
)  # fmt: skip
def test_limits_of_tokens(limit, kind, current):
    desk = Desk(2, ranks_per_worker=2, policy_config=config(**{limit: 160}))
    desk.router.stored(1, None, range(5), "device")
    desk.come(301, pinned=0)
    desk.come(301, pinned=1)
    desk.come(100, blocks=range(6))
    assert not desk.refusals
    desk.come(100, blocks=range(6))
    assert not desk.refusals
    desk.come(1)
    assert desk.refusals == [("short", kind, current, 160)]


def test_who_goes_at_once_is_never_refused():
    desk = Desk(policy_config=config(request_queue_limit_per_worker=0))
    assert desk.come(301) == 0
    assert desk.come(1) is None
    assert desk.refusals == [("short", "requests", 0, 0)]
