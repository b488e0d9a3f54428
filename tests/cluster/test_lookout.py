"""Bookings of requests that go on, and of those that wait too long: a step takes 1 s, a scan is every 10."""

import pytest

from sim.cluster.lookout import Lookout
from sim.cluster.pool import Pool, PoolWorker
from sim.cluster.request_state import RequestState, Visit
from sim.engine.active import ActiveRequest, Status
from sim.kv.runs import BlockRuns
from sim.router import Router, RouterConfig
from tests.cluster.test_disaggregated import pair
from tests.clusters import rows, run_cluster, scenario, trace, turn
from tests.router.helpers import BLOCK, book_on, load, query

EVERY_10_S = {"active_request_expiry_secs": 10.0}


def booked(cluster, request, stage="aggregated"):
    """Requests and prefill tokens that were booked on each worker when a request was routed."""
    found = [row for row in rows(cluster, "decisions") if (row["request"], row["leg"]) == (request, stage)]
    found.sort(key=lambda row: row["worker"])
    return [(row["active_requests"], row["active_prefill_tokens"]) for row in found]


@pytest.mark.parametrize("fast_forward", [True, False])
def test_what_streams_stays_booked_and_what_waits_for_two_scans_does_not(fast_forward):
    """The first answers until 60 s; the second waits behind it from 2 s on and is let go at 20 s."""
    settings = scenario(
        workers={"count": 1},
        engine={"max_num_seqs": 1, "fast_forward": fast_forward},
        router=EVERY_10_S,
        output={"tables": ["decisions"]},
    )
    looks = [turn(at_s, 16, 1, [10 + n], f"look {n}") for n, at_s in enumerate((19.5, 20.0, 35.0, 65.5))]
    requests = trace(turn(0, 16, 60, [1], "streams"), turn(2, 16, 20, [2], "waits"), *looks)
    cluster = run_cluster(settings, requests)
    assert [booked(cluster, index) for index in (2, 3, 4)] == [[(2, 16)], [(2, 16)], [(2, 16)]]
    # The looks wait too. At 65.5 s the first has ended and the second, not booked any more, is being served.
    assert booked(cluster, 5) == [(0, 0)]
    assert {row["status"] for row in rows(cluster)} == {"completed"}


@pytest.mark.parametrize("fast_forward", [True, False])
def test_each_leg_has_bookings_of_its_own(fast_forward):
    """One prompt is computed at a time, in 40 steps; the answer takes 100 s on the decode worker."""
    engine = {"max_num_batched_tokens": 16, "max_num_seqs": 1, "fast_forward": fast_forward}
    base = pair(engine=engine)
    settings = base.model_copy(
        update={
            "router": RouterConfig(**EVERY_10_S),
            "output": base.output.model_copy(update={"tables": ("decisions",)}),
        }
    )
    long = turn(2, 640, 1, range(100, 140), "long")
    waits = turn(3, 16, 1, [2], "waits")
    requests = trace(turn(0, 16, 100, [1], "streams"), long, waits, turn(30, 16, 1, [3], "look"))
    cluster = run_cluster(settings, requests)
    # Neither prompt has given a token since 3 s: both were let go at 20 s although one is being computed.
    assert booked(cluster, 3, "prefill") == [(0, 0)]
    # The first answer streams at the decode worker when the second prompt is there, at 42 s.
    assert booked(cluster, 1, "decode") == [(1, 0)]


class Worker:
    """Says when running requests had their last token."""

    def __init__(self, newest_s: float) -> None:
        self._newest_s = newest_s

    def add(self, request: ActiveRequest) -> None:
        raise AssertionError

    def last_output_s(self, before_s: float) -> float:
        return self._newest_s if self._newest_s < before_s else float("-inf")


@pytest.mark.parametrize(
    ("told_s", "newest_s", "status", "kept"),
    [
        (0.0, 99.0, Status.RUNNING, False),
        (9.0, 99.0, Status.RUNNING, True),
        (8.0, 99.0, Status.RUNNING, False),
        (1.0, 17.0, Status.RUNNING, True),
        (1.0, 17.0, Status.PREEMPTED, False),
        (1.0, 18.5, Status.RUNNING, False),
    ],
)
def test_an_output_counts_from_when_it_is_at_the_front_door(told_s, newest_s, status, kept):
    """It takes 1.5 s: what was put out from 8.5 s on, and before 18.5 s, is progress between 10 and 20 s."""
    router = Router(RouterConfig(**EVERY_10_S), BLOCK, 1)
    record = RequestState(turn(0, 16, 9, [1]), 0.0, BlockRuns([range(1)]))
    worker: PoolWorker = Worker(newest_s)
    pool = Pool([router], [worker], range(1))
    lookout = Lookout([pool], {0: record}, interval_s=10.0, way_s=1.5)
    record.visit = Visit("aggregated", pool, router, 0, book_on(router, 0, query([1]), now_s=1.0))
    record.visit.active = ActiveRequest(0, 16, 9, [1])
    record.visit.active.status, record.last_token_s = status, told_s
    assert lookout.due_s == 8.5
    lookout.look(18.5)
    assert lookout.due_s == 28.5
    router.terms(query(), 20.0)
    assert (load(router)[2] == [1]) is kept


def test_where_nothing_is_booked_it_does_not_look_at_every_scan():
    router = Router(RouterConfig(**EVERY_10_S), BLOCK, 1)
    lookout = Lookout([Pool([router], [], range(1))], {}, interval_s=10.0, way_s=0.0)
    lookout.look(1e12)
    assert lookout.due_s == 1e12 + 10


def test_what_hangs_is_let_go_and_then_nothing_is_left_to_look_at():
    router = Router(RouterConfig(**EVERY_10_S), BLOCK, 1)
    record = RequestState(turn(0, 16, 9, [1]), 0.0, BlockRuns([range(1)]))
    lookout = Lookout([Pool([router], [], range(1))], {0: record}, interval_s=10.0, way_s=0.0)
    book_on(router, 0, query([1]), now_s=1.0)
    lookout.look(1e12)
    assert (lookout.due_s, load(router)[2]) == (1e12 + 10, [0])
