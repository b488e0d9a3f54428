"""A trace file to a `Trace`: read, checked, put in order; what was guessed or changed is said."""

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from sim.errors import InputError
from sim.workload.chunk_size import check_id_counts, find_chunk_tokens
from sim.workload.formats import FormatName, choose
from sim.workload.formats.lines import Problems, json_object, lines
from sim.workload.formats.row import Row, RowFormat, RowReader
from sim.workload.request import Trace
from sim.workload.turns import check_time_order, first_sessions, in_order, sessions_of, signs_of_deltas

SAMPLE_ROWS = 100


def load_trace(
    path: Path,
    *,
    format: FormatName = "auto",
    chunk_tokens: int | None = None,
    sessions: int | None = None,
    sec_multiplier: float | None = None,
) -> Trace:
    """Read a trace file, plain or gzipped.

    `chunk_tokens` is found from the id counts where it is not given; `sessions` takes the first that many;
    `sec_multiplier` is the unit of a `timed_trace` timestamp in seconds. What was changed or guessed is in
    the trace's notes.

    Raises:
        InputError: the file cannot be read or used; names file, line, key, value and what is allowed.

    """
    for name, number in (
        ("chunk_tokens", chunk_tokens),
        ("sessions", sessions),
        ("sec_multiplier", sec_multiplier),
    ):
        if number is not None and not 0 < number < math.inf:
            raise InputError(f"{name} = {number}: must be a finite number above 0")
    notes: list[str] = []
    row_format = choose(format, sec_multiplier, islice(_readable(path), SAMPLE_ROWS))
    if format == "auto":
        notes.append(f"read as {row_format.name}: timestamps in units of {1 / row_format.units_per_s:g} s")
    rows = _without_duplicates(_read_rows(path, row_format, notes), path, notes)
    if chunk_tokens is None:
        chunk_tokens = find_chunk_tokens(rows, path)
        notes.append(f"one hash id stands for {chunk_tokens} tokens, which fits every row")
    rows, n_cut = check_id_counts(rows, chunk_tokens, path)
    if n_cut:
        notes.append(f"rows with more hash_ids than their input_length needs, the rest left out: {n_cut}")
    turns = sessions_of(rows, notes)
    check_time_order(turns, path)
    if signs := signs_of_deltas(turns):
        if format == "auto":
            raise InputError(
                f"{path}: {signs}, as in a delta trace, whose rows hold only what a turn adds; every row "
                f'must hold its full prompt. If it does, set format = "{row_format.name}"'
            )
        notes.append(f"{signs}; taken as full prompts, since the format was stated")
    requests = in_order(first_sessions(turns, sessions, path), row_format.units_per_s, notes)
    return Trace(requests, chunk_tokens, path.name, tuple(notes))


def _readable(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records that can be read; `_read_rows` says what is wrong with the others."""
    for _, line in lines(path):
        try:
            yield json_object(line)
        except InputError:
            continue


def _read_rows(path: Path, row_format: RowFormat, notes: list[str]) -> list[Row]:
    rows: list[Row] = []
    reader = RowReader(row_format)
    n_blank, problems = 0, Problems(path)
    for number, line in lines(path):
        if line.isspace():
            n_blank += 1
            continue
        try:
            rows.append(reader.row(json_object(line), number))
        except InputError as error:
            problems.add(number, error)
    problems.raise_any()
    if not rows:
        raise InputError(f"{path}: holds no row: a trace needs at least one JSON object a line")
    if n_blank:
        notes.append(f"blank lines skipped: {n_blank}")
    if reader.unknown_keys:
        notes.append(f"keys without a meaning here, left out: {', '.join(sorted(reader.unknown_keys))}")
    return rows


def _without_duplicates(rows: list[Row], path: Path, notes: list[str]) -> list[Row]:
    """Drop rows that repeat an earlier one, `request_id` and all."""
    if all(row.request_id is None for row in rows):
        return rows
    kept: list[Row] = []
    by_id: dict[str, Row] = {}
    problems = Problems(path)
    for row in rows:
        first = row if row.request_id is None else by_id.setdefault(row.request_id, row)
        if first is row:
            kept.append(row)
        elif row[1:] != first[1:]:
            problems.add(
                row.line, f'request_id = "{row.request_id}" is that of line {first.line}, with other content'
            )
    problems.raise_any()
    if len(kept) < len(rows):
        notes.append(f"rows dropped that repeat an earlier one, request_id and all: {len(rows) - len(kept)}")
    return kept
