"""Lines of a transcript, reduced to lengths, times and identities: nothing that anybody wrote is kept."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sim.workload.formats.claude_code.usage import Usage, usage_of
from sim.workload.formats.logged import MOST_TOKENS, inside, text_id, time_us

SYNTHETIC = "<synthetic>"
MISS_REASONS = {
    "messages_changed": "messages changed",
    "system_changed": "the system prompt changed",
    "tools_changed": "tools changed",
    "model_changed": "the model changed",
}
"""What the provider says of a prefix that it did not find, and what that is called here."""

Kind = Literal["assistant", "user", "attachment", "boundary", "notice", "other"]
_TOOL_USE_ID = re.compile(r"<tool-use-id>\s*([\w.:-]{1,200})\s*</tool-use-id>")
_COMMANDS = ("command-name", "command-message", "command-args", "command-contents")
_LOCAL = re.compile(r"<(local-command-[a-z-]{1,40})>")


@dataclass(slots=True)
class ToolUse:
    """A tool that an answer called."""

    id: str
    spawns: bool
    """Whether it starts sub-agents."""
    agent_type: str | None


@dataclass(slots=True)
class Reply:
    """What a row of the assistant says of the response that it is a part of."""

    message_id: str | None
    request_id: str | None
    model: str | None
    version: str | None
    usage: Usage | None
    """None where it says nothing of use."""
    stopped: bool
    """Whether it says why the response ended: its counts are final."""
    no_answer: Literal["synthetic", "api error"] | None
    """What it is if no model wrote it."""
    tools: Sequence[ToolUse]
    miss: str | None
    """Why the provider did not find the prefix, if it says so."""


@dataclass(slots=True)
class Prompt:
    """What a row of the user, an attachment or a notice says."""

    sends: bool
    """Whether it can be what a request was sent for."""
    results: Sequence[str]
    """Tools that it has the results of."""
    agent: str | None
    """The sub-agent that one of them started."""
    agent_type: str | None
    in_background: bool
    """Whether that one only started."""
    ended: Sequence[str]
    """Tools in the background that it says have ended."""
    summary_characters: int | None
    """Of the summary that takes the place of all before it; None: it is none."""


@dataclass(slots=True)
class Boundary:
    """Where all before was replaced by a summary."""

    before_tokens: int | None
    duration_us: int | None


@dataclass(slots=True)
class Entry:
    """A line."""

    line: int
    kind: Kind
    uuid: str | None
    parent: str | None
    """The line that it follows; over a boundary, the last line before that."""
    time_us: int | None
    """Since 1970."""
    session: str | None
    agent: str | None
    sidechain: bool
    forked: bool
    """Whether it says that it was copied from another session."""
    reply: Reply | None = None
    prompt: Prompt | None = None
    boundary: Boundary | None = None


def entry_of(record: Mapping[str, Any], line: int) -> Entry:
    """Return what a line says; what is not as it should be counts as missing."""
    kind = _kind(record)
    parent = text_id(record.get("parentUuid"))
    if kind == "boundary":
        parent = text_id(record.get("logicalParentUuid")) or parent
    entry = Entry(
        line,
        kind,
        text_id(record.get("uuid")),
        parent,
        time_us(record.get("timestamp")),
        text_id(record.get("sessionId")),
        text_id(record.get("agentId")),
        record.get("isSidechain") is True,
        isinstance(record.get("forkedFrom"), dict),
    )
    if kind == "assistant":
        entry.reply = _reply(record)
    elif kind in ("user", "attachment", "notice"):
        entry.prompt = _prompt(record, kind)
    elif kind == "boundary":
        entry.boundary = _boundary(record)
    return entry


def _kind(record: Mapping[str, Any]) -> Kind:
    match record.get("type"), record.get("subtype"), record.get("operation"):
        case "assistant", _, _ if isinstance(record.get("message"), dict):
            return "assistant"
        case "user", _, _:
            return "user"
        case "attachment", _, _:
            return "attachment"
        case "system", "compact_boundary", _:
            return "boundary"
        case "queue-operation", _, "enqueue":
            return "notice"
    return "other"


def _reply(record: Mapping[str, Any]) -> Reply:
    message = record["message"]
    blocks = _blocks(message.get("content"))
    model = text_id(message.get("model"))
    no_answer: Literal["synthetic", "api error"] | None = None
    if model == SYNTHETIC:
        no_answer = "synthetic"
    elif record.get("isApiErrorMessage") is True:
        no_answer = "api error"
    return Reply(
        text_id(message.get("id")),
        text_id(record.get("requestId")),
        model,
        text_id(record.get("version")),
        usage_of(message.get("usage")),
        text_id(message.get("stop_reason")) is not None,
        no_answer,
        [tool for block in blocks if (tool := _tool(block)) is not None],
        _miss(message.get("diagnostics")),
    )


def _tool(block: Mapping[str, Any]) -> ToolUse | None:
    tool = text_id(block.get("id"))
    if block.get("type") != "tool_use" or tool is None:
        return None
    given = block.get("input")
    agent_type = text_id(given.get("subagent_type")) if isinstance(given, dict) else None
    return ToolUse(tool, block.get("name") in ("Task", "Agent") or agent_type is not None, agent_type)


def _miss(diagnostics: object) -> str | None:
    reason = diagnostics.get("cache_miss_reason") if isinstance(diagnostics, dict) else None
    kind = reason.get("type") if isinstance(reason, dict) else None
    return MISS_REASONS.get(kind) if isinstance(kind, str) else None


def _prompt(record: Mapping[str, Any], kind: Kind) -> Prompt:
    message = record.get("attachment" if kind == "attachment" else "message")
    content = message.get("content") if isinstance(message, dict) else record.get("content")
    blocks = _blocks(content)
    results = [text_id(each.get("tool_use_id")) for each in blocks if each.get("type") == "tool_result"]
    told = inside(record, "toolUseResult")
    summary = record.get("isCompactSummary") is True
    return Prompt(
        kind == "attachment" or (kind == "user" and record.get("isMeta") is not True and _says(content)),
        [result for result in results if result is not None],
        text_id(told.get("agentId")),
        text_id(told.get("agentType")),
        told.get("isAsync") is True or text_id(told.get("backgroundTaskId")) is not None,
        [found for text in _texts(content) for found in _TOOL_USE_ID.findall(text)],
        sum(map(len, _texts(content))) if summary else None,
    )


def _boundary(record: Mapping[str, Any]) -> Boundary:
    told = inside(record, "compactMetadata")
    before, duration_ms = told.get("preTokens"), told.get("durationMs")
    return Boundary(
        before if type(before) is int and 0 < before <= MOST_TOKENS else None,
        round(duration_ms * 1000)
        if isinstance(duration_ms, int | float) and 0 <= duration_ms <= 10**9
        else None,
    )


def _blocks(content: object) -> list[Mapping[str, Any]]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _texts(content: object) -> Iterator[str]:
    """Yield the texts of a content that are no results of tools."""
    if isinstance(content, str):
        yield content
    for block in _blocks(content):
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            yield text


def _says(content: object) -> bool:
    """Whether a row holds more than commands that stay in the terminal."""
    texts = [*_texts(content)]
    if any(block.get("type") != "text" for block in _blocks(content)) or not texts:
        return True
    return not all(map(_only_commands, texts))


def _only_commands(text: str) -> bool:
    text = text.strip()
    found = False
    while text:
        tag = next((name for name in _COMMANDS if text.startswith(f"<{name}>")), None)
        if tag is None and (local := _LOCAL.match(text)) is not None:
            tag = local[1]
        if tag is None:
            return False
        _, end, text = text.partition(f"</{tag}>")
        if not end:
            return True
        text, found = text.lstrip(), True
    return found
