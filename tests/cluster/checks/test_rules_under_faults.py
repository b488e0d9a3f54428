"""Every book that follows faults is broken once in a run with them, which is in order otherwise."""

import pytest

from sim.base.errors import InvariantError
from sim.cluster.checks import blocks, index, links, loads, queues, requests, times, tokens
from sim.kv import pool
from sim.kv.extent import Extent
from tests.cluster.checks.broken import FIVE, OFFLOADING, Tampering, aggregated, build, violation
from tests.cluster.test_disaggregated import FAST_LINKS
from tests.clusters import HOST_BLOCK_BYTES, trace, turn

pytestmark = pytest.mark.skipif(
    not pool.__file__.endswith(".py"), reason="methods of compiled classes cannot be replaced"
)

DEATHS = [{"kind": "worker-dies", "worker": worker, "at_s": 4.5, "back_after_s": 1.0} for worker in (0, 1)]
"""Requests 1 and 2 run then."""
CANCEL = [{"kind": "clients-cancel", "at_s": 0.0, "after_s": 5.0}]
RETRIES = {"migration_limit": 3}


def faulty(*faults, **sections):
    return aggregated(faults=list(faults), **{"frontend": RETRIES} | sections)


def retried():
    """Worker 1 takes over when worker 0 dies."""
    return faulty(DEATHS[0], router={"policy": "round-robin"})


def tried_again(cluster):
    """Return the record of a request that was."""
    return next(record for record in cluster.recorder.records.values() if record.retries)


def found(tamper, settings, requests=FIVE):
    """Return what is found wrong in a run whose cluster was tampered with before."""
    cluster = build(settings, requests, check=True)
    tamper(cluster)
    with pytest.raises(InvariantError) as caught:
        cluster.run()
    return caught.value


@pytest.mark.parametrize("settings", [retried(), faulty(*DEATHS), faulty(*CANCEL)])
def test_as_they_are_they_break_no_rule(settings):
    cluster = build(settings, check=True)
    cluster.run()
    statuses = cluster.recorder.rows.tables["requests"].column("status")
    retries = cluster.recorder.rows.tables["requests"].column("retries")
    assert any(retries) or set(statuses) != {"completed"}


# -- blocks -------------------------------------------------------------------------------------------------


def test_a_leak_in_a_worker_that_came_back_is_seen():
    def taken(cluster):
        cluster.workers[0].engine.cache.pool.allocate(Extent(0, 0), 1)

    assert violation(taken, faulty(*DEATHS), at_s=30).rule == blocks.RULE


def test_blocks_of_an_aborted_request_that_are_not_freed_are_seen():
    def tamper(cluster):
        for worker in cluster.workers:
            worker.engine.cache.free = lambda tables: None

    assert found(tamper, faulty(*CANCEL)).rule == blocks.RULE


# -- tokens -------------------------------------------------------------------------------------------------


def test_a_gap_in_the_prompt_of_a_request_that_is_tried_again_is_seen():
    class Skipping(Tampering):
        def planned(self, worker, plan, events, now_s):
            for admission in plan.admitted:
                if admission.request.request_id > len(FIVE.requests):
                    admission.local_tokens += 16
            self.other.planned(worker, plan, events, now_s)

    def tamper(cluster):
        cluster.workers[1]._observer = Skipping(cluster.workers[1]._observer)

    error = found(tamper, retried())
    assert (error.rule, error.now_s) == (tokens.RULE, 5.0)


def test_a_prompt_without_the_tokens_that_were_generated_before_is_seen():
    def forgotten(cluster):
        record = tried_again(cluster)
        record.active.prompt_tokens -= record.generated

    error = violation(forgotten, retried(), at_s=4.6)
    assert error.rule == tokens.RULE
    assert "a prompt of" in error.detail


def test_a_token_of_a_request_that_was_tried_again_that_was_never_scheduled_is_seen():
    def invented(cluster):
        record = tried_again(cluster)
        account = cluster.recorder._ledger.account(record.request.index)
        account.computed_tokens += 1
        account.first_tokens += 1

    error = violation(invented, retried())
    assert error.rule == tokens.RULE
    assert "than were scheduled" in error.detail


# -- loads --------------------------------------------------------------------------------------------------


def test_a_booking_on_a_worker_that_was_lost_is_seen():
    def tamper(cluster):
        cluster.migration._let_go = lambda record: None

    error = found(tamper, retried())
    assert (error.rule, error.worker) == (loads.RULE, 0)
    assert "2 requests are booked, 0 are there" in error.detail


def test_bookings_that_outlive_a_restart_are_seen_at_once():
    def tamper(cluster):
        cluster.frontend.pools[0].router.forget_bookings = lambda: None

    restart = {"kind": "frontend-restarts", "at_s": 4.5, "in_flight": "keep"}
    error = found(tamper, faulty(restart))
    assert (error.rule, error.now_s) == (loads.RULE, 4.5)


# -- queues -------------------------------------------------------------------------------------------------


def test_a_request_that_a_lost_worker_forgets_is_seen():
    class Forgetful(Tampering):
        def lost(self, worker, requests, now_s):
            self.other.lost(worker, requests[1:], now_s)

    def tamper(cluster):
        cluster.workers[0]._observer = Forgetful(cluster.workers[0]._observer)

    error = found(tamper, faulty(*DEATHS))
    assert (error.rule, error.now_s) == (queues.RULE, 4.5)
    assert "is not lost" in error.detail


def test_a_wrong_length_of_the_queue_after_an_abort_is_seen():
    class Late(Tampering):
        def levels(self, worker, engine, now_s):
            if now_s not in (5.0, 6.0):
                self.other.levels(worker, engine, now_s)

    def tamper(cluster):
        for worker in cluster.workers:
            worker._observer = Late(worker._observer)

    assert found(tamper, faulty(*CANCEL, engine={"fast_forward": False})).rule == queues.RULE


def test_a_request_that_comes_later_than_it_was_sent_on_is_seen():
    """It was on its way, though it is said to have been with the worker."""

    class Early(Tampering):
        def added(self, worker, request, now_s):
            self.other._queues[worker].came(request, now_s)
            index = self.other._records[request.request_id].request.index
            self.other._flight.came_to_worker(index, now_s - (request.request_id != index))
            self.other._flight.tried_again(index)

    def tamper(cluster):
        cluster.workers[1]._observer = Early(cluster.workers[1]._observer)

    error = found(tamper, retried())
    assert error.rule == queues.RULE
    assert error.detail.startswith("on the way: ")


# -- time, requests -----------------------------------------------------------------------------------------


def test_times_of_a_request_that_was_tried_again_that_run_back_are_seen():
    def earlier(cluster):
        record = tried_again(cluster)
        record.queued_s = record.first_scheduled_s + 1e-9

    assert violation(earlier, retried()).rule == times.RULE


def test_an_answer_that_is_shorter_than_was_asked_for_is_seen():
    def shorter(cluster):
        record = tried_again(cluster)
        record.generated -= 1

    error = violation(shorter, retried())
    assert error.rule == requests.RULE
    assert "not as long as was asked for" in error.detail


def test_a_request_that_fails_and_is_served_all_the_same_is_seen():
    def tamper(cluster):
        interrupted = cluster.migration.interrupted

        def both(request, reason):
            record = cluster.recorder.records[request.request_id]
            interrupted(request, reason)
            cluster.frontend._ended(record.request)

        cluster.migration.interrupted = both

    error = found(tamper, retried())
    assert (error.rule, error.detail) == (requests.RULE, "ended twice")


# -- index --------------------------------------------------------------------------------------------------


def test_what_the_index_keeps_of_a_worker_that_is_gone_is_seen():
    def tamper(cluster):
        cluster.frontend.pools[0].router.cleared = lambda rank: None

    assert found(tamper, faulty(*DEATHS)).rule == index.RULE


def test_what_the_index_keeps_over_a_restart_is_seen():
    def tamper(cluster):
        cluster.frontend.pools[0].router.cleared = lambda rank: None

    assert (
        found(tamper, faulty({"kind": "frontend-restarts", "at_s": 4.5, "index": "lost"})).rule == index.RULE
    )


def test_messages_that_get_lost_with_no_worker_are_seen():
    slow = faulty(DEATHS[0], router={"policy": "kv"}, frontend=RETRIES | {"event_delay_s": 8.0})
    error = violation(lambda cluster: cluster.frontend.pools[0].replicas[0].undelivered._messages.pop(), slow)
    assert error.rule == index.RULE
    assert "are lost" in error.detail


# -- links --------------------------------------------------------------------------------------------------

SLOW_COPIES = OFFLOADING | {
    "link": {"bandwidth_bytes_per_s": HOST_BLOCK_BYTES / 8, "latency_s": 0, "per_piece_s": 0}
}


def test_copies_of_a_worker_that_died_count_no_more():
    def tamper(cluster):
        for worker in cluster.workers:
            worker.links._copies = _Nothing()

    class _Nothing(dict):
        def items(self):
            return []

    build(faulty(*DEATHS, offload=SLOW_COPIES), check=True).run()
    error = found(tamper, faulty(*DEATHS, offload=SLOW_COPIES))
    assert error.rule == links.RULE
    assert "host, down" in error.detail


ONE = trace(turn(0.0, 33, 3, (1, 2, 3)))  # a step of 1 s, a pull of 0.25 s, a step of 1 s for each token


def joined(*faults):
    return faulty(
        *faults,
        workers={"count": None, "prefill": 1, "decode": 1},
        disaggregation={"network": FAST_LINKS},
        frontend={"migration_limit": 0},
        offload=None,
    )


SOURCE_DIES = {"kind": "worker-dies", "worker": 0, "at_s": 1.1}


def test_a_read_that_goes_on_when_its_source_is_gone_is_seen():
    def tamper(cluster):
        cluster.pulls.network.cancel = lambda transfer_id, now_s: None
        cluster.pulls.wires._finish = lambda: cluster.pulls.network.finish(cluster.clock.now)

    error = found(tamper, joined(SOURCE_DIES), ONE)
    assert error.rule == links.RULE
    assert "0 reads of 0 bytes have ended" in error.detail


def test_a_read_of_which_nobody_hears_again_is_seen():
    def tamper(cluster):
        cluster.pulls._stopped = lambda request: None

    error = found(tamper, joined(SOURCE_DIES), ONE)
    assert (error.rule, error.detail, error.request) == (links.RULE, "a read never ended", 0)


def test_what_is_kept_for_a_request_that_nobody_serves_is_seen():
    def tamper(cluster):
        cluster.pulls.given_up = lambda request: None

    error = found(tamper, joined({"kind": "worker-dies", "worker": 1, "at_s": 1.1}), ONE)
    assert (error.rule, error.worker) == (blocks.RULE, 0)
    assert "blocks held are left" in error.detail
