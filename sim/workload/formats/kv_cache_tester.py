"""Sessions of kv-cache-tester (Weka) and AgentX, an object each: one a line, or a file of its own.

Times are seconds from the start of the session, of which whole ones are recorded mostly. `hash_ids` are of
full blocks alone, and mean something only within the session, unless `hash_id_scope` is "global"; `hash_runs`
has the same as pairs of a first id and a number. A request has `api_time`, its recorded service. Sub-agents
are entries with requests of their own: streams that fork from the parent's answer before them, and join its
next request if they were "completed".

Times in a sub-agent count from its start in kv-cache-tester and from that of the session in AgentX, which is
told by the numbers. In kv-cache-tester `t` of a completed one is its *end*: `t` - `duration_ms` lies within
1.1 s behind a parent's answer for 57 of the 59 of the 710 public files, and `t` behind none.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from sim.base.errors import InputError, shown
from sim.base.lines import Problems
from sim.workload.findings import Findings
from sim.workload.formats.reader import Reader
from sim.workload.formats.records import RecordFormat
from sim.workload.formats.values import LARGEST_ID, LARGEST_TIME, Ids, length, name_of, time, whole
from sim.workload.hash_ids import from_runs
from sim.workload.recorded import Recorded
from sim.workload.row import Row
from sim.workload.rows import NO_ROW, Rows

LATE_S = 1.1
"""By which a sub-agent's times, of a clock with fractions, may seem to lie before its parent's whole ones."""
CLOCK_DIGITS = 6
SCOPE_BIT = 40
"""Ids of a session differ from equal ones of another above this bit."""
DEEPEST = 20
"""Sub-agents of sub-agents."""
MOST_IDS = 10_000_000
"""Of one prompt."""
MOST_REQUESTS = 1_000_000
"""Of one session."""


@dataclass(slots=True, eq=False)
class _Call:
    """A request of a stream, its times from the start of the session."""

    record: Mapping[str, Any]
    key: str
    """Where it stands, for messages."""
    sent: float
    ended: float
    service: float | None
    number: int = NO_ROW
    """Of its row."""
    waits: list["_Call"] = field(default_factory=list)
    joins: bool = False
    """Whether it waits for others than the turn before alone."""


@dataclass(slots=True)
class _Stream:
    name: str
    calls: list[_Call]


class SessionReader(Reader):
    """Reads such sessions."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._ids = Ids()
        self._n = 0
        """Sessions so far."""
        self._seen: set[int] = set()
        """Of the lengths of each session."""
        self._waits: list[tuple[int, tuple[int, ...]]] = []
        self._n_agents = {"relative": 0, "absolute": 0}
        self._n_repeats = 0
        self._n_early = 0
        self._n_empty = 0
        self._n_unknown = 0
        self._n_unsorted = 0
        self._names: dict[str, int] = {}

    def rows(self, record: Mapping[str, Any], line: int) -> Iterator[Row]:
        """Yield the requests of a session, stream by stream; raises InputError."""
        block = length("block_size", record.get("block_size"), 1)
        if self.chunk_tokens is None:
            self.chunk_tokens = block
        if block != self.chunk_tokens:
            raise InputError(f"block_size = {block}: earlier sessions have {self.chunk_tokens}")
        scope = record.get("hash_id_scope", "local")
        if scope not in ("local", "global"):
            raise InputError(f'hash_id_scope = {shown(scope)}: must be "local" or "global"')
        mask = self._n << SCOPE_BIT if scope == "local" else 0
        self._n += 1
        streams = self._streams(self._name(record), record, "", 0.0)
        for stream in streams:
            for call in stream.calls:
                row = self._row(stream.name, call, mask, line)
                yield row if stream is streams[0] else row._replace(belongs_to=streams[0].name)
                call.number = self.number
        self._count_repeat(streams)
        for call in (call for stream in streams for call in stream.calls):
            numbers = tuple([each.number for each in call.waits if each.number != NO_ROW])
            if call.joins and numbers and call.number != NO_ROW:
                self._waits.append((call.number, numbers))

    def finish(self, rows: Rows, problems: Problems) -> None:
        """Let requests wait for sub-agents, and these for what started them."""
        for number, numbers in self._waits:
            rows.wait(number, numbers)
        notes = self.findings.notes
        if self._n > 1:
            notes.append("sessions have no common clock: all start at 0")
        for clock, n in self._n_agents.items():
            if n:
                whose = "its own start" if clock == "relative" else "the start of the session"
                notes.append(f"sub-agents, streams of their own, with times from {whose}: {n}")
        if self._n_repeats:
            notes.append(
                f"sessions with the lengths of an earlier one, request by request: {self._n_repeats}"
            )
        if self._n_unknown:
            notes.append(
                f"requests without api_time, whose service is part of the think time after: {self._n_unknown}"
            )
        self.findings.drop("requests of sessions dropped, as they have no prompt", self._n_empty)
        self.findings.fix("requests of a session put in the order of their times", self._n_unsorted)
        self.findings.fix(
            "requests sent before the answer that they wait for, taken as sent at it", self._n_early
        )

    def _name(self, record: Mapping[str, Any]) -> str:
        """Return a name that no session had before."""
        name = name_of("id", record["id"]) if record.get("id") is not None else f"session {self._n}"
        n = self._names[name] = self._names.get(name, 0) + 1
        return name if n == 1 else f"{name} ({n})"

    def _count_repeat(self, streams: Sequence[_Stream]) -> None:
        lengths = hash(tuple((call.record["in"], call.record.get("out")) for call in streams[0].calls))
        self._n_repeats += lengths in self._seen
        self._seen.add(lengths)

    def _streams(
        self, name: str, record: Mapping[str, Any], key: str, clock: float, depth: int = 0
    ) -> list[_Stream]:
        """Return a session or sub-agent, and the sub-agents in it; its times count from `clock`."""
        entries = record.get("requests")
        if type(entries) is not list or len(entries) > MOST_REQUESTS:
            raise InputError(f"{key}requests = {shown(entries)}: must be a list of requests")
        own, agents = _Stream(name, []), []
        for place, entry in enumerate(entries):
            where = f"{key}requests[{place}]."
            if not isinstance(entry, Mapping):
                raise InputError(f"{where[:-1]} = {shown(entry)}: must be a JSON object")
            if entry.get("type") == "subagent" or ("requests" in entry and "in" not in entry):
                agents.append((where, entry))
            elif (call := self._call(entry, where, clock)) is not None:
                own.calls.append(call)
        times = [call.sent for call in own.calls]
        self._n_unsorted += sum(after < before for before, after in pairwise(times))
        own.calls.sort(key=lambda call: call.sent)
        for before, call in pairwise(own.calls):
            call.waits.append(before)
        found = [own]
        for number, (where, entry) in enumerate(agents, start=1):
            if depth == DEEPEST:
                raise InputError(f"{where[:-1]}: sub-agents are nested more than {DEEPEST} deep")
            agent = name_of(f"{where}agent_id", entry["agent_id"]) if entry.get("agent_id") else str(number)
            start, is_relative = _start(entry, where, clock, own.calls)
            self._n_agents["relative" if is_relative else "absolute"] += 1
            inner = self._streams(f"{name}/{agent}", entry, where, start if is_relative else clock, depth + 1)
            _join(own.calls, inner[0].calls, is_awaited=entry.get("status") != "async_launched")
            found += inner
        return found

    def _call(self, entry: Mapping[str, Any], key: str, clock: float) -> _Call | None:
        if entry.get("in") == 0:
            self._n_empty += 1
            return None
        sent = clock + _time(f"{key}t", entry.get("t"))
        service = entry.get("api_time")
        self._n_unknown += service is None
        if service is not None:
            service = time(f"{key}api_time", service, 0)
        return _Call(entry, key, sent, sent + (service or 0.0), service)

    def _row(self, stream: str, call: _Call, mask: int, line: int) -> Row:
        entry, key = call.record, call.key
        think = call.sent - max(each.ended for each in call.waits) if call.waits else None
        if think is not None and think < 0:
            think = 0.0
            self._n_early += 1
        ttft, model = entry.get("ttft"), entry.get("model")
        return Row(
            line,
            stream,
            None,
            call.sent,
            None if think is None else round(think, CLOCK_DIGITS),
            length(f"{key}in", entry.get("in"), 1),
            length(f"{key}out", entry.get("out"), 0),
            self._hash_ids(entry, key, mask),
            model=None if model is None else name_of(f"{key}model", model),
            recorded=Recorded(call.service, None if ttft is None else time(f"{key}ttft", ttft, 0)),
        )

    def _hash_ids(self, entry: Mapping[str, Any], key: str, mask: int) -> "array[int]":
        if (runs := entry.get("hash_runs")) is not None:
            ids = from_runs(_runs(f"{key}hash_runs", runs))
        else:
            ids = self._ids.read(f"{key}hash_ids", entry.get("hash_ids"), empty=True)
        if mask == 0 or not ids:
            return ids
        return array("Q", (np.frombuffer(ids, np.uint64) ^ np.uint64(mask)).tobytes())


def _start(entry: Mapping[str, Any], key: str, clock: float, parents: Sequence[_Call]) -> tuple[float, bool]:
    """Return when a sub-agent began, and whether the times in it count from there."""
    at = clock + _time(f"{key}t", entry.get("t"))
    duration = entry.get("duration_ms")
    starts = [at] if duration is None else [at, at - time(f"{key}duration_ms", duration, 0) / 1e3]
    ends = [call.ended for call in parents] or [clock]
    start = min(starts, key=lambda each: min(abs(each - end) for end in ends))
    inner = entry.get("requests")
    nested = inner[0] if type(inner) is list and inner and isinstance(inner[0], Mapping) else {}
    first = _time(f"{key}requests[0].t", nested["t"]) if nested.get("t") is not None else 0.0
    if first > 0 and clock + first >= min(starts) - LATE_S:
        return clock + first, False
    return start, True


def _join(parents: Sequence[_Call], calls: Sequence[_Call], *, is_awaited: bool) -> None:
    """Let a sub-agent wait for the answer that started it, and the next request of its parent for it."""
    if not calls:
        return
    started = [
        call for call in parents if call.sent <= calls[0].sent and call.ended <= calls[0].sent + LATE_S
    ]
    if started:
        calls[0].waits.append(started[-1])
        calls[0].joins = True
    end = max(call.ended for call in calls)
    after = next((call for call in parents if call.sent >= end - LATE_S), None) if is_awaited else None
    if after is not None and after not in started:
        after.waits.append(max(calls, key=lambda call: call.ended))
        after.joins = True


def _time(key: str, value: Any) -> float:
    if value is None:
        raise InputError(f"{key} is missing")
    return time(key, value, -LARGEST_TIME)


def _runs(key: str, value: Any) -> list[tuple[int, int]]:
    """Return pairs of a first id and a number, as they must be."""
    found = []
    n = 0
    for each in value if type(value) is list else [value]:
        if type(each) is not list or [*map(type, each)] != [int, int] or not 0 <= each[0] <= LARGEST_ID:
            raise InputError(f"{key} holds {shown(each)}: must be [first id, number of ids]")
        n += whole(f"{key}, number of ids", each[1], 1, MOST_IDS)
        found.append((each[0], each[1]))
    if n > MOST_IDS:
        raise InputError(f"{key}: has {n:,} ids, and no prompt has more than {MOST_IDS:,}")
    return found


FORMAT = RecordFormat(
    name="kv-cache-tester",
    tells=lambda record: type(record.get("requests")) is list and "block_size" in record,
    reader=SessionReader,
    units_per_s=1.0,
    ends="floor",
    answers="returned",
)
