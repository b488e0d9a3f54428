"""What hash ids stand for: a size for all rows, or one a row; ids for full chunks alone; strings."""

from pathlib import Path

import pytest

from tests.workload.files import ROW, load, refusal


def row(tokens: int, ids: list[int], **more: object) -> dict[str, object]:
    return ROW | {"input_length": tokens, "hash_ids": ids, **more}


def test_full_chunks_alone_are_told_by_the_counts_and_that_is_said(tmp_path: Path) -> None:
    rows = [row(200, [1, 2, 3]), row(1000, [*range(15)]), row(63, [])]
    for options in ({}, {"chunk_tokens": 64}):
        trace = load(tmp_path, *rows, **options)
        assert trace.chunk_tokens == 64
        assert [len(r.chunks) for r in trace.requests] == [4, 16, 1]
        assert any('read as hash_rounding = "floor"' in note for note in trace.notes)
    assert "line 3: hash_ids = []" in refusal(tmp_path, *rows, hash_rounding="ceil", chunk_tokens=64)


def test_a_row_with_ids_for_its_end_keeps_all_from_being_floor(tmp_path: Path) -> None:
    rows = [row(200, [1, 2, 3]), row(1000, [*range(16)])]
    assert refusal(tmp_path, *rows, chunk_tokens=64).startswith("line 1: input_length = 200 needs 4 hash_ids")


def test_a_size_a_row_is_taken(tmp_path: Path) -> None:
    trace = load(tmp_path, row(100, [1, 2], block_size=64), row(90, [1, 3], block_size=64))
    assert trace.chunk_tokens == 64
    assert not any("left out" in note for note in trace.notes)


def test_ids_of_several_sizes_are_different_blocks_known_by_what_divides_both(tmp_path: Path) -> None:
    rows = [row(64, [1, 2], block_size=32), row(96, [1, 2], block_size=48), row(80, [1, 2], block_size=48)]
    trace = load(tmp_path, *rows)
    small, large, cut = (list(r.chunks) for r in trace.requests)
    assert trace.chunk_tokens == 16
    assert [len(small), len(large), len(cut)] == [4, 6, 5]
    assert not {*small} & {*large}
    assert cut[:3] == large[:3]
    assert not {*cut[3:]} & {*large}, "a part of a chunk is another text"
    assert any("stand for 32, 48 tokens: known by 16" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [row(64, [1, 2], block_size=32), row(64, [1, 2])],
            "line 2: block_size is missing: other rows have one",
        ),
        (
            [row(64, [1, 2], block_size=32), row(96, [1], block_size=48)],
            "line 2: input_length = 96 needs 2 hash_ids of 48 tokens, but there are 1",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    tmp_path: Path, rows: list[dict[str, object]], message: str
) -> None:
    assert refusal(tmp_path, *rows) == message


def test_ids_may_be_strings_in_all_of_a_trace(tmp_path: Path) -> None:
    rows = [ROW | {"hash_ids": ids} for ids in (["a", "b"], ["a", "c"], ["99999999999999999999999", "b"])]
    trace = load(tmp_path, *rows, chunk_tokens=512)
    assert [list(r.chunks) for r in trace.requests] == [[0, 1], [0, 2], [3, 1]]
    for mixed in ([ROW, rows[0]], [rows[0], ROW], [ROW | {"hash_ids": [1, "a"]}]):
        assert "every one of the trace a string" in refusal(tmp_path, *mixed, chunk_tokens=512)
