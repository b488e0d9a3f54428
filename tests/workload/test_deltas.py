"""Rows that hold what a turn adds, as full prompts."""

from pathlib import Path

from sim.workload.trace_file import load_trace
from tests.workload.files import SHARED_TRACES, load, needs_shared


def test_a_prompt_is_the_one_before_its_answer_and_what_the_row_adds(tmp_path: Path) -> None:
    rows = [
        {"session_id": "a", "timestamp": 0, "input_length": 600, "output_length": 8, "hash_ids": [5, 6]},
        {"session_id": "b", "timestamp": 0, "input_length": 512, "output_length": 0, "hash_ids": [5]},
        {"session_id": "a", "delay": 9, "input_length": 100, "output_length": 4, "hash_ids": [7]},
        {"session_id": "b", "delay": 9, "input_length": 63, "output_length": 4, "hash_ids": [8]},
        {"session_id": "a", "delay": 9, "input_length": 1, "output_length": 4, "hash_ids": [9]},
    ]
    trace = load(tmp_path, *rows, format="mooncake-delta", chunk_tokens=512)
    a1, b1, a2, b2, a3 = sorted(trace.requests, key=lambda r: (r.turn, r.session))
    assert trace.chunk_tokens == 64
    # 600; 600 + 8 + 100; 708 + 4 + 1; an answer of 0 tokens is taken as 1: 512 + 1 + 63.
    assert [r.prompt_tokens for r in (a1, a2, a3)] == [600, 708, 713]
    assert [r.prompt_tokens for r in (b1, b2)] == [512, 576]
    assert [len(r.chunks) for r in (a1, a2, a3, b1, b2)] == [10, 12, 12, 8, 9]
    assert list(a1.chunks[:8]) == list(b1.chunks), "the chunk that both start with"
    assert list(a2.chunks[:9]) == list(a1.chunks[:9]), "full ones are kept"
    assert a2.chunks[9] != a1.chunks[9], "one that has grown is another"
    assert list(a3.chunks[:11]) == list(a2.chunks[:11])
    assert a3.chunks[11] != a2.chunks[11]
    new = [*a2.chunks[9:], a3.chunks[11], b2.chunks[8]]
    assert len({*new, *a1.chunks}) == len(new) + 10, "nobody else has them"


def test_a_chunk_that_is_a_part_in_one_prompt_and_full_in_another_is_two_texts(tmp_path: Path) -> None:
    rows = [
        {"session_id": name, "timestamp": 0, "input_length": tokens, "output_length": 1, "hash_ids": ids}
        for name, tokens, ids in (("a", 100, [1]), ("b", 200, [1, 2]))
    ]
    part, full = load(tmp_path, *rows, format="mooncake-delta", chunk_tokens=128).requests
    assert not set(part.chunks) & set(full.chunks)


def test_chunks_that_cannot_be_split_stay(tmp_path: Path) -> None:
    rows = [{"session_id": "a", "timestamp": 0, "input_length": 90, "output_length": 1, "hash_ids": [1, 2]}]
    trace = load(tmp_path, *rows, format="mooncake-delta", chunk_tokens=50)
    assert (trace.chunk_tokens, list(trace.requests[0].chunks)) == (50, [0, 1])


def test_rows_that_can_be_nothing_else_are_taken_as_deltas_and_that_is_said(tmp_path: Path) -> None:
    rows = [
        {"session_id": "a", "timestamp": 0, "input_length": tokens, "output_length": 8, "hash_ids": ids}
        for tokens, ids in ((1000, [1, 2]), (300, [7]), (400, [8]))
    ]
    trace = load(tmp_path, *rows, chunk_tokens=512)
    assert trace.format == "mooncake-delta"
    assert [r.prompt_tokens for r in trace.requests] == [1000, 1308, 1716]
    assert any("2 of 2 later turns start with another hash id" in note for note in trace.notes)
    stated = load(tmp_path, *rows, chunk_tokens=512, format="mooncake-delta")
    assert stated.requests == trace.requests
    full = load(tmp_path, *rows, chunk_tokens=512, full_prompts=True)
    assert (full.format, [r.prompt_tokens for r in full.requests]) == ("mooncake", [1000, 300, 400])


@needs_shared
def test_the_synthetic_deltas_of_aiperf() -> None:
    trace = load_trace(SHARED_TRACES / "aiperf" / "agentic_code_1131s_seed42.delta.jsonl.gz")
    assert (trace.format, len(trace.requests), len(trace.sessions)) == ("mooncake-delta", 14_056, 1_205)
    lengths = sorted(request.prompt_tokens for request in trace.requests)
    assert round(lengths[len(lengths) // 2], -3) == 98_000
