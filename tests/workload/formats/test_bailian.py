"""Bailian's rows."""

from array import array
from pathlib import Path

from sim.workload.request import Request
from sim.workload.trace_file import load_trace
from tests.workload.files import DATA, load, refusal

ROW = {
    "chat_id": 4,
    "parent_chat_id": -1,
    "timestamp": 1.5,
    "input_length": 20,
    "output_length": 6,
    "hash_ids": [3, 8],
}


def test_chats_are_sessions_and_last_ids_are_the_same_as_none() -> None:
    trace = load_trace(DATA / "bailian.jsonl")
    assert (trace.chunk_tokens, trace.answers, trace.format) == (16, "returned", "bailian")
    assert trace.requests == (
        Request(0, "4", 0, 0.0, None, 35, 6, array("Q", [3, 8, 0])),
        Request(1, "4", 1, 7.75, None, 64, 6, array("Q", [3, 8, 22, 1])),
        Request(2, "4", 2, 8.5, None, 40, 6, array("Q", [3, 8, 2]), (0,)),
        Request(3, "7", 0, 9.5, None, 10, 6, array("Q", [4])),
    )
    assert "requests whose parents are outside the file, each the first of a session: 1" in trace.notes


def test_counts_and_names_are_checked(tmp_path: Path) -> None:
    assert refusal(tmp_path, ROW | {"hash_ids": [3]}) == (
        "line 1: input_length = 20 needs 2 hash_ids of 16 tokens, but there are 1"
    )
    assert refusal(tmp_path, ROW, ROW) == "line 2: chat_id = 4 is that of an earlier row"
    assert refusal(tmp_path, ROW, ROW | {"chat_id": None}) == "line 2: chat_id is missing"


def test_parents_of_sessions_that_are_not_taken(tmp_path: Path) -> None:
    other = ROW | {"chat_id": 5}
    rows = [ROW, other, ROW | {"chat_id": 6, "parent_chat_id": 5}, ROW | {"chat_id": 7, "parent_chat_id": 4}]
    trace = load(tmp_path, *rows, sessions=1)
    assert [(r.session, r.turn) for r in trace.requests] == [("4", 0), ("4", 1)]
