"""Rows with hash ids for full chunks only, floor(input_length / chunk_tokens), as kv-cache-tester has them.

What is left over after the last full chunk has no id. It gets one of its own in every row, so that a prompt
keeps its length and its end is never found again: such an end fills no block.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sim.base.errors import InputError
from sim.base.lines import Problems
from sim.base.words import exactly
from sim.workload.chunk_size import CANDIDATES
from sim.workload.rows import Rows, whole_numbers


def find_floor_chunk_tokens(rows: Rows, path: Path) -> int:
    """Return the chunk size for which every row has floor(input_length / chunk_tokens) ids.

    A row of L tokens and n ids fits the sizes from floor(L / (n + 1)) + 1 to floor(L / n).

    Raises:
        InputError: no size fits every row, or it is not clear which one is meant.

    """
    fitting = floor_sizes(rows, CANDIDATES)
    if len(fitting) != 1:
        found = f"{', '.join(map(str, fitting))} fit" if fitting else "no usual size fits"
        raise InputError(
            f"{path}: how many tokens one hash id stands for is not clear: {found} "
            "floor(input_length / size) ids in every row; set chunk_tokens"
        )
    return fitting[0]


def floor_sizes(rows: Rows, sizes: Iterable[int]) -> list[int]:
    """Return the chunk sizes for which every row has floor(input_length / size) ids."""
    lengths, counts = rows.lengths(), rows.id_counts()
    return [size for size in sizes if (lengths // size == counts).all()]


def check_floor_counts(rows: Rows, chunk_tokens: int, path: Path) -> None:
    """Refuse rows that have more or fewer ids than full chunks.

    Raises:
        InputError: lists them.

    """
    lengths, counts = whole_numbers(rows.input_length), whole_numbers(rows.ids.counts)
    problems = Problems(path)
    for row in np.flatnonzero(lengths // chunk_tokens != counts).tolist():
        problems.add(
            rows.place(row),
            f"input_length = {rows.input_length[row]} has {rows.input_length[row] // chunk_tokens} full "
            f"chunks of {exactly(chunk_tokens, 'token')}, but {counts[row]} hash_ids",
        )
    problems.raise_any()


def give_ends_ids(rows: Rows, chunk_tokens: int) -> int:
    """Give every row whose last chunk has no id one of its own for it; return how many got one."""
    lengths, counts = whole_numbers(rows.input_length), whole_numbers(rows.ids.counts)
    ends = np.flatnonzero(-(-lengths // chunk_tokens) > counts)
    rows.ids.give_ends(ends)
    return len(ends)
