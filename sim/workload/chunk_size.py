"""How many tokens one hash id stands for: found from the file, or checked against it."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim.base.errors import InputError
from sim.base.lines import Problems
from sim.base.words import exactly
from sim.workload.formats.values import LARGEST_LENGTH
from sim.workload.rows import Rows, whole_numbers

CANDIDATES: tuple[int, ...] = tuple(2**power for power in range(3, 13))
"""Chunk sizes to choose from where a file leaves several; 16, 64 and 512 are in public use."""


def find_chunk_tokens(rows: Rows, path: Path) -> int:
    """Return the chunk size for which every row has ceil(input_length / chunk_tokens) ids.

    A row of L tokens and n ids fits the sizes from L / n to (L - 1) / (n - 1). Where all rows together leave
    several, it is the only candidate among them.

    Raises:
        InputError: no size fits every row, or it is not clear which one is meant.

    """
    at_least, at_most = _bounds(rows)
    low, high = int(at_least.argmax()), int(at_most.argmin())
    least, most = int(at_least[low]), float(at_most[high])
    if least > most:
        raise InputError(
            f"{path}: no chunk size fits every row: {_described(rows, low)} needs at least "
            f"{exactly(least, 'token')} an "
            f"id, {_described(rows, high)} at most {most:g}; set chunk_tokens to have every row checked "
            "against it"
        )
    fitting = [size for size in CANDIDATES if least <= size <= most]
    if least == most:
        return least
    if len(fitting) != 1:
        numbers = f"from {least} " + ("up" if most == math.inf else f"to {most:g}")
        raise InputError(
            f"{path}: how many tokens one hash id stands for is not clear: the id counts fit every number "
            f"{numbers}; set chunk_tokens"
        )
    return fitting[0]


def ceil_bounds(rows: Rows) -> tuple[int, float]:
    """Return the least and the greatest size that rows leave; the first is larger where none fits."""
    at_least, at_most = _bounds(rows)
    return int(at_least.max()), float(at_most.min())


def _bounds(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    lengths, counts = rows.lengths(), rows.id_counts()
    at_least = np.where(counts > 0, -(-lengths // np.maximum(counts, 1)), np.iinfo(np.int64).max)
    at_most = np.where(counts > 1, (lengths - 1) // np.maximum(counts - 1, 1), np.inf)
    return at_least, at_most


def check_id_counts(rows: Rows, chunk_tokens: int, path: Path) -> int:
    """Leave every row ids for exactly its tokens; return how many had ids beyond, which are cut off.

    Raises:
        InputError: a row has fewer ids than its tokens need; its prompt is never shortened to fit.

    """
    size = min(chunk_tokens, LARGEST_LENGTH)
    needed, given = -(-whole_numbers(rows.input_length) // size), whole_numbers(rows.ids.counts).copy()
    problems = Problems(path)
    for row in np.flatnonzero(given < needed).tolist():
        problems.add(
            rows.place(row),
            f"input_length = {rows.input_length[row]} needs {needed[row]} hash_ids of "
            f"{exactly(chunk_tokens, 'token')} "
            f"(the last may stand for fewer), but there are {given[row]}",
        )
    problems.raise_any()
    long = np.flatnonzero(given > needed).tolist()
    for row in long:
        rows.ids.cut(row, int(needed[row]))
    return len(long)


def _described(rows: Rows, row: int) -> str:
    length, count = rows.lengths()[row], rows.id_counts()[row]
    return f"line {rows.place(row)} (input_length = {length}, {count} hash_ids)"
