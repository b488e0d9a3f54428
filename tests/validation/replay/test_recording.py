"""A measured run as something to replay."""

import json
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.measured.run import load_run
from sim.validation.replay.recording import pools, recording
from tests.measured.small_run import SMALL, bench, copy


def test_requests_come_when_their_worker_was_chosen() -> None:
    found = recording(load_run(SMALL))
    assert [request.timestamp_s for request in found.trace.requests] == pytest.approx([0.0, 0.096, 1.048])
    assert [tuple(request.chunks) for request in found.trace.requests] == [
        (1, 2, 3),
        (1, 4, 5),
        (1, 2, 6, 7, 8),
    ]
    assert [request.output_tokens for request in found.trace.requests] == [2, 2, 1]
    assert (found.ranks, found.decode_ranks) == ({0: 0, 1: 1, 2: 1}, {})
    assert found.completed == [0, 1, 2]
    assert found.required_tokens == 102
    assert found.notes == []
    assert [[worker.name for worker in pool] for pool in pools(found.run)] == [["worker0", "worker1"], []]


def test_tokens_have_the_times_of_the_clients_chunks() -> None:
    found = recording(load_run(SMALL))
    start_s = found.start_s
    assert [times.prefilled_s for times in found.times.values()] == [None, None, None]
    assert found.times[0].tokens_s == pytest.approx((0.2 - start_s, 0.25 - start_s))
    assert found.times[2].tokens_s == pytest.approx((1.15 - start_s,))


def test_of_fewer_chunks_than_tokens_the_later_tokens_came_with_the_last(tmp_path: Path) -> None:
    content = bench() | {"output_lens": [5, 2, 1]}
    run = load_run(copy(tmp_path / "run", bench_json=json.dumps(content), usage_jsonl=None))
    found = recording(run)
    first_s, last_s = 0.2 - found.start_s, 0.25 - found.start_s
    assert found.times[0].tokens_s == pytest.approx((first_s, *[last_s] * 4))


def test_failed_requests_are_load_but_not_compared(tmp_path: Path) -> None:
    content = bench() | {"errors": ["", "broken", ""]}
    found = recording(load_run(copy(tmp_path / "run", bench_json=json.dumps(content))))
    assert len(found.trace.requests) == 3
    assert found.completed == [0, 2]
    assert sorted(found.times) == [0, 2]
    assert found.notes == [
        "1 of 3 requests failed: they are sent but not compared, and what they had computed by then is "
        "in the engines' counters"
    ]


def test_requests_that_reached_no_worker_are_not_sent(tmp_path: Path) -> None:
    log = [line for line in (SMALL / "router.log").read_text().splitlines() if "aaaa-1" not in line]
    content = bench() | {"errors": ["", "no worker", ""]}
    folder = copy(tmp_path / "run", bench_json=json.dumps(content), router_log="\n".join(log))
    found = recording(load_run(folder))
    assert [request.row for request in found.requests] == [0, 2]
    assert found.notes == ["1 of 3 requests failed before the router chose a worker: they are not sent"]


def test_without_the_clients_details_the_law_times_all(tmp_path: Path) -> None:
    found = recording(load_run(copy(tmp_path / "run", bench_json=None)))
    assert found.times == {}
    assert found.notes == ["3 of 3 requests have no recorded times: the scenario's law times them"]


def test_without_prompts_there_is_nothing_to_replay(tmp_path: Path) -> None:
    folder = copy(tmp_path / "run", trace_jsonl=None)
    with pytest.raises(InputError, match=f"{folder}: no trace that its requests could be joined to"):
        recording(load_run(folder))
