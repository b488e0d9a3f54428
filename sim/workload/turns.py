"""The rows of a file as turns of sessions, and as requests in the order of their timestamps."""

from array import array
from math import isnan
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim.base.bounds import LONGEST_S
from sim.base.lines import Problems
from sim.workload.formats.row import RowFormat
from sim.workload.rows import NO_ROW, RowRequests, Rows, times, whole_numbers


def check_time_order(rows: Rows, row_format: RowFormat, path: Path) -> None:
    """Refuse a session whose first row has no timestamp, or whose turns go back in time.

    Raises:
        InputError: lists the rows.

    """
    problems, key = Problems(path), row_format.key("timestamp")
    first = whole_numbers(rows.before) == NO_ROW
    for row in np.flatnonzero(np.isnan(times(rows.timestamp)) == first).tolist():
        before = rows.before[row]
        if before == NO_ROW:
            problems.add(rows.line[row], f"{key} is missing: the first row of a session needs one")
        while before != NO_ROW and isnan(rows.timestamp[before]):
            before = rows.before[before]
        if before != NO_ROW and rows.timestamp[row] < rows.timestamp[before]:
            problems.add(
                rows.line[row],
                f"{key} = {shown(rows.timestamp[row])} of session {rows.session_name(row)} lies before "
                f"{shown(rows.timestamp[before])} in line {rows.line[before]}: "
                "the rows of a session are its turns in order",
            )
    problems.raise_any()


def check_times(rows: Rows, row_format: RowFormat, path: Path) -> None:
    """Refuse times at which clocks lose their precision: more than `LONGEST_S` after the first request.

    Raises:
        InputError: lists the rows.

    """
    units_per_s, key = row_format.units_per_s, row_format.key
    longest = LONGEST_S * units_per_s
    timestamps, delays = times(rows.timestamp), np.nan_to_num(times(rows.delay))
    first = float(np.nanmin(timestamps))
    problems = Problems(path)
    for row in np.flatnonzero(timestamps - first > longest).tolist():
        problems.add(
            rows.line[row],
            f"{key('timestamp')} = {shown(rows.timestamp[row])} is more than {LONGEST_S:g} s after the "
            f"first, {shown(first)}; is its unit {1 / units_per_s:g} s?",
        )
    session = whole_numbers(rows.session)
    waited = np.bincount(session, delays, minlength=rows.n_sessions)
    for row in np.flatnonzero((waited > longest)[session] & (delays > 0)).tolist():
        problems.add(
            rows.line[row],
            f"{key('delay')} = {shown(rows.delay[row])}: the delays of session {rows.session_name(row)} are "
            f"more than {LONGEST_S:g} s together; is their unit {1 / units_per_s:g} s?",
        )
    problems.raise_any()


def signs_of_deltas(rows: Rows) -> str | None:
    """Return what speaks for rows that hold only what each turn adds, None where nothing does.

    Delta formats (AIPerf's, Dynamo's mooncake-delta) use the same keys for the new part of a prompt. A full
    prompt starts as the one before it did; where most later turns do not, the rows look like deltas.
    """
    before = whole_numbers(rows.before)
    later = np.flatnonzero(before != NO_ROW)
    first_ids = rows.ids.firsts()
    n_fresh = int((first_ids[before[later]] != first_ids[later]).sum())
    if 2 * n_fresh <= len(later):
        return None
    return f"{n_fresh} of {len(later)} later turns start with another hash id than the turn before"


def in_order(rows: Rows, sessions: int, units_per_s: float, notes: list[str]) -> RowRequests:
    """Return the requests of the first so many sessions, sorted by timestamp, stably, the first at 0.

    A row without a timestamp is placed at the earliest moment it could leave: its delay after the turn before
    it. An output of 0 tokens becomes 1, the least that an engine generates.
    """
    order = np.flatnonzero(whole_numbers(rows.session) < sessions)
    _note_defaults(rows, order, notes)
    moments = times(_moments(rows))[order]
    if (np.diff(moments) < 0).any():
        notes.append("rows sorted by timestamp, stably (vLLM's own client sends in file order)")
        order = order[np.argsort(moments, kind="stable")]
    origin = float(moments.min())
    if origin:
        notes.append(f"timestamps re-based: the first, {shown(origin)}, became 0")
    return RowRequests(rows, array("q", order.astype(np.int64).tobytes()), origin, units_per_s)


def shown(time: float) -> str:
    """Return a time as a file has it: most have whole numbers."""
    return str(int(time) if time.is_integer() else time)


def _moments(rows: Rows) -> "array[float]":
    """Return when each row leaves at the earliest, in the file's unit; turns never go back in time."""
    moments = rows.timestamp[:]
    for row in np.flatnonzero(whole_numbers(rows.turn)).tolist():
        moment, delay = moments[rows.before[row]], rows.delay[row]
        if not isnan(moments[row]):
            moments[row] = max(moment, moments[row])
        else:
            moments[row] = moment if isnan(delay) else moment + delay
    return moments


def _note_defaults(rows: Rows, chosen: NDArray[np.intp], notes: list[str]) -> None:
    n_zero = int((whole_numbers(rows.output_length)[chosen] == 0).sum())
    later = whole_numbers(rows.turn)[chosen] > 0
    n_no_delay = int((later & np.isnan(times(rows.delay)[chosen])).sum())
    if n_zero:
        notes.append(f"rows with output_length 0, taken as 1: {n_zero}")
    if n_no_delay:
        notes.append(
            "later turns without a delay, which leave at their timestamp in a turn-dependent replay, or when "
            f"the turn before is answered if that is later: {n_no_delay}"
        )
