"""Trace files to a `Trace`: read, checked, put in order; what was guessed or changed is said."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sim.base.errors import InputError
from sim.workload.chunks import settle_chunks
from sim.workload.deltas import settle_deltas
from sim.workload.findings import Findings
from sim.workload.formats import Format, FormatName, choose, is_row, told
from sim.workload.formats.foreign import ForeignFormat
from sim.workload.formats.log import LogFormat
from sim.workload.formats.records import RecordFormat
from sim.workload.formats.row import RowFormat, RowReader
from sim.workload.formats.sniff import records, shards_beside
from sim.workload.lowering import CHUNK_TOKENS, BreakPrefix, Identity, rows_of
from sim.workload.reading import read_rows
from sim.workload.request import Ends, Rounding, Trace
from sim.workload.rows import Rows
from sim.workload.sources import Source, found
from sim.workload.turns import check_time_order, check_times, in_order
from sim.workload.waits import check_waits

DELTAS = "mooncake-delta"


@dataclass(frozen=True, slots=True)
class _Asked:
    """How a trace is to be read."""

    format: FormatName
    full_prompts: bool
    hash_rounding: Rounding | None
    chunk_tokens: int | None
    sessions: int | None
    sec_multiplier: float | None
    identity: Identity
    break_prefix: BreakPrefix | None


def load_trace(
    path: Path | Sequence[Path],
    *,
    format: FormatName = "auto",
    full_prompts: bool = False,
    hash_rounding: Rounding | None = None,
    chunk_tokens: int | None = None,
    sessions: int | None = None,
    sec_multiplier: float | None = None,
    identity: Identity = "append",
    break_prefix: BreakPrefix | None = None,
) -> Trace:
    """Read a trace: a file, plain or gzipped, several, a folder, a pattern of names, or "-" (standard input).

    What was changed or guessed is in the trace's notes.

    Args:
        path: where it lies.
        format: a name in `FORMATS`, or "auto": as its content tells.
        full_prompts: says that rows hold full prompts although most turns begin otherwise than the last.
        hash_rounding: whether the end of a prompt has an id; found from the id counts if absent.
        chunk_tokens: tokens that an id stands for; found from the id counts if absent.
        sessions: takes the first that many with their sub-agents, and keeps no others.
        sec_multiplier: the unit of a `timed_trace` timestamp in seconds.
        identity: what prompts of a log share.
        break_prefix: what breaks the prefixes of a log.

    Raises:
        InputError: a file cannot be read or used; names file, line, key, value and what is allowed.

    """
    for name, number in (
        ("chunk_tokens", chunk_tokens),
        ("sessions", sessions),
        ("sec_multiplier", sec_multiplier),
    ):
        if number is not None and not 0 < number < math.inf:
            raise InputError(f"{name} = {number}: must be a finite number above 0")
    asked = _Asked(
        format, full_prompts, hash_rounding, chunk_tokens, sessions, sec_multiplier, identity, break_prefix
    )
    source = found(path, format)
    chosen = _format(source, asked)
    if isinstance(chosen, LogFormat):
        return _log(chosen, source, asked)
    return _rows(chosen, source, asked)


def _format(source: Source, asked: _Asked) -> Format:
    path = source.files[0]
    sample = [*records(path, told)]
    try:
        chosen = choose(asked.format, asked.sec_multiplier, sample)
    except ForeignFormat as error:
        raise InputError(f"{path}, {error}") from error
    if asked.format == "auto":
        return chosen
    for line, record in sample:
        own = told(record)
        if own is not None and own.name != chosen.name and not is_row(record):
            raise InputError(
                f'{path}, line {line}: is of format {own.name}, not {chosen.name}: set format = "{own.name}"'
            )
    return chosen


def _log(log: LogFormat, source: Source, asked: _Asked) -> Trace:
    """Return the trace of a log: its calls as rows."""
    findings = Findings()
    chunk_tokens = CHUNK_TOKENS if asked.chunk_tokens is None else asked.chunk_tokens
    calls = log.calls([*source.files], findings)
    findings.notes[:0] = [f"read as {log.name}", *source.notes]
    rows = rows_of(calls, chunk_tokens, asked.identity, asked.break_prefix)
    if not rows:
        raise InputError(f"{source.path}: holds no request")
    return _trace(rows, log, source, asked, findings, chunk_tokens=chunk_tokens)


def _rows(chosen: RowFormat | RecordFormat, source: Source, asked: _Asked) -> Trace:
    """Return the trace of rows with hash ids."""
    findings = Findings()
    if asked.format == "auto":
        unit = f"timestamps in units of {1 / chosen.units_per_s:g} s"
        findings.notes.append(f"read as {chosen.name}: {unit}")
    findings.notes += source.notes
    if len(source.files) == 1 and (others := shards_beside(source.files[0])):
        findings.notes.append(f"files of such a name beside it, which are not read: {others:,}")
    rows = Rows(asked.sessions)
    if isinstance(chosen, RecordFormat):
        reader, own_ids = chosen.reader(findings), False
        rounding: Ends | None = chosen.ends
    else:
        rounding = asked.hash_rounding
        reader, own_ids = (
            RowReader(chosen, findings, may_be_empty=rounding != "ceil"),
            not source.is_one_trace,
        )
    read_rows(source, reader, rows, findings, own_ids=own_ids)
    if own_ids and len(source.files) > 1:
        findings.notes.append(
            "ids and sessions of each file are taken as its own: their names are not those of parts of one "
            "trace"
        )
    chunk_tokens = asked.chunk_tokens if asked.chunk_tokens is not None else reader.chunk_tokens
    chunk_tokens = settle_chunks(rows, source.path, chunk_tokens, rounding, findings)
    if rows.n_unnamed:
        findings.notes.append(f"rows without a session, each taken as one of its own: {rows.n_unnamed}")
    if isinstance(chosen, RowFormat):
        check_time_order(rows, chosen.key("timestamp"), source.path)
        check_times(rows, chosen.key("timestamp"), chosen.key("delay"), chosen.units_per_s, source.path)
        auto = asked.format == "auto"
        chunk_tokens, deltas = settle_deltas(
            rows,
            source.path,
            chunk_tokens,
            findings,
            deltas=chosen.deltas,
            full_prompts=asked.full_prompts,
            may_choose=auto,
        )
        if deltas and not chosen.deltas:
            chosen = replace(chosen, name=DELTAS)
    else:
        check_waits(rows, source.path)
        check_time_order(rows, "timestamp", source.path)
        check_times(rows, "timestamp", "delay", chosen.units_per_s, source.path)
    return _trace(rows, chosen, source, asked, findings, chunk_tokens=chunk_tokens)


def _trace(
    rows: Rows, chosen: Format, source: Source, asked: _Asked, findings: Findings, *, chunk_tokens: int
) -> Trace:
    sessions = asked.sessions
    if sessions is not None and sessions > rows.n_counted:
        raise InputError(
            f"{source.path}: sessions = {sessions}, but the file holds {rows.n_counted}; without sessions "
            "(--set workload.sessions=none) all are taken"
        )
    if sessions is not None and sessions < rows.n_counted:
        agents = ", with their sub-agents" if rows.n_counted < rows.n_sessions else ""
        findings.notes.append(
            f"sessions taken, the first of {rows.n_counted:,} in the file{agents}: {sessions:,}"
        )
    units_per_s = 1.0 if isinstance(chosen, LogFormat) else chosen.units_per_s
    requests = in_order(rows, sessions or rows.n_sessions, units_per_s, findings)
    return Trace(
        requests,
        chunk_tokens,
        source.name,
        tuple(findings.notes),
        lines=requests.lines,
        files=rows.files,
        file_of=requests.file_of,
        in_file=rows.in_file,
        answers="fresh" if isinstance(chosen, RowFormat) else chosen.answers,
        marks_answers=isinstance(chosen, LogFormat),
        format=chosen.name,
        recorded=requests.recorded,
        has_tags=requests.has_tags,
        dropped=dict(findings.dropped),
        fixed=dict(findings.fixed),
    )
