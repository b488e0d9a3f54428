"""Dynamo's own trace of requests, `dynamo.request.trace.v1`; `dynamo.agent.trace.v1` in older releases.

An event a line, plain or gzipped, in one file or several. Those that are read are `request_end`, in order of
their ends: when a request was received, its tokens, the hashes of its prompt's blocks (64 bits, each of the
whole prefix, one for the partial end too), who served it, and what the router took to be cached. Sessions
name their parents; who waited for whom is inferred from times. Prompts of agents hold earlier answers.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sim.base.errors import InputError, shown
from sim.base.lines import Problems
from sim.workload.findings import Findings
from sim.workload.formats.reader import Reader
from sim.workload.formats.records import RecordFormat
from sim.workload.formats.values import LARGEST_TIME, Ids, length, name_of, time, whole
from sim.workload.recorded import Recorded
from sim.workload.row import Row
from sim.workload.rows import Rows
from sim.workload.spans import Join, Span, joins, link

SCHEMAS = ("dynamo.request.trace.v1", "dynamo.agent.trace.v1")
LARGEST_COUNT = 2**64 - 1
TOOLS = ("tool_start", "tool_end", "tool_error")


class RequestTraceReader(Reader):
    """Reads such events; rows are made when all are there, in the order in which they were received."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._ids = Ids()
        self._rows: list[Row] = []
        self._joins: list[Join] = []
        self._numbers: list[int] = []
        self._spans: list[Span] = []
        """When each was received and had ended, and what it belongs to."""
        self._n_tools = 0
        self._n_others = 0
        self._n_repeats = 0
        self._first: dict[str | None, Row] = {}
        """By request id."""
        self._parents: dict[str, str] = {}

    def rows(self, record: Mapping[str, Any], line: int) -> Iterable[Row]:
        """Keep the request that an event says has ended."""
        event = _table(record.get("event", record), "event")
        schema, kind = event.get("schema"), event.get("event_type")
        if schema not in SCHEMAS:
            raise InputError(f"event.schema = {shown(schema)}: must be {' or '.join(SCHEMAS)}")
        if kind != "request_end":
            self._n_tools += kind in TOOLS
            self._n_others += kind not in TOOLS
            return ()
        if event.get("request") is None:
            raise InputError("event.request is missing")
        request = _table(event["request"], "event.request")
        session, parent = _sessions(event)
        if self._rows and (self._rows[0].session is None) != (session is None):
            raise InputError("event.agent_context: all requests of a trace have one, or none has")
        if parent is not None and session is not None:
            self._parents.setdefault(session, parent)
        self._add(request, event, session, line)
        return ()

    def _add(
        self, request: Mapping[str, Any], event: Mapping[str, Any], session: str | None, line: int
    ) -> None:
        replay = request.get("replay")
        if replay is None:
            raise InputError(
                "event.request.replay is missing: without hashes no reuse of prefixes can be simulated; "
                "record with a release and settings that write them"
            )
        replay = _table(replay, "event.request.replay")
        key = "event.request.replay."
        block = length(f"{key}trace_block_size", replay.get("trace_block_size"), 1)
        if self.chunk_tokens is None:
            self.chunk_tokens = block
        if block != self.chunk_tokens:
            raise InputError(f"{key}trace_block_size = {block}: earlier requests have {self.chunk_tokens}")
        received = _needed("event.request.request_received_ms", request.get("request_received_ms"))
        ended = _ended(request, event, received)
        prompt = replay.get("input_length", request.get("input_tokens"))
        ttft, model = request.get("ttft_ms"), request.get("model")
        worker = _table(request.get("worker") or {}, "event.request.worker")
        row = Row(
            line,
            session,
            name_of("event.request.request_id", request.get("request_id")),
            received,
            None,
            length(f"{key}input_length", prompt, 1),
            length("event.request.output_tokens", request.get("output_tokens"), 0),
            self._ids.read(f"{key}input_sequence_hashes", replay.get("input_sequence_hashes")),
            model=None if model is None else name_of("event.request.model", model),
            recorded=Recorded(
                (ended - received) / 1e3,
                None if ttft is None else time("event.request.ttft_ms", ttft, 0) / 1e3,
                _count("event.request.cached_tokens", request.get("cached_tokens")),
                _count("event.request.queue_depth", request.get("queue_depth")),
                _count("event.request.worker.prefill_worker_id", worker.get("prefill_worker_id")),
                _count("event.request.worker.decode_worker_id", worker.get("decode_worker_id")),
            ),
            file=self.file,
        )
        self._keep(row, Span(session, received, ended))

    def _keep(self, row: Row, span: Span) -> None:
        """Keep a request, unless it is there already."""
        first = self._first.setdefault(row.request_id, row)
        if first is not row:
            if first._replace(line=row.line, file=row.file) != row:
                where = "" if first.file == row.file else " of another file"
                raise InputError(
                    f'event.request.request_id = "{row.request_id}" is that of line {first.line}{where}, '
                    "with other content"
                )
            self._n_repeats += 1
            return
        self._rows.append(row)
        self._spans.append(span)

    def rest(self) -> Iterable[Row]:
        """Yield the requests as they were received, and remember where they are kept."""
        order = sorted(range(len(self._rows)), key=lambda number: self._spans[number].start)
        self._joins = joins([self._spans[number] for number in order], self._parents)
        for number, join in zip(order, self._joins, strict=True):
            session = self._spans[number].session or ""
            head = self._parents.get(session) if join.stream == session else session or None
            yield self._rows[number]._replace(session=join.stream, delay=join.think, belongs_to=head)
            self._numbers.append(self.number)
        self._rows.clear()
        self._first.clear()

    def finish(self, rows: Rows, problems: Problems) -> None:
        """Say who waited for whom, as far as times tell."""
        link(rows, self._joins, self._numbers)
        if self._n_tools:
            self.findings.notes.append(
                f"tool events, whose times are part of the think times: {self._n_tools}"
            )
        self.findings.drop("rows dropped that repeat an earlier one, request_id and all", self._n_repeats)
        self.findings.drop("events that are neither requests nor tools", self._n_others)


def _ended(request: Mapping[str, Any], event: Mapping[str, Any], received: float) -> float:
    total = request.get("total_time_ms")
    if total is not None:
        return received + time("event.request.total_time_ms", total, 0)
    ended = _needed("event.event_time_unix_ms", event.get("event_time_unix_ms"))
    if ended < received:
        raise InputError(
            f"event.event_time_unix_ms = {ended:f}: lies before request_received_ms = {received:f}"
        )
    return ended


def _sessions(event: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the session of an event and its parent; trajectories in older files."""
    context = event.get("agent_context")
    if context is None:
        return None, None
    found = []
    context = _table(context, "event.agent_context")
    for prefix in ("", "parent_"):
        key = next((key for key in (f"{prefix}session_id", f"{prefix}trajectory_id") if key in context), None)
        value = None if key is None else context[key]
        found.append(None if value is None else name_of(f"event.agent_context.{key}", value))
    return found[0], found[1]


def _table(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{key} = {shown(value)}: must be a JSON object")
    return value


def _needed(key: str, value: Any) -> float:
    if value is None:
        raise InputError(f"{key} is missing")
    return time(key, value, -LARGEST_TIME)


def _count(key: str, value: Any) -> int | None:
    return None if value is None else whole(key, value, 0, LARGEST_COUNT)


def _tells(record: Mapping[str, Any]) -> bool:
    event = record.get("event", record)
    return isinstance(event, Mapping) and event.get("schema") in SCHEMAS


FORMAT = RecordFormat(
    name="dynamo",
    tells=_tells,
    reader=RequestTraceReader,
    units_per_s=1000.0,
    answers="returned",
)
