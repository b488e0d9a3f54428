"""Finds the records of one request in the files of a run, over the ids that the formats share.

The client sends request `row` of its input under the id `<prefix><row>`, header `x-request-id`. The router's
log has that id beside its own; the request trace has the router's; the engine's usage has both. The lists of
the bench and the rows of the trace are in the order of the input.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sim.base.words import exactly
from sim.measured.formats.bench import Bench, BenchRequest
from sim.measured.formats.request_trace import TracedRequest
from sim.measured.formats.router_log import LoggedRequest
from sim.measured.formats.usage import Usage
from sim.measured.request import Clock, MeasuredRequest
from sim.workload.request import Request, Trace

_CLIENT_ID = re.compile(r"(?P<prefix>.*?)(?P<row>\d+)")


@dataclass(slots=True)
class Sources:
    """What was read of one run."""

    bench: Bench | None = None
    trace: Trace | None = None
    logged: Sequence[LoggedRequest] = ()
    traced: Sequence[TracedRequest] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """By the client's id."""


def join(sources: Sources, notes: list[str]) -> tuple[MeasuredRequest, ...]:
    """Return the requests in the order of the client's input; without its result, as the router had them.

    What could not be joined is added to the notes.
    """
    benched = (sources.bench and sources.bench.requests) or ()
    logged = _numbered(sources.logged, notes)
    traced = {request.request_id: request for request in sources.traced}
    usage = dict(_by_row(sources.usage))
    rows: Iterable[int] = range(len(benched)) if benched else sorted(logged)
    sides = [_Sides(row, benched[row] if benched else None, logged.get(row), usage.get(row)) for row in rows]
    for side in sides:
        side.traced = traced.get(side.request_id or "")
    if not sides:
        in_order = sorted(sources.traced, key=lambda request: request.received_s)
        sides = [_Sides(row, None, None, None, request) for row, request in enumerate(in_order)]
    _add_trace(sides, sources.trace, notes)
    clock = _clock(sides)
    _note_missing(sides, sources, notes)
    return tuple(
        MeasuredRequest(side.row, clock, side.bench, side.trace, side.logged, side.traced, side.usage)
        for side in sides
    )


@dataclass(slots=True)
class _Sides:
    """The records of one request so far."""

    row: int
    bench: BenchRequest | None
    logged: LoggedRequest | None
    usage: Usage | None
    traced: TracedRequest | None = None
    trace: Request | None = None

    @property
    def request_id(self) -> str | None:
        known = self.logged or self.usage
        return known.request_id if known else None

    @property
    def received_s(self) -> float | None:
        known = self.logged or self.traced
        return known.received_s if known else None


def _by_row(usage: Mapping[str, Usage]) -> Iterable[tuple[int, Usage]]:
    """Yield (row, usage) where the client's id ends in a row."""
    for client_id, found in usage.items():
        if match := _CLIENT_ID.fullmatch(client_id):
            yield int(match["row"]), found


def _numbered(logged: Sequence[LoggedRequest], notes: list[str]) -> dict[int, LoggedRequest]:
    """Return logged requests by row. A log may hold other clients' requests: warm-ups, an earlier run."""
    matches = [(_CLIENT_ID.fullmatch(request.client_id or ""), request) for request in logged]
    prefixes = Counter(match["prefix"] for match, _ in matches if match)
    if not prefixes:
        if logged:
            notes.append("the router's log has no client's ids; its requests are taken in order of receipt")
        return dict(enumerate(sorted(logged, key=lambda request: request.received_s or 0.0)))
    # Of clients that sent as many the last one, whose ids the counter met last.
    prefix = max(reversed(prefixes), key=prefixes.__getitem__)
    found = {int(match["row"]): request for match, request in matches if match and match["prefix"] == prefix}
    if len(found) < len(logged):
        notes.append(
            "requests of the router's log left out, not the last of their number under this client's ids "
            f"{prefix}0, {prefix}1, ...: {len(logged) - len(found)}"
        )
    return found


def _add_trace(sides: Sequence[_Sides], trace: Trace | None, notes: list[str]) -> None:
    """Give each request its row of the trace, if the lengths of all prompts agree."""
    if trace is None:
        return
    rows = trace.requests
    for side in sides:
        known = side.bench or side.logged
        length = known.prompt_tokens if known else None
        if side.row >= len(rows) or length not in (None, 0, rows[side.row].prompt_tokens):
            has = f"{rows[side.row].prompt_tokens} tokens" if side.row < len(rows) else "no such row"
            notes.append(
                f"the trace is not joined: request {side.row} was sent with {length} prompt tokens, the "
                f"trace has {has}; its rows must be those that the client sent, in order of time"
            )
            return
    for side in sides:
        side.trace = rows[side.row]


def _clock(sides: Sequence[_Sides]) -> Clock:
    starts = [side.bench.start_s for side in sides if side.bench]
    bench_s = min(starts, default=None)
    received = [
        side.received_s - (side.bench.start_s - bench_s if side.bench and bench_s is not None else 0.0)
        for side in sides
        if side.received_s is not None
    ]
    return Clock(bench_s, min(received, default=None))


def _note_missing(sides: Sequence[_Sides], sources: Sources, notes: list[str]) -> None:
    """Say how many requests a file that is there does not have."""
    counts = {
        "the router's log": (sources.logged, sum(side.logged is not None for side in sides)),
        "the request trace": (sources.traced, sum(side.traced is not None for side in sides)),
        "the engine's usage": (sources.usage, sum(side.usage is not None for side in sides)),
    }
    for what, (records, n_found) in counts.items():
        if records and n_found < len(sides):
            notes.append(f"{what} was found for {n_found} of {exactly(len(sides), 'request')}")
