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
from sim.workload.rows import Rows
from sim.workload.turns import check_time_order, in_order, signs_of_deltas

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
    rows = _read_rows(path, row_format, notes)
    if chunk_tokens is None:
        chunk_tokens = find_chunk_tokens(rows, path)
        notes.append(f"one hash id stands for {chunk_tokens} tokens, which fits every row")
    n_cut = check_id_counts(rows, chunk_tokens, path)
    if n_cut:
        notes.append(f"rows with more hash_ids than their input_length needs, the rest left out: {n_cut}")
    if rows.n_unnamed:
        notes.append(f"rows without a session, each taken as one of its own: {rows.n_unnamed}")
    check_time_order(rows, path)
    if signs := signs_of_deltas(rows):
        if format == "auto":
            raise InputError(
                f"{path}: {signs}, as in a delta trace, whose rows hold only what a turn adds; every row "
                f'must hold its full prompt. If it does, set format = "{row_format.name}"'
            )
        notes.append(f"{signs}; taken as full prompts, since the format was stated")
    if sessions is not None and sessions > rows.n_sessions:
        raise InputError(
            f"{path}: sessions = {sessions}, but the file holds {rows.n_sessions}; without sessions "
            "(--set workload.sessions=none) all are taken"
        )
    if sessions is not None and sessions < rows.n_sessions:
        notes.append(f"sessions taken, the first of {rows.n_sessions:,} in the file: {sessions:,}")
    requests = in_order(rows, sessions or rows.n_sessions, row_format.units_per_s, notes)
    return Trace(requests, chunk_tokens, path.name, tuple(notes))


def _readable(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records that can be read; `_read_rows` says what is wrong with the others."""
    for _, line in lines(path):
        try:
            yield json_object(line)
        except InputError:
            continue


def _read_rows(path: Path, row_format: RowFormat, notes: list[str]) -> Rows:
    rows, reader = Rows(), RowReader(row_format)
    repeats = _Repeats(rows)
    n_blank, problems = 0, Problems(path)
    for number, line in lines(path):
        if line.isspace():
            n_blank += 1
            continue
        try:
            row = reader.row(json_object(line), number)
            if not repeats.has(row):
                rows.append(row)
        except InputError as error:
            problems.add(number, error)
    problems.raise_any()
    if not rows:
        raise InputError(f"{path}: holds no row: a trace needs at least one JSON object a line")
    if n_blank:
        notes.append(f"blank lines skipped: {n_blank}")
    if reader.unknown_keys:
        notes.append(f"keys without a meaning here, left out: {', '.join(sorted(reader.unknown_keys))}")
    if repeats.n_found:
        notes.append(f"rows dropped that repeat an earlier one, request_id and all: {repeats.n_found}")
    return rows


class _Repeats:
    """Finds rows that repeat an earlier one, `request_id` and all."""

    def __init__(self, rows: Rows) -> None:
        self.n_found = 0
        self._rows = rows
        self._first: dict[str, int] = {}
        """The row that had a `request_id` first."""

    def has(self, row: Row) -> bool:
        """Return whether a row, which is the next one if it does not, repeats an earlier one.

        Raises:
            InputError: an earlier one has its `request_id`, with other content.

        """
        if row.request_id is None:
            return False
        new = len(self._rows)
        first = self._first.setdefault(row.request_id, new)
        if first == new:
            return False
        if not self._rows.holds(first, row):
            line = self._rows.line[first]
            raise InputError(f'request_id = "{row.request_id}" is that of line {line}, with other content')
        self.n_found += 1
        return True
