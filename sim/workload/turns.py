"""The rows of a file as sessions of turns, and as requests in the order of their timestamps."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from operator import itemgetter
from pathlib import Path

from sim.errors import InputError
from sim.workload.formats.lines import Problems
from sim.workload.formats.row import Row
from sim.workload.request import Request

Sessions = Mapping[str, Sequence[Row]]
"""The turns of every session in file order; sessions in order of first appearance."""


def sessions_of(rows: Sequence[Row], notes: list[str]) -> Sessions:
    """Group rows by session; a row that names none is a session of its own."""
    sessions: dict[str, list[Row]] = {}
    for row in rows:
        sessions.setdefault(f"line {row.line}" if row.session is None else row.session, []).append(row)
    n_single = sum(row.session is None for row in rows)
    if n_single:
        notes.append(f"rows without a session, each taken as one of its own: {n_single}")
    return sessions


def first_sessions(sessions: Sessions, n: int | None, path: Path) -> Sessions:
    """Return the first `n` sessions, all of them for None.

    Raises:
        InputError: there are fewer.

    """
    if n is not None and n > len(sessions):
        raise InputError(f"{path}: sessions = {n}, but the file holds {len(sessions)}")
    return dict(islice(sessions.items(), n))


def check_time_order(sessions: Sessions, path: Path) -> None:
    """Refuse a session whose first row has no timestamp, or whose turns go back in time.

    Raises:
        InputError: lists the rows.

    """
    problems = Problems(path)
    for name, turns in sessions.items():
        before = turns[0]
        if before.timestamp is None:
            problems.add(before.line, "timestamp is missing: the first row of a session needs one")
        for row in turns[1:]:
            if row.timestamp is None:
                continue
            if before.timestamp is not None and row.timestamp < before.timestamp:
                problems.add(
                    row.line,
                    f"timestamp = {row.timestamp} of session {name} lies before {before.timestamp} in line "
                    f"{before.line}: the rows of a session are its turns in order",
                )
            before = row
    problems.raise_any()


def signs_of_deltas(sessions: Sessions) -> str | None:
    """Return what speaks for rows that hold only what each turn adds, None where nothing does.

    Delta formats (AIPerf's, Dynamo's mooncake-delta) use the same keys for the new part of a prompt. A full
    prompt starts as the one before it did; where most later turns do not, the rows look like deltas.
    """
    pairs = [pair for turns in sessions.values() for pair in pairwise(turns)]
    n_fresh = sum(before.hash_ids[0] != row.hash_ids[0] for before, row in pairs)
    if 2 * n_fresh <= len(pairs):
        return None
    return f"{n_fresh} of {len(pairs)} later turns start with another hash id than the turn before"


def in_order(sessions: Sessions, units_per_s: float, notes: list[str]) -> tuple[Request, ...]:
    """Return the requests sorted by timestamp, stably, the first at 0.

    A row without a timestamp is placed at the earliest moment it could leave: its delay after the turn before
    it. An output of 0 tokens becomes 1, the least that an engine generates.
    """
    placed = sorted(_placed(sessions), key=itemgetter(1))
    _note_defaults(sessions, notes)
    if any(after[0] < before[0] for before, after in pairwise(placed)):
        notes.append("rows sorted by timestamp, stably (vLLM's own client sends in file order)")
        placed.sort(key=itemgetter(0))
    origin = placed[0][0]
    if origin:
        notes.append(f"timestamps re-based: the first, {origin}, became 0")
    return tuple(
        Request(
            index=index,
            session=name,
            turn=turn,
            timestamp_s=None if row.timestamp is None else (row.timestamp - origin) / units_per_s,
            delay_s=None if row.delay is None or turn == 0 else row.delay / units_per_s,
            prompt_tokens=row.input_length,
            output_tokens=max(row.output_length, 1),
            chunks=row.hash_ids,
        )
        for index, (_, _, turn, name, row) in enumerate(placed)
    )


def _placed(sessions: Sessions) -> Iterator[tuple[float, int, int, str, Row]]:
    """Yield (moment in the file's unit, line, turn, session, row); turns never go back in time."""
    for name, turns in sessions.items():
        moment = -math.inf
        for turn, row in enumerate(turns):
            earliest = moment + (row.delay or 0)
            moment = max(moment, earliest if row.timestamp is None else row.timestamp)
            yield moment, row.line, turn, name, row


def _note_defaults(sessions: Sessions, notes: list[str]) -> None:
    n_zero = sum(row.output_length == 0 for turns in sessions.values() for row in turns)
    n_no_delay = sum(row.delay is None for turns in sessions.values() for row in turns[1:])
    if n_zero:
        notes.append(f"rows with output_length 0, taken as 1: {n_zero}")
    if n_no_delay:
        notes.append(
            "later turns without a delay, which leave at their timestamp in a turn-dependent replay, or when "
            f"the turn before is answered if that is later: {n_no_delay}"
        )
