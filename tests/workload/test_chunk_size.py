from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.workload.chunk_size import CANDIDATES, check_id_counts, find_chunk_tokens
from sim.workload.formats.row import Row
from sim.workload.rows import Rows

PATH = Path("trace.jsonl")


def rows(*lengths_and_ids: tuple[int, int]) -> Rows:
    made = Rows()
    for line, (length, n_ids) in enumerate(lengths_and_ids, start=1):
        made.append(Row(line, None, None, 0, None, length, 1, array("Q", range(n_ids))))
    return made


@given(st.sampled_from(CANDIDATES), st.lists(st.integers(1, 100_000), min_size=1))
def test_a_size_that_is_found_is_the_one_that_made_the_ids(size: int, lengths: list[int]) -> None:
    made = rows(*((length, -(-length // size)) for length in lengths))
    try:
        assert find_chunk_tokens(made, PATH) == size
    except InputError:
        fitting = [
            s
            for s in CANDIDATES
            if all(-(-length // s) == n for length, n in zip(lengths, made.ids.counts, strict=True))
        ]
        assert len(fitting) > 1


@pytest.mark.parametrize(
    ("case", "size"),
    [
        ([(1000, 2)], 512),
        ([(307, 20)], 16),
        ([(213_000, 3329)], 64),
        ([(8000, 10), (8001, 11)], 800),
        ([(650, 11), (1, 1)], 64),
    ],
)
def test_sizes_found(case: list[tuple[int, int]], size: int) -> None:
    assert find_chunk_tokens(rows(*case), PATH) == size


@pytest.mark.parametrize(
    ("case", "numbers"),
    [([(8, 1)], "from 8 up"), ([(1000, 1)], "from 1000 up"), ([(100, 3)], "from 34 to 49")],
)
def test_what_stays_unclear_has_to_be_set(case: list[tuple[int, int]], numbers: str) -> None:
    with pytest.raises(InputError, match=rf"^trace.jsonl: .* every number {numbers}; set chunk_tokens$"):
        find_chunk_tokens(rows(*case), PATH)


def test_rows_that_contradict_each_other_are_named() -> None:
    """640 tokens need 10 ids of 64; with 3 the prompt would be short."""
    with pytest.raises(InputError) as caught:
        find_chunk_tokens(rows((130, 3), (640, 3)), PATH)
    assert str(caught.value) == (
        "trace.jsonl: no chunk size fits every row: line 2 (input_length = 640, 3 hash_ids) needs at least "
        "214 tokens an id, line 1 (input_length = 130, 3 hash_ids) at most 64; "
        "set chunk_tokens to have every row checked against it"
    )


def test_ids_beyond_the_length_are_cut_off() -> None:
    made = rows((1000, 2), (1000, 5), (513, 2), (512, 3))
    assert check_id_counts(made, 512, PATH) == 2
    assert list(made.ids.counts) == [2, 2, 2, 1]
    assert check_id_counts(made, 10**30, PATH) == 3, "a size beyond 64 bits is a size"
    assert list(made.ids.counts) == [1, 1, 1, 1]
