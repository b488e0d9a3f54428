"""Priorities of the trace in engines: who is served first, with fast forward and without."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.workload.request import Trace
from tests.cluster.test_disaggregated import pair
from tests.cluster.test_router_queue import alone, times
from tests.clusters import rows, run_cluster, scenario, trace

ONE = {"workers": {"count": 1}}


def by(policy):
    """One step at a time: who came while it was computed is looked at together."""
    return {"scheduling_policy": policy, "async_scheduling": False}


def with_priorities(requests, priorities):
    given_ = zip(requests.requests, priorities, strict=True)
    urgent = tuple(replace(request, priority=priority) for request, priority in given_)
    return Trace(urgent, requests.chunk_tokens, "made by hand")


LAST_IS_URGENT = with_priorities(trace(alone(0), alone(1, 0.25), alone(2, 0.5)), (0, 0, 5))


@pytest.mark.parametrize(("policy", "first_token_s"), [("fcfs", [1, 2, 3]), ("priority", [1, 3, 2])])
def test_the_greater_number_of_the_trace_goes_first(policy, first_token_s):
    cluster = run_cluster(scenario(**ONE, engine=by(policy)), LAST_IS_URGENT)
    assert times(cluster, "first_token_s") == [(float(time_s),) for time_s in first_token_s]


def test_prefill_workers_have_them_too():
    served = [
        [time_s for (time_s,) in times(run_cluster(pair(engine=by(policy)), LAST_IS_URGENT), "first_token_s")]
        for policy in ("fcfs", "priority")
    ]
    assert served[0][1] < served[0][2]
    assert served[1][2] < served[1][1]


ASKED = st.tuples(st.integers(0, 40), st.integers(1, 8), st.integers(1, 60), st.integers(-2, 2))


@settings(max_examples=25)
@given(st.lists(ASKED, min_size=1, max_size=9), st.booleans())
def test_fast_forward_changes_nothing(asked, asynchronous):
    asked.sort()
    made = [alone(n, at_s / 4, 16 * blocks, output) for n, (at_s, blocks, output, _) in enumerate(asked)]
    requests = with_priorities(trace(*made), [priority for *_, priority in asked])
    engine = {"scheduling_policy": "priority", "kv_blocks": 16, "async_scheduling": asynchronous}
    found = [
        sorted(
            rows(run_cluster(scenario(**ONE, engine=engine | {"fast_forward": fast}), requests)),
            key=lambda row: row["index"],
        )
        for fast in (True, False)
    ]
    assert found[0] == found[1]
