"""Sub-agents: which answer started each, and which request waited for it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from sim.workload.findings import Findings
from sim.workload.formats.claude_code.files import Meta, meta_of
from sim.workload.formats.claude_code.responses import Response
from sim.workload.formats.claude_code.streams import Stream

FORK = "fork"
"""The type of a sub-agent that goes on from the whole prompt of who started it."""
UNKNOWN = "sub-agent"


@dataclass(slots=True)
class _Started:
    """What lines say of a sub-agent, by its id."""

    tool_of: dict[str, str] = field(default_factory=dict)
    type_of: dict[str, str] = field(default_factory=dict)
    in_background: set[str] = field(default_factory=set)
    """Tools whose result only says that something was started."""


def link_agents(
    streams: Sequence[Stream], responses: Sequence[Response], findings: Findings
) -> dict[str, str]:
    """Let first requests of sub-agents wait for the answer that started them, and others for their last ones.

    Return the type of the agent of every stream; "" for a session.
    """
    told = _told(streams)
    of_tool = {tool.id: response for response in responses for tool in response.tools}
    type_of_tool = {tool.id: tool.agent_type for response in responses for tool in response.tools}
    turns = _turns(responses)
    inline = _inline_tools(streams, turns)
    types, n_lost = {}, 0
    for stream in streams:
        meta = (meta_of(stream.transcript) if stream.agent else None) or Meta(None, None)
        agent = stream.agent or ""
        tool = inline.get(stream.name) if stream.inline else meta.tool_use or told.tool_of.get(agent)
        own_type = meta.agent_type or type_of_tool.get(tool or "") or told.type_of.get(agent)
        types[stream.name] = "" if stream.agent is None and not stream.inline else own_type or UNKNOWN
        own = turns.get(stream.name, [])
        if not own or not types[stream.name]:
            continue
        starter = of_tool.get(tool or "")
        if starter is None or starter.stream is stream or tool is None:
            n_lost += 1
            continue
        _start(own[0], starter, fork=types[stream.name] == FORK)
        _join(own, tool, turns[starter.stream.name], in_background=tool in told.in_background)
    findings.say("sub-agents", sum(bool(each) for name, each in types.items() if turns.get(name)))
    findings.fix("sub-agents of which no answer says that it started them, sent at their own time", n_lost)
    findings.fix(
        "sub-agents inside a session's file, taken to be of the tools called before",
        len(inline),
    )
    return types


def _told(streams: Sequence[Stream]) -> _Started:
    told = _Started()
    for stream in streams:
        for entry in stream.entries:
            prompt = entry.prompt
            if prompt is None:
                continue
            if prompt.in_background:
                told.in_background.update(prompt.results)
            if prompt.agent is not None:
                if prompt.results:
                    told.tool_of.setdefault(prompt.agent, prompt.results[0])
                if prompt.agent_type is not None:
                    told.type_of.setdefault(prompt.agent, prompt.agent_type)
    return told


def _turns(responses: Sequence[Response]) -> dict[str, list[Response]]:
    """Return the responses of each stream in order."""
    found: dict[str, list[Response]] = {}
    for response in sorted(responses, key=lambda each: each.place):
        found.setdefault(response.stream.name, []).append(response)
    return found


def _start(first: Response, starter: Response, *, fork: bool) -> None:
    first.waits_for.append(starter)
    if fork and first.predecessor is None and first.why == "first":
        first.predecessor, first.why = starter, "fork"


def _join(own: Sequence[Response], tool: str, turns: Sequence[Response], *, in_background: bool) -> None:
    """Let the request that has what a sub-agent found wait for its last answer until then."""
    joined = next((each for each in turns if tool in (each.ended if in_background else each.results)), None)
    if joined is None:
        return
    last = next((each for each in reversed(own) if each.send_us <= joined.send_us), None)
    if last is not None:
        joined.waits_for.append(last)


def _inline_tools(streams: Sequence[Stream], turns: dict[str, list[Response]]) -> dict[str, str]:
    """Return the tool that started each sub-agent inside a session's file: the first that still ran."""
    running: dict[str, dict[str, list[float]]] = {}
    for stream in streams:
        if not stream.inline:
            _add_spans(stream, running.setdefault(stream.transcript.name, {}))
    found: dict[str, str] = {}
    for stream in sorted(streams, key=lambda each: each.entries[0].line):
        if not stream.inline or stream.name not in turns:
            continue
        line = stream.entries[0].line
        spans = running.get(stream.transcript.name, {})
        tool = next((tool for tool, (start, end) in spans.items() if start < line < end), None)
        if tool is not None:
            found[stream.name] = tool
            del spans[tool]
    return found


def _add_spans(stream: Stream, spans: dict[str, list[float]]) -> None:
    """Add the lines from and to which tools that start sub-agents ran."""
    for entry in stream.entries:
        for tool in entry.reply.tools if entry.reply is not None else ():
            if tool.spawns:
                spans.setdefault(tool.id, [entry.line, inf])
        for result in entry.prompt.results if entry.prompt is not None else ():
            if result in spans:
                spans[result][1] = entry.line
