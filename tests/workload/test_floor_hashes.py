"""Rows with ids for full chunks only."""

from array import array
from pathlib import Path

import pytest

from tests.workload.files import ROW, load, refusal

ROWS = (
    ROW | {"input_length": 200, "hash_ids": [7, 8, 9]},
    ROW | {"input_length": 192, "hash_ids": [7, 8, 9]},
    ROW | {"input_length": 200, "hash_ids": [7, 8, 9]},
    ROW | {"input_length": 63, "hash_ids": []},
)


@pytest.mark.parametrize("chunk_tokens", [None, 64])
def test_the_end_of_each_prompt_gets_an_id_of_its_own(tmp_path: Path, chunk_tokens: int | None) -> None:
    trace = load(tmp_path, *ROWS, hash_rounding="floor", chunk_tokens=chunk_tokens)
    assert trace.chunk_tokens == 64
    assert [r.prompt_tokens for r in trace.requests] == [200, 192, 200, 63]
    assert [r.chunks for r in trace.requests] == [
        array("Q", [7, 8, 9, 0]),
        array("Q", [7, 8, 9]),
        array("Q", [7, 8, 9, 1]),
        array("Q", [2]),
    ]
    assert "rows that end in a part of a chunk without a hash id, never found again: 3" in trace.notes


def test_ids_of_ends_are_none_that_the_file_has(tmp_path: Path) -> None:
    rows = [ROW | {"input_length": 10, "hash_ids": [i]} for i in (0, 2, 2**64 - 1)]
    chunks = [list(r.chunks) for r in load(tmp_path, *rows, hash_rounding="floor", chunk_tokens=8).requests]
    assert chunks == [[0, 1], [2, 3], [2**64 - 1, 4]]


def test_other_counts_are_refused_with_their_lines(tmp_path: Path) -> None:
    rows = (ROW | {"input_length": 200, "hash_ids": [1, 2]}, ROW | {"input_length": 200, "hash_ids": [1] * 4})
    message = refusal(tmp_path, *rows, hash_rounding="floor", chunk_tokens=64)
    assert "line 1: input_length = 200 has 3 full chunks of 64 tokens, but 2 hash_ids" in message
    assert "line 2: input_length = 200 has 3 full chunks of 64 tokens, but 4 hash_ids" in message


@pytest.mark.parametrize("chunk_tokens", [None, 64])
def test_floor_counts_are_named_with_the_keys_that_read_them(
    tmp_path: Path, chunk_tokens: int | None
) -> None:
    message = refusal(tmp_path, *ROWS[:3], chunk_tokens=chunk_tokens, hash_rounding="ceil")
    assert message.endswith(
        "Every row has floor(input_length / 64) hash_ids, as kv-cache-tester writes them: "
        'set chunk_tokens = 64 and hash_rounding = "floor"'
    )


def test_a_size_that_is_not_clear_has_to_be_given(tmp_path: Path) -> None:
    row = ROW | {"input_length": 100_000, "hash_ids": [1]}
    assert "no usual size fits floor" in refusal(tmp_path, row, hash_rounding="floor")
