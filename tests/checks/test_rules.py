"""Every rule is broken once, in a run that is otherwise in order."""

import pytest

from sim.checks import blocks, index, links, loads, queues, requests, times, tokens
from sim.clock import Phase, at_time
from sim.errors import InvariantError
from sim.kv.stretch import Stretch
from sim.router import Booking
from sim.worker.nixl import Pull, RemoteBlocks
from tests.checks.broken import FIVE, Tampering, aggregated, build, violation
from tests.test_disaggregated import pair

# -- blocks -------------------------------------------------------------------------------------------------


def pool_of(cluster, worker=0):
    return cluster.workers[worker].engine.cache.pool


def test_a_block_that_nobody_holds_is_a_leak():
    error = violation(lambda cluster: pool_of(cluster, 1).allocate(Stretch(0, 0), 1))
    assert (error.rule, error.worker) == (blocks.RULE, 1)
    assert "100 blocks: " in error.detail


def test_a_free_block_too_many_is_seen():
    def doubled(cluster):
        pool_of(cluster).free_blocks += 1

    error = violation(doubled)
    assert (error.rule, error.worker) == (blocks.RULE, 0)


def test_a_reference_that_nobody_has_is_seen():
    def touched(cluster):
        pool = pool_of(cluster)
        pool.touch([next(part for part in pool.evictable())])

    assert violation(touched, at_s=35).rule == blocks.RULE


def test_a_kv_event_that_is_not_told_is_seen():
    cluster = build(aggregated(), check=True)

    class Silent(Tampering):
        def planned(self, worker, plan, events, now_s):
            self.other.planned(worker, plan, [], now_s)

    cluster.workers[0]._observer = Silent(cluster.workers[0]._observer)
    with pytest.raises(InvariantError, match="by KV events"):
        cluster.run()


def test_a_block_of_the_cpu_tier_that_was_not_told_is_seen():
    def stored(cluster):
        tier = cluster.workers[0].engine.offload.tier
        tier.store([(999_999, 0)])
        tier.stored([(999_999, 0)])

    error = violation(stored)
    assert error.rule == blocks.RULE
    assert "CPU tier" in error.detail


def test_a_prompt_that_is_kept_for_ever_is_seen_at_the_end():
    def kept(cluster):
        request = cluster.workers[0].engine.requests[0]
        cluster.workers[0].engine.nixl.held[99] = request

    assert violation(kept, pair(), at_s=1.5).rule == blocks.RULE


# -- tokens -------------------------------------------------------------------------------------------------


def ledger_of(cluster, request=1):
    return cluster.recorder._ledger.account(request)


def test_a_recomputed_token_without_a_cause_is_seen():
    def uncaused(cluster):
        ledger_of(cluster).computed_tokens += 1

    error = violation(uncaused)
    assert (error.rule, error.request) == (tokens.RULE, 1)
    assert "causes" in error.detail


def test_a_token_that_was_never_scheduled_is_seen():
    def invented(cluster):
        account = ledger_of(cluster)
        account.computed_tokens += 1
        account.first_tokens += 1

    error = violation(invented)
    assert (error.rule, error.request) == (tokens.RULE, 1)
    assert "than were scheduled" in error.detail


def test_a_hit_that_is_not_there_is_seen():
    def wider(cluster):
        cluster.recorder.records[1].active.local_tokens += 16

    error = violation(wider)
    assert (error.rule, error.request) == (tokens.RULE, 1)
    assert "do not add to its prompt" in error.detail


def test_a_gap_in_a_prompt_is_seen_when_it_is_planned():
    cluster = build(aggregated(), check=True)

    class Skipping(Tampering):
        def planned(self, worker, plan, events, now_s):
            for admission in plan.admitted:
                admission.local_tokens += 16
            self.other.planned(worker, plan, events, now_s)

    cluster.workers[0]._observer = Skipping(cluster.workers[0]._observer)
    with pytest.raises(
        InvariantError, match=r"request 0, worker 0, at 0 s: computes 64 tokens from 0 on"
    ) as caught:
        cluster.run()
    assert caught.value.rule == tokens.RULE


def test_a_gap_between_tokens_that_is_counted_twice_is_seen():
    assert violation(lambda cluster: cluster.recorder.itl_s.add(1.0)).rule == tokens.RULE


# -- loads --------------------------------------------------------------------------------------------------


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
        pool.router.loads.free(cluster.recorder.records[1].booking)
        cluster._watch._loads[0].check_sums(cluster.env.now)

    error = violation(freed)
    assert (error.rule, error.now_s) == (loads.RULE, 6.5)
    assert error.detail == "1 requests are booked, 2 are there"


def test_a_negative_load_is_seen_at_the_next_booking():
    def taken_twice(cluster):
        cluster.frontend.pools[0].router.loads._numbers[0, 1] -= 1

    error = violation(taken_twice)
    assert (error.rule, error.worker, error.now_s) == (loads.RULE, 1, 9.0)


# -- time ---------------------------------------------------------------------------------------------------


def test_a_request_that_is_routed_before_it_was_sent_is_seen():
    def earlier(cluster):
        cluster.recorder.records[1].routed_s -= 1e-9

    error = violation(earlier)
    assert (error.rule, error.request) == (times.RULE, 1)
    assert "routed_s = 0.999999999" in error.detail


def test_a_worker_whose_clock_runs_back_is_seen():
    cluster = build(aggregated(), check=True)

    class Behind(Tampering):
        def levels(self, worker, engine, now_s):
            self.other.levels(worker, engine, now_s - 1 if now_s > 5 else now_s)

    cluster.workers[0]._observer = Behind(cluster.workers[0]._observer)
    with pytest.raises(InvariantError) as caught:
        cluster.run()
    assert (caught.value.rule, caught.value.worker) == (times.RULE, 0)


# -- links --------------------------------------------------------------------------------------------------


def test_a_copy_that_was_not_planned_is_seen():
    error = violation(lambda cluster: cluster.workers[1].link.to_gpu.submit(4096, 1, 6.5))
    assert (error.rule, error.worker) == (links.RULE, 1)
    assert "to_gpu: 1 copies of 4096 bytes" in error.detail


def test_a_copy_that_nobody_waits_for_is_seen():
    def unasked(cluster):
        cluster.workers[0].link.done_s[999] = 1e9

    assert violation(unasked, at_s=60).rule == links.RULE


def test_bytes_that_are_lost_between_workers_are_seen():
    def shorter(cluster):
        cluster.pulls.network.start(99, 5, 1, 0, 1, now_s=cluster.env.now)
        cluster.pulls.network.finish(1e6)

    error = violation(shorter, pair(), at_s=90)
    assert error.rule == links.RULE
    assert "reads of" in error.detail


def test_a_read_that_never_ends_is_seen():
    def posted(cluster):
        pull = Pull(3, RemoteBlocks(16, (1,)), (1,))
        cluster._watch._transfers.started(1, pull, cluster.env.now)

    error = violation(posted, pair(), at_s=90)
    assert (error.rule, error.request, error.worker) == (links.RULE, 3, 1)


# -- requests -----------------------------------------------------------------------------------------------


def test_a_request_that_ends_twice_is_seen():
    error = violation(lambda cluster: cluster.frontend.ended(FIVE.requests[0]), at_s=30)
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


# -- queues -------------------------------------------------------------------------------------------------


def test_a_wrong_time_of_queueing_is_seen():
    def later(cluster):
        cluster.recorder.records[2].queued_s -= 0.25
        cluster.recorder.records[2].routed_s -= 0.25

    # Request 2 waits while request 1 runs: one at a time.
    error = violation(later, aggregated(workers={"count": 1}, engine={"max_num_seqs": 1}), at_s=6.5)
    assert (error.rule, error.worker) == (queues.RULE, 0)
    assert error.detail.startswith("waiting: ")


def test_a_wrong_length_of_a_queue_is_seen():
    cluster = build(aggregated(), check=True)

    class Late(Tampering):
        def levels(self, worker, engine, now_s):
            if now_s != 1.0:
                self.other.levels(worker, engine, now_s)

    cluster.workers[0]._observer = Late(cluster.workers[0]._observer)
    cluster.workers[1]._observer = Late(cluster.workers[1]._observer)
    with pytest.raises(InvariantError) as caught:
        cluster.run()
    assert caught.value.rule == queues.RULE


def test_a_wrong_end_is_seen():
    def later(cluster):
        cluster.recorder.records[1].send_s += 0.5
        cluster.recorder.records[1].routed_s += 0.5
        cluster.recorder.records[1].queued_s += 0.5
        cluster.recorder.records[1].first_scheduled_s += 0.5

    error = violation(later)
    assert error.rule == queues.RULE
    assert error.detail.startswith("in flight: ")


def test_a_level_that_is_missing_in_the_table_is_seen():
    def lost(cluster):
        cluster.recorder._levels._first[0].pop()

    error = violation(lost)
    assert error.rule == queues.RULE
    assert "in its table" in error.detail


# -- index --------------------------------------------------------------------------------------------------


def test_an_event_that_gets_lost_on_its_way_is_seen():
    def lost(cluster):
        cluster.frontend.pools[0].news._messages.pop()

    slow = aggregated(frontend={"event_delay_s": 8.0})
    error = violation(lost, slow)
    assert error.rule == index.RULE
    assert "messages of KV events were sent" in error.detail


def test_a_block_that_the_index_forgets_is_seen():
    def forgotten(cluster):
        for rank in (0, 1):
            cluster.frontend.pools[0].router.removed(rank, [1], "device")

    error = violation(forgotten)
    assert error.rule == index.RULE


def test_a_block_that_the_index_invents_is_seen_at_the_decision():
    cluster = build(aggregated(), check=True)
    watched = cluster._watch._indexes[0]
    watched._every = watched._until_look = 1
    moment = at_time(cluster.env, 30, Phase.ARRIVAL, 1 << 20)
    moment.callbacks.append(
        lambda _: [cluster.frontend.pools[0].router.stored(r, None, [0, 1], "device") for r in (0, 1)]
    )
    with pytest.raises(InvariantError) as caught:
        cluster.run()
    assert (caught.value.rule, caught.value.request, caught.value.now_s) == (index.RULE, 4, 40)
