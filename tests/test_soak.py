"""A short soak: `python -m tests.soak` is the long one."""

from collections import Counter

import pytest

from sim.scenario.faults import Fault
from tests.cluster.faults.random_faults import faults_of_a_long_run
from tests.soak import LIVE_SESSIONS, TURNS, Sessions, bytes_a_request, soak

LEAK_BYTES = 1024
"""A request, besides its results: one object with its attributes takes more. Longer soaks are flatter."""


def test_turns_go_around_sessions_that_others_follow():
    sessions = Sessions(2 * LIVE_SESSIONS * TURNS, 1, 0)
    assert [(request.session, request.turn) for request in sessions[:5]] == [
        ("s0", 0),
        ("s1", 0),
        ("s2", 0),
        ("s3", 0),
        ("s0", 1),
    ]
    assert sessions[LIVE_SESSIONS * TURNS].session == f"s{LIVE_SESSIONS}"
    first, second = sessions[0], sessions[4]
    assert second.chunks[: len(first.chunks)] == first.chunks
    times_s = [request.timestamp_s for request in sessions]
    assert times_s == sorted(times_s)


@pytest.mark.slow
def test_thousands_of_requests_break_no_rule_and_leave_no_more_than_their_rows():
    cluster, readings = soak(3000, 8, 1)
    table = cluster.recorder.rows.tables["requests"]
    assert set(table.column("status")) == {"completed"}
    assert sum(table.column("evicted_here_tokens")) + sum(table.column("external_hit_tokens")) > 0
    assert len(readings) == 10
    assert readings[-1].ended == 3000
    assert bytes_a_request(readings) < LEAK_BYTES


@pytest.mark.slow
def test_nor_do_they_where_everything_breaks_now_and_then():
    cluster, readings = soak(3000, 8, 2, faults=faults_of_a_long_run, turn_s=4.0)
    kinds = {toll.fault.kind for toll in cluster.scene.tolls if toll.began}
    known = Fault.__origin__.__args__
    assert kinds == {kind.model_fields["kind"].annotation.__args__[0] for kind in known}
    requests = cluster.recorder.rows.tables["requests"]
    counts = Counter(requests.column("status"))
    assert set(counts) == {"completed", "failed", "cancelled", "rejected"}
    assert counts["completed"] > 0.8 * counts.total()
    assert sum(requests.column("retries")) > 0
    assert bytes_a_request(readings) < LEAK_BYTES
