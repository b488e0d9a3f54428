"""What hash ids stand for: one size for all rows, and ids for exactly their tokens."""

from collections.abc import Sequence
from math import gcd
from pathlib import Path

import numpy as np

from sim.base.errors import InputError
from sim.base.lines import Problems
from sim.base.words import exactly
from sim.workload.chunk_size import CANDIDATES, ceil_bounds, check_id_counts, find_chunk_tokens
from sim.workload.findings import Findings
from sim.workload.finer import FinerIds
from sim.workload.floor_hashes import check_floor_counts, find_floor_chunk_tokens, floor_sizes, give_ends_ids
from sim.workload.hash_ids import HashIds
from sim.workload.request import Ends
from sim.workload.rows import Rows, whole_numbers


def settle_chunks(
    rows: Rows, path: Path, chunk_tokens: int | None, rounding: Ends | None, findings: Findings
) -> int:
    """Return how many tokens a hash id stands for; leave every row ids for exactly its tokens.

    Raises:
        InputError: no size fits every row, it is not clear which one is meant, or rows do not fit it.

    """
    if chunk_tokens is None and len(rows.block_size):
        chunk_tokens = _of_rows(rows, path, findings)
    if rounding is None and (floor := _is_floor(rows, path, chunk_tokens)) is not None:
        findings.notes.append(
            f"every row has floor(input_length / {floor}) hash_ids, as kv-cache-tester writes them: "
            'read as hash_rounding = "floor"'
        )
        rounding = "floor"
    if rounding == "ceil" or rounding is None:
        _refuse_empty(rows, path)
    if chunk_tokens is None:
        chunk_tokens = (find_floor_chunk_tokens if rounding == "floor" else _find)(rows, path)
        findings.notes.append(
            f"one hash id stands for {exactly(chunk_tokens, 'token')}, which fits every row"
        )
    if rounding == "never":
        _check_all_but_last(rows, chunk_tokens, path)
        give_ends_ids(rows, chunk_tokens)
    elif rounding == "floor":
        check_floor_counts(rows, chunk_tokens, path)
        n_ends = give_ends_ids(rows, chunk_tokens)
        findings.notes.append(
            f"rows that end in a part of a chunk without a hash id, never found again: {n_ends}"
        )
    else:
        findings.fix(
            "rows with more hash_ids than their input_length needs, the rest left out",
            _checked(rows, chunk_tokens, path),
        )
    return chunk_tokens


def _is_floor(rows: Rows, path: Path, chunk_tokens: int | None) -> int | None:
    """Return the one size at which every row has ids for its full chunks alone, if no other reading fits."""
    sizes = floor_sizes(rows, CANDIDATES if chunk_tokens is None else [chunk_tokens])
    if len(sizes) != 1:
        return None
    [size] = sizes
    if chunk_tokens is not None:
        return None if (-(-rows.lengths() // size) <= rows.id_counts()).all() else size
    least, most = ceil_bounds(rows)
    if least > most:
        return size
    return size if least == most and least not in CANDIDATES else None


def _find(rows: Rows, path: Path) -> int:
    try:
        return find_chunk_tokens(rows, path)
    except InputError as error:
        raise _with_way_out(error, rows, CANDIDATES) from error


def _checked(rows: Rows, chunk_tokens: int, path: Path) -> int:
    try:
        return check_id_counts(rows, chunk_tokens, path)
    except InputError as error:
        raise _with_way_out(error, rows, [chunk_tokens]) from error


def _with_way_out(error: InputError, rows: Rows, sizes: Sequence[int]) -> InputError:
    fitting = floor_sizes(rows, sizes)
    if not fitting:
        return error
    return InputError(
        f"{error}\n  Every row has floor(input_length / {fitting[-1]}) hash_ids, as kv-cache-tester writes "
        f'them: set chunk_tokens = {fitting[-1]} and hash_rounding = "floor"'
    )


def _refuse_empty(rows: Rows, path: Path) -> None:
    problems = Problems(path)
    for row in np.flatnonzero(whole_numbers(rows.ids.counts) == 0).tolist():
        problems.add(
            rows.place(row),
            "hash_ids = []: must be a list of whole numbers, one for every chunk (none is for prompts below "
            'one chunk with hash_rounding = "floor")',
        )
    problems.raise_any()


def _check_all_but_last(rows: Rows, chunk_tokens: int, path: Path) -> None:
    lengths, counts = whole_numbers(rows.input_length), whole_numbers(rows.ids.counts)
    problems = Problems(path)
    for row in np.flatnonzero(-(-lengths // chunk_tokens) - 1 != counts).tolist():
        problems.add(
            rows.place(row),
            f"input_length = {lengths[row]} needs {-(-lengths[row] // chunk_tokens)} hash_ids of "
            f"{exactly(chunk_tokens, 'token')}, but there are {counts[row] + 1}",
        )
    problems.raise_any()


def _of_rows(rows: Rows, path: Path, findings: Findings) -> int:
    """Return the size that rows say themselves; else the largest that divides all of them.

    Raises:
        InputError: some rows say none, or have other numbers of ids.

    """
    sizes = [int(rows.block_size.get(row)) for row in range(len(rows))]
    problems = Problems(path)
    for row, size in enumerate(sizes):
        needed = -(-rows.input_length[row] // size) if size else 0
        if size == 0:
            problems.add(rows.place(row), "block_size is missing: other rows have one")
        elif needed != rows.ids.counts[row] and len(set(sizes)) > 1:
            problems.add(
                rows.place(row),
                f"input_length = {rows.input_length[row]} needs {needed} hash_ids of "
                f"{exactly(size, 'token')}, but "
                f"there are {rows.ids.counts[row]}",
            )
    problems.raise_any()
    if len(set(sizes)) == 1:
        return sizes[0]
    grain = gcd(*sizes)
    finer, ids = FinerIds(grain), HashIds()
    for row, size in enumerate(sizes):
        ids.append(finer.of(rows.hash_ids(row), size, rows.input_length[row]))
    rows.ids = ids
    findings.notes.append(
        f"hash ids of rows stand for {', '.join(map(str, sorted(set(sizes))))} tokens: known by {grain}, and "
        "ids of different sizes are different blocks"
    )
    return grain
