"""Rows to responses: one request has a row for every block of its answer, and copies in other files."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sim.workload.findings import Findings
from sim.workload.formats.claude_code.entries import Entry, Reply, ToolUse
from sim.workload.formats.claude_code.streams import Stream
from sim.workload.formats.claude_code.usage import Usage

Why = Literal[
    "first", "after a boundary", "intact", "expired", "other stream", "fork", "broken", "compaction"
]
"""How what a prompt shares with the one before it is known."""


@dataclass(slots=True, eq=False)
class Response:
    """A request and its answer; a compaction, which has no rows, is one too."""

    name: str
    stream: Stream
    place: int
    """Of its first row in the stream."""
    rows: list[Entry]
    """Those of its stream."""
    uuids: frozenset[str]
    """Of all rows, copies too."""
    usage: Usage | None
    """The best of the counts that its rows have; None for a compaction."""
    prompt_tokens: int
    output_tokens: int
    cached_after: int
    """How much of the prompt is in the provider's cache once it has run."""
    is_complete: bool = True
    """Whether a row says why it ended: its output is what was counted in the end."""
    model: str | None = None
    version: str | None = None
    tools: Sequence[ToolUse] = ()
    miss: str | None = None
    """Why the provider did not find the prefix, if it says so."""
    send_us: int = 0
    end_us: int = 0
    by_tool: bool | None = None
    """Whether results of tools were what it was sent for; None: not known what was."""
    results: list[str] = field(default_factory=list)
    """Tools whose results came since the response before."""
    ended: list[str] = field(default_factory=list)
    """Tools in the background that were said to have ended since then."""
    predecessor: "Response | None" = None
    """Whose prompt comes before in the conversation."""
    why: Why = "first"
    kept_tokens: int = 0
    waits_for: "list[Response]" = field(default_factory=list)
    """Of other streams, whose answers had to be there."""


class _Row(NamedTuple):
    stream: Stream
    place: int
    entry: Entry
    reply: Reply


def responses_of(streams: Sequence[Stream], findings: Findings) -> list[Response]:
    """Return the responses of all streams, each owned by the stream that had it first."""
    found, groups = [], _groups(streams, findings)
    n_rows = n_empty = n_copied = n_shared = 0
    for key, rows in groups.items():
        parts = _parts(rows)
        n_shared += len(parts) > 1
        for part in parts:
            response = _response(key if len(parts) == 1 else None, part)
            if response is None:
                n_empty += len(part)
                continue
            found.append(response)
            n_rows += len(part)
            n_copied += sum(row.stream is not response.stream for row in part)
    findings.drop("rows of the assistant without counts, or with zeros alone", n_empty)
    findings.drop("rows copied from other files", n_copied)
    findings.drop("rows that repeat the counts of their response", n_rows - n_copied - len(found))
    findings.say("ids that a relay gave to several responses, told apart by their rows", n_shared)
    return found


def _groups(streams: Sequence[Stream], findings: Findings) -> dict[object, list[_Row]]:
    """Return the rows that models wrote by the id of their response."""
    groups: dict[object, list[_Row]] = {}
    unwritten: Counter[str] = Counter()
    for stream in streams:
        for place, entry in enumerate(stream.entries):
            reply = entry.reply
            if reply is None:
                continue
            if reply.no_answer is not None:
                unwritten[reply.no_answer] += 1
                continue
            key = reply.message_id or reply.request_id or entry.uuid or (stream.name, place)
            groups.setdefault(key, []).append(_Row(stream, place, entry, reply))
    for kind, n in sorted(unwritten.items()):
        findings.drop(f"rows that no model wrote ({kind})", n)
    return groups


def _parts(rows: list[_Row]) -> list[list[_Row]]:
    """Return the rows of one id as those of one response, or of several where a relay has one id for all."""
    uuids = {row.entry.uuid for row in rows if row.entry.uuid is not None}
    if len(uuids) < 2 or rows[0].reply.message_id is None:
        return [rows]
    parent_of = {row.entry.uuid: row.entry.parent for row in rows if row.entry.uuid is not None}
    roots = {uuid: _root(uuid, parent_of) for uuid in parent_of}
    counts = {(row.reply.usage.read, row.reply.usage.total) for row in rows if row.reply.usage is not None}
    if len({parent_of[root] for root in roots.values()}) < 2 or len(counts) < 2:
        return [rows]
    parts: dict[object, list[_Row]] = {}
    for row in rows:
        parts.setdefault((row.reply.request_id, roots.get(row.entry.uuid or "")), []).append(row)
    return [*parts.values()]


def _root(uuid: str, parent_of: dict[str, str | None]) -> str:
    seen = {uuid}
    while (parent := parent_of[uuid]) in parent_of and parent not in seen:
        uuid = parent
        seen.add(uuid)
    return uuid


def _response(key: object, rows: list[_Row]) -> Response | None:
    """Return the response that rows are of, None if none of them has a count."""
    counted = [row.reply.usage for row in rows if row.reply.usage is not None]
    prompts = [each for each in counted if each.total]
    if not prompts:
        return None
    # A late row may have zeros in place of the prompt.
    output = max(each.output for each in counted)
    usage = max(prompts, key=lambda each: (each.output, each.total))._replace(output=output)
    owner = min(rows, key=lambda row: (row.entry.sidechain, row.stream.is_copy(row.entry), row.stream.rank))
    own = sorted((row for row in rows if row.stream is owner.stream), key=lambda row: row.place)
    first = own[0]
    name = key if isinstance(key, str) else first.entry.uuid
    return Response(
        name or f"{first.stream.name}:{first.entry.line}",
        owner.stream,
        first.place,
        [row.entry for row in own],
        frozenset(row.entry.uuid for row in rows if row.entry.uuid is not None),
        usage._replace(several_calls=any(each.several_calls for each in counted)),
        usage.total,
        usage.output,
        usage.cached_after,
        any(row.reply.stopped for row in rows),
        _first(row.reply.model for row in own),
        _first(row.reply.version for row in own),
        [*{tool.id: tool for row in rows for tool in row.reply.tools}.values()],
        _first(row.reply.miss for row in own),
    )


def _first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value is not None), None)
