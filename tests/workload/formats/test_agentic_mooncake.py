"""Mooncake's rows that wait for several others."""

from array import array
from pathlib import Path

import pytest

from sim.workload.request import Request
from sim.workload.trace_file import load_trace
from tests.workload.files import DATA, ROW, load, refusal

A = ROW | {"request_id": "a", "session_id": "s"}


def test_rows_leave_after_all_that_they_wait_for() -> None:
    trace = load_trace(DATA / "agentic.jsonl", chunk_tokens=64)
    assert trace.requests == (
        Request(0, "root", 0, 0.0, None, 130, 5, array("Q", [1, 2, 3])),
        Request(1, "child", 0, None, 2.51, 90, 7, array("Q", [4, 5]), (0,), priority=2),
        Request(2, "root", 1, None, 0.0, 200, 5, array("Q", [1, 2, 6, 7]), (0, 1)),
    )
    assert not any("left out" in note for note in trace.notes)


def test_a_row_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    b = A | {"request_id": "b", "wait_for": ["a"]}
    trace = load(tmp_path, A, b, b, A)
    assert len(trace.requests) == 2
    assert sum(trace.dropped.values()) == 2
    assert 'line 3: request_id = "b" is that of an earlier line' in refusal(
        tmp_path, A, b, b | {"wait_for": []}
    )


def test_who_is_not_taken_is_waited_for_by_none(tmp_path: Path) -> None:
    b = A | {"request_id": "b", "session_id": "t"}
    trace = load(tmp_path, A, b, A | {"request_id": "c", "wait_for": ["a", "b"]}, sessions=1)
    assert [r.waits_for for r in trace.requests] == [(), (0,)]


def test_sub_agents_are_taken_with_the_session_that_started_them(tmp_path: Path) -> None:
    rows = [
        A,
        A | {"request_id": "other", "session_id": "t"},
        A | {"request_id": "agent", "session_id": "u", "wait_for": ["a"]},
        A | {"request_id": "nested", "session_id": "v", "wait_for": ["agent"]},
        A | {"request_id": "its", "session_id": "w", "wait_for": ["other"]},
        A | {"request_id": "both", "session_id": "s", "wait_for": ["nested", "other"]},
    ]
    trace = load(tmp_path, *rows, sessions=1)
    assert [(r.session, r.waits_for) for r in trace.requests] == [
        ("s", ()),
        ("u", (0,)),
        ("v", (1,)),
        ("s", (2,)),
    ]
    assert load(tmp_path, *rows, sessions=2).sessions == ("s", "t", "u", "w", "v")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"request_id": None}, "request_id is missing: every row of agentic_mooncake has one"),
        ({"wait_for": "a"}, "wait_for = 'a': must be a list"),
        ({"wait_for": [[]]}, "wait_for = []: must be a string or a whole number"),
        ({"wait_for": ["z"]}, "wait_for holds 'z': no row has this request_id"),
        ({"tool_wait_ms": -1}, "tool_wait_ms = -1: must be a finite number from 0"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    row = A | {"request_id": "b", "branches": []}
    assert refusal(tmp_path, A, row | change).startswith(f"line 2: {message}")
