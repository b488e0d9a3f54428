"""Codex's rollouts: a request for each count of tokens that differs from the one before.

Lines are `session_meta`, `turn_context`, `response_item` and `event_msg`. A `token_count` event has the
counts of the latest request and the sum of all; it is written again when limits change, with the same sum.
Rollouts of forks and sub-agents begin with a copy of their parent's events, stamped anew (openai/codex from
0.144 on), which are told by counts and sums that the parent has in the same order.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sim.base.errors import InputError, escaped
from sim.workload.calls import Call
from sim.workload.chains import link
from sim.workload.findings import Findings
from sim.workload.formats.log import LogFormat
from sim.workload.formats.logged import (
    BAD_LINES,
    US,
    files_of,
    inside,
    objects,
    text,
    text_id,
    time_us,
    tokens,
    unique,
)

KINDS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
COPIED_WITHIN_US = 2 * US
"""Events this soon after the start of a fork are copies, where its parent is in no file."""


class _Counts(NamedTuple):
    """Of a request: prompt, of that cached, answer with its reasoning; and the sum of all so far."""

    prompt: int
    cached: int
    output: int
    sum: int


@dataclass(slots=True)
class _Request:
    counts: _Counts
    send_us: int
    end_us: int
    by_tool: bool | None
    model: str | None
    line: int


@dataclass(slots=True)
class _Rollout:
    """A file."""

    name: str
    session: str
    parent: str | None
    """The session that it goes on from, or whose sub-agent it is."""
    began_us: int
    requests: list[_Request] = field(default_factory=list)


def tells(record: Mapping[str, Any]) -> bool:
    """Whether an object is a line of a rollout."""
    return record.get("type") in KINDS and "payload" in record


def calls(paths: Sequence[Path], findings: Findings) -> list[Call]:
    """Return the requests of rollouts, and of all rollouts in folders, in the order of their times.

    Raises:
        InputError: a file cannot be read, or there is no request in any.

    """
    dropped: Counter[str] = Counter()
    rollouts = [_read(file, dropped) for file in _files(paths, dropped)]
    found, kin = _own(rollouts, dropped)
    for what in sorted(dropped):
        findings.drop(what, dropped[what])
    if not found:
        raise InputError(f"{', '.join(map(str, paths))}: {len(rollouts)} rollouts without a count of tokens")
    findings.say("rollouts read", len(rollouts))
    ordered = sorted(found, key=lambda each: (each[1].send_us, each[0].name, each[1].line))
    position = {id(request): number for number, (_, request) in enumerate(ordered)}
    origin = ordered[0][1].send_us
    made: list[Call] = []
    for rollout, request in ordered:
        inherited, started = kin.get(id(request), (None, None))
        call = Call(
            rollout.session,
            f"{rollout.session}/{request.line}",
            round((request.send_us - origin) / US, 6),
            round((request.end_us - origin) / US, 6),
            request.counts.prompt,
            request.counts.output,
            cached_tokens=min(request.counts.cached, request.counts.prompt),
            model=request.model,
            line=request.line,
            by_tool=request.by_tool,
        )
        for earlier, is_parent in ((inherited, True), (started, False)):
            number = position.get(id(earlier), len(made))
            if number < len(made):
                call.parent = number if is_parent else call.parent
                call.waits_for = call.waits_for if is_parent else (number,)
        made.append(call)
    link(made, findings)
    unique(made)
    return made


def _files(paths: Sequence[Path], dropped: Counter[str]) -> list[Path]:
    """Return rollouts; one that is archived beside the session's own is dropped."""
    found: dict[str, Path] = {}
    files = {file for path in paths for file in files_of(path, lambda each: ".jsonl" in each.suffixes)}
    for file in sorted(files, key=lambda each: ("archived_sessions" in each.parts, each)):
        if found.setdefault(file.name, file) is not file:
            dropped["files archived that are there as sessions too"] += 1
    return sorted(found.values())


def _read(file: Path, dropped: Counter[str]) -> _Rollout:
    stem = escaped(file.name.partition(".jsonl")[0])
    rollout = _Rollout(stem, stem, None, 0)
    model: str | None = None
    before_us = sum_before = 0
    prompts: list[tuple[int, bool]] = []
    answered_us: int | None = None
    is_first = True
    for line, record in objects(file, lambda: dropped.update([BAD_LINES])):
        moment = time_us(record.get("timestamp")) or before_us
        before_us = moment
        payload = inside(record, "payload")
        kind, inner = record.get("type"), payload.get("type")
        if kind == "session_meta" and is_first:
            is_first = False
            rollout.session = text_id(payload.get("id")) or stem
            rollout.parent = _parent(payload)
            rollout.began_us = moment
        elif kind == "turn_context":
            model = text(payload, "model") or model
        elif inner == "token_count":
            counts = _counts(payload, sum_before)
            if counts is None:
                dropped["counts of tokens that say nothing new"] += 1
                continue
            sum_before = counts.sum
            # What came while the answer was still written is of the next request.
            sent = [each for each in prompts if answered_us is None or each[0] <= answered_us]
            first_us = answered_us if answered_us is not None else moment
            rollout.requests.append(
                _Request(
                    counts,
                    max((each[0] for each in sent), default=first_us),
                    max(moment, first_us),
                    any(tool for _, tool in sent) if sent else None,
                    model,
                    line,
                )
            )
            prompts = [each for each in prompts if each not in sent]
            answered_us = None
        elif _is_prompt(kind, payload):
            prompts.append((moment, str(inner).endswith("_output")))
        elif kind == "response_item" and answered_us is None and inner is not None and _is_answer(payload):
            answered_us = moment
    return rollout


def _parent(payload: Mapping[str, Any]) -> str | None:
    """Return the session that a session says it comes from."""
    spawned = inside(inside(inside(payload, "source"), "subagent"), "thread_spawn")
    return text(payload, "forked_from_id", "parent_thread_id") or text(spawned, "parent_thread_id")


def _counts(payload: Mapping[str, Any], sum_before: int) -> _Counts | None:
    """Return what a count of tokens says of a request, None if it says of none."""
    info = inside(payload, "info")
    total, last = inside(info, "total_token_usage"), inside(info, "last_token_usage")
    prompt, output = tokens(last, "input_tokens"), tokens(last, "output_tokens")
    sum_all = tokens(total, "total_tokens")
    if sum_all is not None and sum_all == sum_before:
        return None
    if not prompt or output is None:
        return None
    cached = tokens(last, "cached_input_tokens", "cache_read_input_tokens") or 0
    return _Counts(prompt, cached, output, sum_before + prompt + output if sum_all is None else sum_all)


def _is_prompt(kind: object, payload: Mapping[str, Any]) -> bool:
    inner = payload.get("type")
    if kind == "event_msg":
        return inner == "user_message"
    if kind != "response_item" or type(inner) is not str:
        return False
    return inner.endswith("_output") or (inner == "message" and payload.get("role") == "user")


def _is_answer(payload: Mapping[str, Any]) -> bool:
    inner = payload.get("type")
    return inner != "message" or payload.get("role") == "assistant"


def _own(
    rollouts: Sequence[_Rollout], dropped: Counter[str]
) -> tuple[list[tuple[_Rollout, _Request]], dict[int, tuple[_Request | None, _Request | None]]]:
    """Return the requests that are no copies, and what first ones of a rollout go on from and wait for."""
    of = {rollout.session: rollout for rollout in sorted(rollouts, key=lambda each: each.name)}
    found: list[tuple[_Rollout, _Request]] = []
    kin: dict[int, tuple[_Request | None, _Request | None]] = {}
    n_copied = 0
    for rollout in sorted(rollouts, key=lambda each: (each.began_us, each.name)):
        parent = of.get(rollout.parent or "")
        parent = None if parent is rollout else parent
        n = _copied(rollout, parent)
        n_copied += n
        own = rollout.requests[n:]
        if own and parent is not None:
            rollout.requests[:n] = parent.requests[:n]
            started = [each for each in parent.requests if each.end_us <= own[0].send_us]
            kin[id(own[0])] = (parent.requests[n - 1] if n else None, started[-1] if started else None)
        found += [(rollout, request) for request in own]
    if n_copied:
        dropped["counts of tokens copied from the session before a fork"] += n_copied
    return found, kin


def _copied(rollout: _Rollout, parent: _Rollout | None) -> int:
    """Return how many of the first requests of a rollout are its parent's."""
    if rollout.parent is None:
        return 0
    if parent is not None:
        pairs = zip(rollout.requests, parent.requests, strict=False)
        same = [each.counts == other.counts for each, other in pairs]
        return same.index(False) if False in same else len(same)
    ends = [each.end_us - rollout.began_us <= COPIED_WITHIN_US for each in rollout.requests]
    return ends.index(False) if False in ends else len(ends)


FORMAT = LogFormat("codex", tells, calls)
