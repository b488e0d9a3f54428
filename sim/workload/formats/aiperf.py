"""AIPerf's profile_export.jsonl: a request a line with its lengths and times, and no hash ids of prompts.

What a prompt shares is taken from its conversation: it is the prompt before with its answer and more, as
AIPerf sends them, where it is at least as long as these; a conversation of the data that is sent again begins
with the same prompt. Keys are those of AIPerf 0.13.0 (`MetricRecordInfo`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.base.errors import InputError
from sim.workload.calls import Call
from sim.workload.chains import link
from sim.workload.findings import Findings
from sim.workload.formats.log import LogFormat
from sim.workload.formats.logged import BAD_LINES, files_of, inside, objects, text, tokens, unique

NS = 10**9
NAME = "profile_export.jsonl"
LATEST_NS = 4 * 10**18
"""Some time in 2096: later times are none."""


def tells(record: Mapping[str, Any]) -> bool:
    """Whether an object is a record of a request."""
    metadata = inside(record, "metadata")
    return "request_start_ns" in metadata and ("metrics" in record or "error" in record)


def calls(paths: Sequence[Path], findings: Findings) -> list[Call]:
    """Return the requests of files, in the order of their times.

    Raises:
        InputError: a file cannot be read, or holds no request with lengths and times.

    """
    dropped: Counter[str] = Counter()
    found: list[tuple[int, int, Call, str | None]] = []
    for file in (file for path in paths for file in files_of(path, lambda each: each.name == NAME)):
        for line, record in objects(file, lambda: dropped.update([BAD_LINES])):
            metadata = inside(record, "metadata")
            why = _left_out(record, metadata)
            call = _call(record, metadata, line) if why is None else None
            if call is None:
                dropped[why or "records without lengths or times"] += 1
                continue
            start_ns, turn = metadata["request_start_ns"], tokens(metadata, "turn_index") or 0
            found.append((start_ns, turn, call, text(metadata, "conversation_id")))
    for what in sorted(dropped):
        findings.drop(what, dropped[what])
    if not found:
        raise InputError(f"{', '.join(map(str, paths))}: holds no request with lengths and times")
    found.sort(key=lambda each: (each[0], each[2].stream, each[1], each[2].line))
    origin = found[0][0]
    for start_ns, _, call, _ in found:
        service_s = (call.end_s or 0) - (call.send_s or 0)
        call.send_s = (start_ns - origin) / NS
        call.end_s = call.send_s + service_s
    made = [call for _, _, call, _ in found]
    link(made, findings)
    n_again = _begin_alike(made, [conversation for *_, conversation in found])
    unique(made)
    findings.say("conversations sent again, which begin with the same prompt", n_again)
    n_later = sum(call.parent is not None for call in made)
    findings.say("later turns, taken to begin with the whole prompt before if they are as long", n_later)
    return made


def _left_out(record: Mapping[str, Any], metadata: Mapping[str, Any]) -> str | None:
    """Return why a record is no request that a replay sends, None if it is one."""
    if metadata.get("benchmark_phase") == "warmup":
        return "requests of the warm-up"
    if metadata.get("was_cancelled") is True:
        return "requests that were cancelled"
    return "requests that failed" if record.get("error") else None


def _call(record: Mapping[str, Any], metadata: Mapping[str, Any], line: int) -> Call | None:
    """Return a request with times from its own start, None if it has no lengths or times."""
    metrics = inside(record, "metrics")
    prompt = tokens(inside(metrics, "input_sequence_length"), "value")
    output = tokens(inside(metrics, "output_sequence_length"), "value")
    start, end = metadata.get("request_start_ns"), metadata.get("request_end_ns")
    if not prompt or output is None or type(start) is not int or type(end) is not int:
        return None
    if not 0 <= start <= end <= LATEST_NS:
        return None
    first_ms = inside(metrics, "time_to_first_token").get("value")
    known = isinstance(first_ms, int | float) and 0 <= first_ms <= (end - start) / 1e6
    cached = tokens(inside(metrics, "usage_prompt_cache_read_tokens"), "value")
    session = text(metadata, "x_correlation_id", "conversation_id")
    number = tokens(metadata, "session_num")
    stream = session or f"session {line if number is None else number}"
    return Call(
        stream,
        text(metadata, "x_request_id") or f"{stream}/{tokens(metadata, 'turn_index') or 0}",
        0.0,
        (end - start) / NS,
        prompt,
        output,
        cached_tokens=None if cached is None else min(cached, prompt),
        ttft_s=first_ms / 1000 if known and first_ms is not None else None,
        line=line,
    )


def _begin_alike(made: Sequence[Call], conversations: Sequence[str | None]) -> int:
    """Let conversations of the data that were sent more than once begin with one prompt; return how many."""
    first: dict[str, Call] = {}
    groups: dict[str, str] = {}
    n_again = 0
    for call, conversation in zip(made, conversations, strict=True):
        if call.parent is not None or conversation is None:
            continue
        call.group = groups.setdefault(conversation, f"conversation {len(groups) + 1}")
        root = first.setdefault(conversation, call)
        call.kept_tokens = 0 if root is call else min(call.prompt_tokens, root.prompt_tokens)
        n_again += root is not call
    return n_again


FORMAT = LogFormat("aiperf", tells, calls)
