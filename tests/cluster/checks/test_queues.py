"""Lengths of queues that are not their members' waits are seen."""

import pytest

from sim.base.errors import InvariantError
from sim.cluster.checks import queues
from tests.cluster.checks.broken import Tampering, aggregated, build, violation


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
        cluster.recorder._levels._rows._first[0].pop()

    error = violation(lost)
    assert error.rule == queues.RULE
    assert "in its table" in error.detail
