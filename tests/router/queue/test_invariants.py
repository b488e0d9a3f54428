"""What holds for every router's queue, whatever comes: nobody is lost or overtaken, and busy is busy."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.router.queue.arbiter import BYPASSES, TAKES_PART
from tests.router.queue.desk import Desk, two_classes

RANKS = 3
NAMED = {"name": "named", "quantum": 7, "queue_policy": "wspt", "prefill_busy_threshold_frac": 0.3}


@st.composite
def settings_of_queues(draw):
    if draw(st.booleans()):
        policy = draw(st.sampled_from(["fcfs", "wspt", "lcfs"]))
        return {"queue_threshold": draw(st.sampled_from([0.0, 0.2, 0.5])), "queue_policy": policy}
    limit = draw(st.sampled_from([{}, {"request_queue_limit_per_worker": 1}]))
    busy = {"prefill_busy_threshold": draw(st.sampled_from([0, 200]))}
    wspt = {"queue_policy": "wspt", "quantum": draw(st.integers(1, 900))}
    found = two_classes(short=busy | limit, long=busy | wspt)
    return {"policy_config": found | {"policy_classes": [*found["policy_classes"], NAMED]}}


STEP = st.one_of(
    st.tuples(
        st.just("come"),
        st.integers(1, 900),
        st.fixed_dictionaries(
            {},
            optional={
                "priority_jump": st.sampled_from([0.0, 0.5, 5.0]),
                "strict_priority": st.integers(0, 2),
                "pinned": st.integers(0, RANKS - 1),
                "policy_class": st.sampled_from(["named", "std", "none"]),
            },
        ),
    ),
    st.tuples(st.sampled_from(["first_token", "free", "leave"]), st.integers(0, 1 << 16), st.just({})),
    st.tuples(st.just("alive"), st.integers(1, (1 << RANKS) - 1), st.just({})),
)


@settings(max_examples=300, deadline=None)
@given(settings_of_queues(), st.sampled_from([BYPASSES, TAKES_PART]), st.lists(STEP, max_size=60))
def test_nobody_is_lost_or_overtaken(queue, rule, steps):
    desk = Desk(RANKS, rule=rule, **queue)
    came = left = gone = 0
    waits: dict[int, None] = {}
    for now_s, (op, number, demands) in enumerate(steps):
        lanes = lanes_of(desk)
        if op == "come":
            came += 1
            refused = len(desk.refusals)
            if desk.come(number, float(now_s), **demands) is not None:
                gone += 1
            elif len(desk.refusals) == refused:
                waits[came - 1] = None
        elif op == "leave" and waits:
            request = [*waits][number % len(waits)]
            assert desk.queue.leave(request)
            del waits[request]
            left += 1
            lanes = lanes_of(desk)
        elif op == "alive":
            desk.alive = frozenset(rank for rank in range(RANKS) if number >> rank & 1)
            pinned = [r for r in waits if desk.queue._waiting[r].query.pinned not in (None, *desk.alive)]
            for request in pinned:  # would be refused
                desk.queue.leave(request)
                del waits[request]
                left += 1
            lanes = lanes_of(desk)
        elif desk.bookings and op in ("first_token", "free"):
            booking = desk.bookings[[*desk.bookings][number % len(desk.bookings)]]
            (desk.router.first_token if op == "first_token" else desk.router.free)(booking, float(now_s))
        for request in desk.look(float(now_s)):
            lane = next(lane for lane in lanes if request in lane)
            assert lane[0] == request
            lane.remove(request)
            del waits[request]
            gone += 1
        assert came == gone + left + len(waits) + len(desk.refusals)
        assert sorted(waits) == sorted(desk.queue._waiting)
        agrees(desk)


def lanes_of(desk):
    """Return who waits in each lane, in order."""
    lanes: dict[object, list] = {}
    for request, waiting in desk.queue._waiting.items():
        lanes.setdefault((waiting.number, waiting.query.pinned), []).append((waiting.key, request))
    return [[request for _, request in sorted(lane)] for lane in lanes.values()]


def agrees(desk):
    """After a look every head is blocked, and what classes count is what waits in them."""
    waiting = desk.queue._waiting
    for lane in lanes_of(desk):
        head = waiting[lane[0]]
        busy_tokens = desk.queue.classes.classes[head.number].busy_tokens
        ranks = range(RANKS) if desk.alive is None else desk.alive
        ranks = [rank for rank in ranks if head.query.pinned in (None, rank)]
        assert all(desk.router.loads.prefill_tokens[rank] > busy_tokens for rank in ranks)
    for number, queue in enumerate(desk.queue._queues):
        there = [entry for entry in waiting.values() if entry.number == number]
        assert queue.requests == len(there)
        assert queue.isl_tokens == sum(entry.query.isl_tokens for entry in there)
        assert queue.cached_tokens == sum(entry.cached_tokens for entry in there)
        assert queue.deficit >= 0
        assert there or not queue.deficit
