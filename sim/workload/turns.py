"""The rows of a file as turns of sessions, and as requests in the order of their timestamps."""

from array import array
from math import isnan
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim.base.bounds import LONGEST_S
from sim.base.lines import Problems
from sim.workload.findings import Findings
from sim.workload.row_requests import RowRequests
from sim.workload.rows import NO_ROW, Rows, times, whole_numbers
from sim.workload.waits import ranks_of_waits


def check_time_order(rows: Rows, key: str, path: Path) -> None:
    """Refuse a session whose first row has no timestamp, or whose turns go back in time.

    A row that waits for others needs none. `key` is what the file calls timestamps.

    Raises:
        InputError: lists the rows.

    """
    problems = Problems(path)
    first = whole_numbers(rows.before) == NO_ROW
    for row in np.flatnonzero(np.isnan(times(rows.timestamp)) == first).tolist():
        before = rows.before[row]
        if before == NO_ROW and not rows.waits_for(row):
            problems.add(rows.place(row), f"{key} is missing: the first row of a session needs one")
        while before != NO_ROW and isnan(rows.timestamp[before]):
            before = rows.before[before]
        if before != NO_ROW and rows.timestamp[row] < rows.timestamp[before]:
            problems.add(
                rows.place(row),
                f"{key} = {shown(rows.timestamp[row])} of session {rows.session_name(row)} lies before "
                f"{shown(rows.timestamp[before])} in {_line(rows, before)}: "
                "the rows of a session are its turns in order",
            )
    problems.raise_any()


def check_times(rows: Rows, timestamp_key: str, delay_key: str, units_per_s: float, path: Path) -> None:
    """Refuse times at which clocks lose their precision: more than `LONGEST_S` after the first request.

    Raises:
        InputError: lists the rows.

    """
    longest = LONGEST_S * units_per_s
    timestamps, delays = times(rows.timestamp), np.nan_to_num(times(rows.delay))
    first = float(np.nanmin(timestamps)) if not np.isnan(timestamps).all() else 0.0
    problems = Problems(path)
    for row in np.flatnonzero(timestamps - first > longest).tolist():
        problems.add(
            rows.place(row),
            f"{timestamp_key} = {shown(rows.timestamp[row])} is more than {LONGEST_S:g} s after the "
            f"first, {shown(first)}; is its unit {1 / units_per_s:g} s?",
        )
    session = whole_numbers(rows.session)
    waited = np.bincount(session, delays, minlength=rows.n_sessions)
    for row in np.flatnonzero((waited > longest)[session] & (delays > 0)).tolist():
        problems.add(
            rows.place(row),
            f"{delay_key} = {shown(rows.delay[row])}: the delays of session {rows.session_name(row)} are "
            f"more than {LONGEST_S:g} s together; is their unit {1 / units_per_s:g} s?",
        )
    problems.raise_any()


def in_order(rows: Rows, sessions: int, units_per_s: float, findings: Findings) -> RowRequests:
    """Return the requests of the first so many sessions and their sub-agents, by timestamp, the first at 0.

    The order is stable.
    A row without a timestamp is placed at the earliest moment it could leave: its delay after the turn before
    it. An output of 0 tokens becomes 1, the least that an engine generates.
    """
    order = rows.of_first(sessions)
    _note_defaults(rows, order, findings)
    ranks = ranks_of_waits(rows)
    moments = times(_moments(rows, ranks))[order]
    if (np.diff(moments) < 0).any() or ranks is not None:
        if (np.diff(moments) < 0).any():
            findings.notes.append("rows sorted by timestamp, stably (vLLM's own client sends in file order)")
        by = [moments] if ranks is None else [whole_numbers(ranks)[order], moments]
        order = order[np.lexsort(by)]
    origin = float(moments.min())
    if origin:
        findings.notes.append(f"timestamps re-based: the first, {shown(origin)}, became 0")
    return RowRequests(rows, array("q", order.astype(np.int64).tobytes()), origin, units_per_s)


def shown(time: float) -> str:
    """Return a time as a file has it: most have whole numbers."""
    return str(int(time) if time.is_integer() else time)


def _moments(rows: Rows, ranks: "array[int] | None") -> "array[float]":
    """Return when each row leaves at the earliest, in the file's unit; turns never go back in time.

    `ranks` put rows behind those that they wait for; None: each waits for the turn before alone.
    """
    moments = rows.timestamp[:]
    if ranks is None:
        waiting = np.flatnonzero(whole_numbers(rows.turn)).tolist()
    else:
        waiting = np.argsort(whole_numbers(ranks), kind="stable").tolist()
    for row in waiting:
        waits = rows.waits_for(row) or ((rows.before[row],) if rows.before[row] != NO_ROW else ())
        if not waits:
            continue
        moment, delay = max([moments[other] for other in waits]), rows.delay[row]
        if not isnan(moments[row]):
            moments[row] = max(moment, moments[row])
        else:
            moments[row] = moment if isnan(delay) else moment + delay
    return moments


def _line(rows: Rows, row: int) -> str:
    place = rows.place(row)
    return f"line {place}" if isinstance(place, int) else place


def _note_defaults(rows: Rows, chosen: NDArray[np.intp], findings: Findings) -> None:
    n_zero = int((whole_numbers(rows.output_length)[chosen] == 0).sum())
    later = whole_numbers(rows.turn)[chosen] > 0
    n_no_delay = int((later & np.isnan(times(rows.delay)[chosen])).sum())
    findings.fix("rows with output_length 0, taken as 1", n_zero)
    if n_no_delay:
        findings.notes.append(
            "later turns without a delay, which leave at their timestamp in a turn-dependent replay, or when "
            f"the turn before is answered if that is later: {n_no_delay}"
        )
