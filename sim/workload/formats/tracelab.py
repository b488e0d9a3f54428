"""TraceLab's rounds: a request a line with the counts of its provider, and the CSV that its replay reads.

Rows are those of `extract_claude_rounds.py` (uw-syfi/TraceLab, 0b8a262): a session's rounds with
`prefix_tokens`, which the provider's cache gave, and `timing_events`. `prefix_len` of the CSV is what a round
shares with the round before, prompt and answer.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.base.errors import InputError, escaped
from sim.base.reading import lines
from sim.base.words import exactly
from sim.workload.calls import Call
from sim.workload.chains import link
from sim.workload.findings import Findings
from sim.workload.formats.log import LogFormat
from sim.workload.formats.logged import BAD_LINES, US, files_of, objects, text, time_us, tokens, unique

COLUMNS = frozenset({"session_id", "round_idx", "prefix_len", "input_len", "output_len"})
"""Of its replay CSV."""
ARRIVAL = "arrival_time"
NUMBERS = (ARRIVAL, "round_idx", "prefix_len", "input_len", "output_len", "tool_wait_after_ms")
SENT = ("user_message", "tool_result")
"""Events that a request answers; all others are of its answer."""


def tells(record: Mapping[str, Any]) -> bool:
    """Whether an object is a round, or names the columns of a replay."""
    keys = record.keys()
    signs = (COLUMNS, {"round_index", "input_tokens_total"}, {"prefix_tokens", "newly_append_tokens"})
    return any(sign <= keys for sign in signs)


def calls(paths: Sequence[Path], findings: Findings) -> list[Call]:
    """Return the rounds of files, JSONL or CSV.

    Raises:
        InputError: a file cannot be read, or holds no round.

    """
    files = [file for path in paths for file in files_of(path, lambda each: ".jsonl" in each.suffixes)]
    if any(".csv" in file.suffixes for file in files):
        if len(files) > 1:
            raise InputError(
                f"{files[0]}: a replay's CSV is read alone, these are {exactly(len(files), 'file')}"
            )
        return _replay(files[0])
    return _rounds(files, findings)


def _rounds(files: Sequence[Path], findings: Findings) -> list[Call]:
    dropped: Counter[str] = Counter()
    found: dict[tuple[str, str], tuple[int, int, int, Call]] = {}
    for file in files:
        for line, record in objects(file, lambda: dropped.update([BAD_LINES])):
            call, created, index = _round(record, line)
            if call is None:
                dropped["rows without counts or times"] += 1
            elif (call.stream, call.name) in found:
                dropped["rows that repeat a round"] += 1
            else:
                found[call.stream, call.name] = (index, line, created, call)
    for what in sorted(dropped):
        findings.drop(what, dropped[what])
    if not found:
        raise InputError(f"{', '.join(map(str, files))}: holds no round with counts and times")
    ordered = sorted(found.values(), key=lambda each: (each[3].send_s, each[3].stream, each[0], each[1]))
    rounds = [call for *_, call in ordered]
    origin = min(call.send_s for call in rounds if call.send_s is not None)
    for call in rounds:
        call.send_s = round((call.send_s or 0) - origin, 6)
        call.end_s = None if call.end_s is None else round(call.end_s - origin, 6)
    link(rounds, findings, {n: each[2] for n, each in enumerate(ordered) if each[2] >= 0})
    unique(rounds)
    return rounds


def _round(record: Mapping[str, Any], line: int) -> tuple[Call | None, int, int]:
    """Return a round, what it wrote to the provider's cache (-1: not said), its place in the session."""
    prompt, output = tokens(record, "input_tokens_total"), tokens(record, "output_tokens")
    if prompt is None:
        parts = tokens(record, "prefix_tokens"), tokens(record, "newly_append_tokens")
        prompt = None if None in parts else sum(part or 0 for part in parts)
    events = record.get("timing_events")
    times = [
        (moment, text(event, "event_type") or "")
        for event in (events if isinstance(events, list) else ())
        if isinstance(event, dict) and (moment := time_us(event.get("timestamp"))) is not None
    ]
    if not prompt or output is None or not times:
        return None, -1, 0
    answered = [moment for moment, kind in times if kind not in SENT]
    # A result that came while the answer was still written is of the next round.
    first = min(answered, default=max(times)[0])
    sent = [(moment, kind) for moment, kind in times if kind in SENT and moment <= first]
    send = max((moment for moment, _ in sent), default=min(moment for moment, _ in times))
    created = tokens(record, "claude_cache_creation_input_tokens")
    index = tokens(record, "round_index") or 0
    call = Call(
        text(record, "session_id") or "session",
        text(record, "round_id") or f"round {index}",
        send / US,
        max([*answered, send]) / US,
        prompt,
        output,
        cached_tokens=tokens(record, "prefix_tokens"),
        model=text(record, "model"),
        line=line,
        by_tool=any(kind == "tool_result" for _, kind in sent) if sent else None,
    )
    return call, -1 if created is None else created, index


def _replay(file: Path) -> list[Call]:
    """Return the rounds of a replay's CSV: times of the first of a session, waits behind each."""
    found: list[Call] = []
    latest: dict[str, int] = {}
    wait_s: dict[str, float] = {}
    rows = [*_csv(file)]
    origin = min((_number(file, line, row, ARRIVAL) for line, row in rows if ARRIVAL in row), default=0)
    for line, row in rows:
        session = escaped(row["session_id"])
        numbers = {key: _number(file, line, row, key) for key in NUMBERS if key in row}
        before = found[latest[session]] if session in latest else None
        prefix, prompt = numbers["prefix_len"], numbers["prefix_len"] + numbers["input_len"]
        if prompt < 1:
            raise InputError(f"{file}, line {line}: prefix_len + input_len = 0: must be from 1")
        call = Call(
            session,
            f"{session}/{numbers['round_idx']}",
            (numbers.get(ARRIVAL, 0) - origin) / 1000 if before is None else None,
            None,
            prompt,
            numbers["output_len"],
            delay_s=wait_s.get(session),
            line=line,
        )
        if before is not None:
            call.parent = latest[session]
            call.kept_tokens = min(prefix, before.prompt_tokens)
            call.answer_tokens = min(max(prefix - before.prompt_tokens, 0), before.output_tokens)
        wait_s[session] = numbers.get("tool_wait_after_ms", 0) / 1000
        latest[session] = len(found)
        found.append(call)
    if not found:
        raise InputError(f"{file}: holds no round")
    unique(found)
    return found


def _csv(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV by the names of its columns."""
    columns: list[str] = []
    for number, line in lines(file):
        text_of = line.decode("utf-8-sig", "replace").replace("\0", "").strip()
        try:
            fields = next(csv.reader([text_of]), [])
        except csv.Error as error:
            raise InputError(f"{file}, line {number}: is no CSV: {error}") from error
        if not fields:
            continue
        if not columns:
            columns = [field.strip() for field in fields]
            if not {*columns} >= COLUMNS or len({*columns}) < len(columns):
                raise InputError(f"{file}, line {number}: must have the columns {', '.join(sorted(COLUMNS))}")
            continue
        if len(fields) != len(columns):
            raise InputError(f"{file}, line {number}: has {len(fields)} fields, must have {len(columns)}")
        yield number, dict(zip(columns, map(str.strip, fields), strict=True))


def _number(file: Path, line: int, row: Mapping[str, str], key: str) -> int:
    found = tokens(row, key)
    if found is None:
        raise InputError(f"{file}, line {line}: {key} = {row[key][:40]!r}: must be a whole number from 0")
    return found


FORMAT = LogFormat("tracelab", tells, calls)
