"""Times that run back are seen."""

import pytest

from sim.base.errors import InvariantError
from sim.cluster.checks import times
from tests.cluster.checks.broken import Tampering, aggregated, build, violation


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
