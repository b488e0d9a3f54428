"""When clients wanted to send."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sim.measured.run import load_run
from sim.validation.replay.recording import recording
from sim.validation.replay.sending import as_due, limit_in_flight
from tests.measured.small_run import SMALL, bench, copy


def test_a_client_without_a_limit_sent_when_it_wanted_to() -> None:
    recorded = recording(load_run(SMALL))
    assert limit_in_flight(recorded) is None
    assert as_due(recorded) is recorded


def test_requests_of_a_client_with_a_limit_are_due_when_the_trace_says(tmp_path: Path) -> None:
    content = json.dumps(bench() | {"max_concurrency": 2})
    recorded = recording(load_run(copy(tmp_path / "run", bench_json=content)))
    first, *others = recorded.requests
    assert first.trace is not None
    # Due after request 1, though the router had it before.
    first = replace(first, trace=replace(first.trace, timestamp_s=0.15))
    recorded = replace(recorded, requests=(first, *others))
    due = as_due(recorded)
    assert limit_in_flight(recorded) == 2
    assert [request.timestamp_s for request in due.trace.requests] == pytest.approx([0.0, 0.05, 0.9])
    assert [request.index for request in due.trace.requests] == [0, 1, 2]
    assert [request.row for request in due.requests] == [1, 0, 2]
    assert due.ranks == {0: 1, 1: 0, 2: 1}
    assert due.times[1] == recorded.times[0]
