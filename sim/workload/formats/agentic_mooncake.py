"""Dynamo 1.5.0's `agentic_mooncake`: Mooncake's rows, of which some wait for several others.

Every row has a `request_id`. One with `wait_for` leaves `delay` + `tool_wait_ms` milliseconds after the last
of those ended, of whatever session; others at their `timestamp`. `branches`, `prefix_reset`, `tool_events`
and `request_kind` say only what happened.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isnan
from typing import Any

from sim.base.errors import InputError, shown
from sim.base.lines import Problems
from sim.workload.findings import Findings
from sim.workload.formats import mooncake
from sim.workload.formats.records import RecordFormat
from sim.workload.formats.row import RowReader
from sim.workload.formats.values import name_of, time
from sim.workload.row import Row
from sim.workload.rows import NO_ROW, Rows

NAME = "agentic_mooncake"
TOLD_BY = frozenset({"wait_for", "branches", "prefix_reset", "tool_wait_ms", "tool_events"})
MOST_WAITS = 10_000

_ROWS = replace(
    mooncake.FORMAT,
    name=NAME,
    keys={
        **mooncake.FORMAT.keys,
        # Known, so that they are not said to be left out.
        "rest": ("wait_for", "branches", "prefix_reset", "tool_wait_ms", "tool_events", "request_kind"),
    },
)


class AgenticReader(RowReader):
    """Reads such rows; who waits for whom is known at the end."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(_ROWS, findings)
        self._waits: dict[str, tuple[int, tuple[str, ...], int]] = {}
        """By request id: its line, whom it waits for, and the number of its row."""
        self._sessions: dict[str, str | None] = {}
        """Of each request."""

    def rows(self, record: Mapping[str, Any], line: int) -> Iterable[Row]:
        """Yield the row of an object; raises InputError."""
        row = self.row(record, line)
        name = row.request_id
        if name is None:
            raise InputError("request_id is missing: every row of agentic_mooncake has one")
        tool_ms = record.get("tool_wait_ms")
        if tool_ms is not None:
            row = row._replace(delay=(row.delay or 0) + time("tool_wait_ms", tool_ms, 0))
        waits = _names(record.get("wait_for"))
        _, before, _ = self._waits.get(name, (line, waits, NO_ROW))
        if before != waits:
            raise InputError(f'request_id = "{name}" is that of an earlier line, which waits for others')
        head = next((self._sessions[each] for each in waits if each in self._sessions), None)
        yield row._replace(belongs_to=head)
        self._sessions.setdefault(name, row.session)
        self._waits.setdefault(name, (line, waits, self.number))

    def finish(self, rows: Rows, problems: Problems) -> None:
        """Let rows wait for each other; for those that are not kept, nobody does."""
        super().finish(rows, problems)
        orphans: list[int] = []
        for line, waits, number in self._waits.values():
            found = [self._waits.get(each) for each in waits]
            for each, other in zip(waits, found, strict=True):
                if other is None:
                    problems.add(line, f"wait_for holds {shown(each)}: no row has this request_id")
            kept = tuple([other[2] for other in found if other is not None and other[2] != NO_ROW])
            if number != NO_ROW and kept:
                rows.wait(number, kept)
            elif number != NO_ROW and waits and rows.before[number] == NO_ROW:
                orphans.append(number)
        self._start(rows, [each for each in orphans if isnan(rows.timestamp[each])])

    def _start(self, rows: Rows, orphans: list[int]) -> None:
        """Let rows that waited for none that is kept leave with the first of all others."""
        start = min((each for each in rows.timestamp if not isnan(each)), default=0.0)
        for number in orphans:
            rows.timestamp[number] = start
        self.findings.fix("rows that waited for sessions that are not taken, sent at the start", len(orphans))


def _names(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if type(value) is not list or len(value) > MOST_WAITS:
        raise InputError(f"wait_for = {shown(value)}: must be a list of at most {MOST_WAITS:,} request_ids")
    return tuple(dict.fromkeys(name_of("wait_for", each) for each in value))


FORMAT = RecordFormat(
    name=NAME,
    tells=lambda record: bool(TOLD_BY & record.keys()) and "input_length" in record,
    reader=AgenticReader,
    units_per_s=1000.0,
)
