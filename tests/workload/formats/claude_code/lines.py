"""Made-up transcripts: lines written from what a test says of them, all on one day."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sim.workload.calls import Call
from sim.workload.findings import Findings
from sim.workload.formats.claude_code import calls

Line = dict[str, Any]
SECRET = "Zwetschgenkuchen"
"""What stands for all that anybody wrote."""


def user(uuid: str, parent: str | None, at: str, *, result: str | None = None, **more: Any) -> Line:
    """A row of the user; `result` is the tool whose result it has."""
    content: object = SECRET
    if result is not None:
        content = [{"type": "tool_result", "tool_use_id": result, "content": SECRET}]
    return line("user", uuid, parent, at) | {"message": {"role": "user", "content": content}} | more


def reply(
    uuid: str,
    parent: str | None,
    at: str,
    message: str | None,
    counts: tuple[int, int, int, int],
    *,
    tool: str | None = None,
    fork: bool = False,
    usage: Mapping[str, Any] | None = None,
    model: str = "opus",
    stop: str | None = "end_turn",
    request: str | None = None,
    diagnostics: Any = None,
    **more: Any,
) -> Line:
    """A row of a response; counts are input, created, read and output."""
    block: Line = {"type": "text", "text": SECRET}
    if tool is not None:
        given = {"prompt": SECRET} | ({"subagent_type": "fork"} if fork else {})
        block = {"type": "tool_use", "id": tool, "name": "Task", "input": given}
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    found = {
        "id": message,
        "model": model,
        "content": [block],
        "stop_reason": stop,
        "usage": dict(zip(keys, counts, strict=True)) | dict(usage or {}),
        "diagnostics": diagnostics,
    }
    ids = {} if request is None else {"requestId": request}
    return line("assistant", uuid, parent, at) | {"message": found, "version": "2.1.0"} | ids | more


def line(kind: str, uuid: str | None, parent: str | None, at: str) -> Line:
    """What all lines have; `at` is a time of that day."""
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "timestamp": f"2026-01-01T{at}Z",
        "sessionId": "S",
    }


def boundary(uuid: str, after: str, at: str, **metadata: int) -> Line:
    """Where a summary took the place of all before."""
    return line("system", uuid, None, at) | {
        "subtype": "compact_boundary",
        "logicalParentUuid": after,
        "compactMetadata": metadata,
    }


def notice(at: str, tool: str) -> Line:
    """What says that a tool in the background has ended."""
    content = (
        f"<task-notification><tool-use-id>{tool}</tool-use-id><result>{SECRET}</result></task-notification>"
    )
    return {
        "type": "queue-operation",
        "operation": "enqueue",
        "timestamp": f"2026-01-01T{at}Z",
        "sessionId": "S",
        "content": content,
    }


def side(lines: Iterable[Line], agent: str | None = None) -> list[Line]:
    """Lines of a sub-agent."""
    return [each | {"isSidechain": True} | ({} if agent is None else {"agentId": agent}) for each in lines]


def write(folder: Path, files: Mapping[str, Iterable[Line | str]]) -> Path:
    """Write transcripts by their names; a text is a line as it is."""
    for name, lines in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        written = (each if isinstance(each, str) else json.dumps(each) + "\n" for each in lines)
        path.write_text("".join(written), encoding="utf-8")
    return folder


def read(folder: Path, files: Mapping[str, Iterable[Line | str]]) -> tuple[list[Call], Findings]:
    """Return the calls of files, and what was found in them."""
    findings = Findings()
    return calls([write(folder, files)], findings), findings


def by_name(found: Iterable[Call]) -> dict[str, Call]:
    """Calls by their names, which are those of their messages."""
    return {call.name: call for call in found}


def pair(*, second: tuple[int, int, int, int], at: str = "10:00:20", **more: Any) -> list[Line]:
    """A session of two responses: 1,000 tokens and 50, then what is given, answered after 5 s."""
    answered = datetime.fromisoformat(f"2026-01-01T{at}") + timedelta(seconds=5)
    return [
        user("u1", None, "10:00:00"),
        reply("a1", "u1", "10:00:05", "m1", (10, 990, 0, 50)),
        user("u2", "a1", at),
        reply("a2", "u2", answered.time().isoformat(), "m2", second, **more),
    ]
