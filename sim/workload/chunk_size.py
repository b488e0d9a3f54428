"""How many tokens one hash id stands for: found from the file, or checked against it."""

import math
from collections.abc import Sequence
from pathlib import Path

from sim.errors import InputError
from sim.workload.formats.lines import Problems
from sim.workload.formats.row import Row

CANDIDATES: tuple[int, ...] = tuple(2**power for power in range(3, 13))
"""Chunk sizes to choose from where a file leaves several; 16, 64 and 512 are in public use."""


def find_chunk_tokens(rows: Sequence[Row], path: Path) -> int:
    """Return the chunk size for which every row has ceil(input_length / chunk_tokens) ids.

    A row of L tokens and n ids fits the sizes from L / n to (L - 1) / (n - 1). Where all rows together leave
    several, it is the only candidate among them.

    Raises:
        InputError: no size fits every row, or it is not clear which one is meant.

    """
    low, high = max(rows, key=_least), min(rows, key=_most)
    least, most = _least(low), _most(high)
    if least > most:
        raise InputError(
            f"{path}: no chunk size fits every row: {_described(low)} needs at least {least} tokens an id, "
            f"{_described(high)} at most {most:g}; set chunk_tokens to have every row checked against it"
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


def check_id_counts(rows: Sequence[Row], chunk_tokens: int, path: Path) -> tuple[list[Row], int]:
    """Return the rows with ids for exactly their tokens, and how many had ids beyond; those are cut off.

    Raises:
        InputError: a row has fewer ids than its tokens need; its prompt is never shortened to fit.

    """
    fitted, n_cut, problems = [], 0, Problems(path)
    for row in rows:
        needed, given = -(-row.input_length // chunk_tokens), len(row.hash_ids)
        if given < needed:
            problems.add(
                row.line,
                f"input_length = {row.input_length} needs {needed} hash_ids of {chunk_tokens} tokens "
                f"(the last may stand for fewer), but there are {given}",
            )
        elif given > needed:
            n_cut += 1
            fitted.append(row._replace(hash_ids=row.hash_ids[:needed]))
        else:
            fitted.append(row)
    problems.raise_any()
    return fitted, n_cut


def _least(row: Row) -> int:
    return -(-row.input_length // len(row.hash_ids))


def _most(row: Row) -> float:
    return (row.input_length - 1) // (len(row.hash_ids) - 1) if len(row.hash_ids) > 1 else math.inf


def _described(row: Row) -> str:
    return f"line {row.line} (input_length = {row.input_length}, {len(row.hash_ids)} hash_ids)"
