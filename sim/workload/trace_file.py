"""A trace file to a `Trace`: read, checked, put in order; what was guessed or changed is said."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from sim.base.errors import InputError, shown
from sim.base.lines import Problems
from sim.base.reading import json_object, lines
from sim.workload.calls import Call
from sim.workload.chunk_size import CANDIDATES, check_id_counts, find_chunk_tokens
from sim.workload.deltas import to_full_prompts
from sim.workload.findings import Findings
from sim.workload.floor_hashes import check_floor_counts, find_floor_chunk_tokens, floor_sizes, give_ends_ids
from sim.workload.formats import FormatName, choose
from sim.workload.formats.foreign import ForeignFormat
from sim.workload.formats.log import LogFormat
from sim.workload.formats.records import RecordFormat
from sim.workload.formats.row import RowFormat, RowReader
from sim.workload.formats.sniff import MOST_ROW_BYTES, records, shards_beside
from sim.workload.lowering import BreakPrefix, Identity, rows_of
from sim.workload.request import Trace
from sim.workload.row import Row
from sim.workload.rows import Rows
from sim.workload.turns import check_time_order, check_times, in_order, signs_of_deltas

LOG_CHUNK_TOKENS = 64
"""Of logs, which have no hash ids."""
MOST_BLANK = 1_000_000
MOST_NAMES, MOST_NAME = 20, 60
"""How many names of keys or models a note lists, and how many characters of each."""


def load_trace(
    path: Path,
    *,
    format: FormatName = "auto",
    full_prompts: bool = False,
    hash_rounding: Literal["ceil", "floor"] = "ceil",
    chunk_tokens: int | None = None,
    sessions: int | None = None,
    sec_multiplier: float | None = None,
    identity: Identity = "append",
    break_prefix: BreakPrefix | None = None,
) -> Trace:
    """Read a trace file, plain or gzipped.

    `chunk_tokens` is found from the id counts where it is not given; `sessions` takes the first that many;
    `sec_multiplier` is the unit of a `timed_trace` timestamp in seconds; `identity` and `break_prefix` say
    what prompts of a log share. What was changed or guessed is in the trace's notes.

    Raises:
        InputError: the file cannot be read or used; names file, line, key, value and what is allowed.

    """
    _check_numbers(chunk_tokens=chunk_tokens, sessions=sessions, sec_multiplier=sec_multiplier)
    notes: list[str] = []
    try:
        row_format = choose(format, sec_multiplier, [*records(path)])
    except ForeignFormat as error:
        raise InputError(f"{path}, {error}") from error
    if isinstance(row_format, LogFormat):
        lower = partial(rows_of, identity=identity, break_prefix=break_prefix)
        return _log(row_format, path, chunk_tokens, sessions, notes, lower=lower)
    if isinstance(row_format, RecordFormat):
        raise NotImplementedError
    if format == "auto":
        notes.append(f"read as {row_format.name}: timestamps in units of {1 / row_format.units_per_s:g} s")
    if others := shards_beside(path):
        notes.append(f"files of such a name beside it, which are not read: {others:,}")
    rows = _read_rows(path, row_format, notes, may_be_empty=hash_rounding == "floor")
    chunk_tokens = _chunks(rows, path, chunk_tokens, hash_rounding, notes)
    if rows.n_unnamed:
        notes.append(f"rows without a session, each taken as one of its own: {rows.n_unnamed}")
    check_time_order(rows, row_format, path)
    check_times(rows, row_format, path)
    if row_format.deltas:
        chunk_tokens = to_full_prompts(rows, chunk_tokens)
        notes.append(
            "each row holds what its turn adds: prompts are the prompt and the answer before and that, "
            f"known by {chunk_tokens} tokens"
        )
    elif signs := signs_of_deltas(rows):
        if not full_prompts:
            raise InputError(
                f"{path}: {signs}, as in a delta trace (AIPerf's mooncake_trace), whose rows hold only what "
                'a turn adds: set format = "mooncake-delta". If every row holds its full prompt, set '
                "full_prompts = true"
            )
        notes.append(f"{signs}; taken as full prompts, as the scenario says")
    if sessions is not None and sessions > rows.n_sessions:
        raise InputError(
            f"{path}: sessions = {sessions}, but the file holds {rows.n_sessions}; without sessions "
            "(--set workload.sessions=none) all are taken"
        )
    if sessions is not None and sessions < rows.n_sessions:
        notes.append(f"sessions taken, the first of {rows.n_sessions:,} in the file: {sessions:,}")
    requests = in_order(rows, sessions or rows.n_sessions, row_format.units_per_s, notes)
    return Trace(
        requests,
        chunk_tokens,
        path.name,
        tuple(notes),
        lines=requests.lines,
        in_file=len(rows),
        format=row_format.name,
        recorded=requests.recorded,
    )


def _check_numbers(**numbers: float | None) -> None:
    for name, number in numbers.items():
        if number is not None and not 0 < number < math.inf:
            raise InputError(f"{name} = {number}: must be a finite number above 0")


def _log(
    log: LogFormat,
    path: Path,
    chunk_tokens: int | None,
    sessions: int | None,
    notes: list[str],
    *,
    lower: Callable[[Sequence[Call], int], Rows],
) -> Trace:
    """Return the trace of a log: its calls as rows."""
    notes.append(f"read as {log.name}")
    chunk_tokens = LOG_CHUNK_TOKENS if chunk_tokens is None else chunk_tokens
    findings = Findings()
    rows = lower(log.calls([path], findings), chunk_tokens)
    notes += findings.notes
    requests = in_order(rows, sessions or rows.n_sessions, 1.0, notes)
    return Trace(
        requests,
        chunk_tokens,
        path.name,
        tuple(notes),
        lines=requests.lines,
        in_file=len(rows),
        answers=log.answers,
        dropped=findings.dropped,
        fixed=findings.fixed,
        format=log.name,
        recorded=requests.recorded,
    )


def _chunks(
    rows: Rows, path: Path, chunk_tokens: int | None, rounding: Literal["ceil", "floor"], notes: list[str]
) -> int:
    """Return how many tokens a hash id stands for; leave every row ids for exactly its tokens."""
    try:
        return _rounded_chunks(rows, path, chunk_tokens, rounding, notes)
    except InputError as error:
        sizes = floor_sizes(rows, CANDIDATES if chunk_tokens is None else [chunk_tokens])
        if rounding == "floor" or not sizes:
            raise
        raise InputError(
            f"{error}\n  Every row has floor(input_length / {sizes[-1]}) hash_ids, as kv-cache-tester writes "
            f'them: set chunk_tokens = {sizes[-1]} and hash_rounding = "floor"'
        ) from error


def _rounded_chunks(
    rows: Rows, path: Path, chunk_tokens: int | None, rounding: Literal["ceil", "floor"], notes: list[str]
) -> int:
    if chunk_tokens is None:
        find = find_chunk_tokens if rounding == "ceil" else find_floor_chunk_tokens
        chunk_tokens = find(rows, path)
        notes.append(f"one hash id stands for {chunk_tokens} tokens, which fits every row")
    if rounding == "floor":
        check_floor_counts(rows, chunk_tokens, path)
        n_ends = give_ends_ids(rows, chunk_tokens)
        notes.append(f"rows that end in a part of a chunk without a hash id, never found again: {n_ends}")
        return chunk_tokens
    n_cut = check_id_counts(rows, chunk_tokens, path)
    if n_cut:
        notes.append(f"rows with more hash_ids than their input_length needs, the rest left out: {n_cut}")
    return chunk_tokens


def _read_rows(path: Path, row_format: RowFormat, notes: list[str], *, may_be_empty: bool) -> Rows:
    rows, reader = Rows(), RowReader(row_format, may_be_empty=may_be_empty)
    repeats = _Repeats(rows)
    n_blank, problems = 0, Problems(path)
    for number, line in lines(path, MOST_ROW_BYTES):
        if line.isspace():
            n_blank += 1
            if n_blank > MOST_BLANK:
                raise InputError(
                    f"{path}, line {number}: {n_blank:,} lines are blank, and no trace has so many"
                )
            continue
        try:
            row = reader.row(json_object(line), number)
            if not repeats.has(row):
                rows.append(row)
        except ForeignFormat as error:
            raise InputError(f"{path}, line {number}: {error}") from error
        except InputError as error:
            problems.add(number, error)
    problems.raise_any()
    if not rows:
        raise InputError(f"{path}: holds no row: a trace needs at least one JSON object a line")
    if n_blank:
        notes.append(f"blank lines skipped: {n_blank}")
    if len(reader.models) > 1:
        found = [f"{_named(model)} ({n:,})" for model, n in reader.models.most_common()]
        notes.append(f"rows name {len(found)} models, all simulated as the scenario's: {_listed(found)}")
        reader.unknown_keys.discard("model")
    if reader.unknown_keys:
        keys = sorted(map(_named, reader.unknown_keys))
        notes.append(f"keys without a meaning here, left out: {_listed(keys)}")
    if repeats.n_found:
        notes.append(f"rows dropped that repeat an earlier one, request_id and all: {repeats.n_found}")
    return rows


def _named(name: str) -> str:
    """Return a name from a file as notes have it: plain if it is, else quoted and escaped."""
    return name if name.isprintable() and len(name) <= MOST_NAME else shown(name)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


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
