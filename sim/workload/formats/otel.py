"""OpenTelemetry's spans of calls of models: GenAI conventions, Claude Code's beta spans, vLLM's.

Read as OTLP JSON, whole or an object a line, and as spans alone. The conventions say that cached tokens are
part of `gen_ai.usage.input_tokens`; Claude Code's `input_tokens`, as Anthropic's, leaves them out. Spans have
a true start and end, and no identity of prompts: what calls share follows from their counts.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.base.errors import InputError
from sim.base.reading import content
from sim.workload.calls import Call
from sim.workload.chains import link
from sim.workload.findings import Findings
from sim.workload.formats.log import LogFormat
from sim.workload.formats.logged import BAD_LINES, US, files_of, objects, text, time_us, tokens, unique
from sim.workload.formats.otel_attributes import (
    CACHED,
    CONVERSATION,
    CREATED,
    INPUT,
    MODEL,
    NAME,
    OUTPUT,
    PLAIN_INPUT,
    attributes_of,
    is_chat,
    ttft_s,
)

MOST_BYTES = 1 << 30


@dataclass(slots=True)
class _Span:
    span: str | None
    parent: str | None
    call: Call
    created: int | None
    send_us: int


def tells(record: Mapping[str, Any]) -> bool:
    """Whether an object is OTLP JSON, or a span."""
    keys = record.keys()
    if "resourceSpans" in keys or {"traceId", "spanId"} <= keys or {"trace_id", "span_id"} <= keys:
        return True
    context = record.get("context")
    return "attributes" in keys and isinstance(context, dict) and "span_id" in context


def calls(paths: Sequence[Path], findings: Findings) -> list[Call]:
    """Return the calls of models that spans in files are of, in the order of their times.

    Raises:
        InputError: a file cannot be read, or no span in any is a call of a model.

    """
    dropped: Counter[str] = Counter()
    files = [file for path in paths for file in files_of(path, _is_json)]
    parents: dict[str, str | None] = {}
    spans = [span for file in files for span in _spans(file, parents, dropped)]
    spans = _innermost(spans, parents, dropped)
    for what in sorted(dropped):
        findings.drop(what, dropped[what])
    if not spans:
        raise InputError(
            f"{', '.join(map(str, paths))}: no span is a call of a model with its counts of tokens"
        )
    spans.sort(key=lambda each: (each.send_us, each.call.stream, each.call.name))
    origin = spans[0].send_us
    found = [each.call for each in spans]
    for span in spans:
        service_s = (span.call.end_s or 0.0) - (span.call.send_s or 0.0)
        span.call.send_s = round((span.send_us - origin) / US, 6)
        span.call.end_s = round(span.call.send_s + service_s, 6)
    link(found, findings, {n: each.created for n, each in enumerate(spans) if each.created is not None})
    unique(found)
    _note_overlaps(found, findings)
    return found


def _is_json(path: Path) -> bool:
    return not {".json", ".jsonl"}.isdisjoint(path.suffixes)


def _note_overlaps(found: Sequence[Call], findings: Findings) -> None:
    ends: dict[str, float] = {}
    n = 0
    for call in found:
        n += (call.send_s or 0.0) < ends.get(call.stream, 0.0)
        ends[call.stream] = max(call.end_s or 0.0, ends.get(call.stream, 0.0))
    findings.say("calls sent before one of their conversation was answered, which follow it in a replay", n)


def _spans(file: Path, parents: dict[str, str | None], dropped: Counter[str]) -> Iterator[_Span]:
    """Yield the calls of models in a file; note whose child each span is."""
    for line, record in _records(file, dropped):
        for span in _flat(record):
            own = text(span, "spanId", "span_id") or text(_context(span), "span_id")
            parent = text(span, "parentSpanId", "parent_span_id", "parent_id")
            if own is not None:
                parents[own] = parent
            found = _call(span, line)
            if found is None:
                dropped["spans that are no call of a model with its counts of tokens"] += 1
                continue
            call, created, send_us = found
            yield _Span(own, parent, call, created, send_us)


def _records(file: Path, dropped: Counter[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file, one a line, or all of it as one or as a list."""
    n_bad: Counter[str] = Counter()
    found = objects(file, lambda: n_bad.update([BAD_LINES]))
    if found or not n_bad:
        dropped.update(n_bad)
        yield from found
        return
    try:
        whole = json.loads(content(file, MOST_BYTES))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is no JSON, neither as a whole nor a line") from error
    for record in whole if isinstance(whole, list) else [whole]:
        if isinstance(record, dict):
            yield 1, record


def _flat(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the spans of an object; the attributes of their resource are left out."""
    resources = record.get("resourceSpans")
    if not isinstance(resources, list):
        yield record
        return
    for resource in resources:
        for scopes in ("scopeSpans", "instrumentationLibrarySpans"):
            for scope in _objects(resource, scopes):
                yield from _objects(scope, "spans")


def _objects(record: object, key: str) -> list[Mapping[str, Any]]:
    found = record.get(key) if isinstance(record, Mapping) else None
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _context(span: Mapping[str, Any]) -> Mapping[str, Any]:
    found = span.get("context")
    return found if isinstance(found, Mapping) else {}


def _call(span: Mapping[str, Any], line: int) -> tuple[Call, int | None, int] | None:
    """Return the call that a span is, what it wrote to the provider's cache, and when it began."""
    attributes = attributes_of(span.get("attributes"))
    prompt, output = tokens(attributes, *INPUT), tokens(attributes, *OUTPUT)
    begin = _moment_us(span, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
    end = _moment_us(span, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")
    if prompt is None or output is None or begin is None or not is_chat(attributes):
        return None
    cached, created = tokens(attributes, *CACHED), tokens(attributes, *CREATED)
    besides = (cached or 0) + (created or 0)
    if PLAIN_INPUT in attributes or besides > prompt:
        prompt += besides
    if not prompt:
        return None
    trace = text(span, "traceId", "trace_id") or text(_context(span), "trace_id") or f"line {line}"
    stream = text(attributes, *CONVERSATION) or trace
    own = text(span, "spanId", "span_id") or text(_context(span), "span_id")
    source = text(attributes, "query_source")
    if source is not None and "main" not in source:
        stream = f"{stream}/{source}"
    call = Call(
        stream,
        text(attributes, *NAME) or own or f"line {line}",
        0.0,
        max((end if end is not None else begin) - begin, 0) / US,
        prompt,
        output,
        cached_tokens=cached,
        model=text(attributes, *MODEL),
        ttft_s=ttft_s(attributes),
        line=line,
    )
    return call, created, begin


def _moment_us(span: Mapping[str, Any], *keys: str) -> int | None:
    """Return a time in microseconds since 1970: ISO, or nanoseconds as a number or a string of one."""
    for key in keys:
        value = span.get(key)
        if type(value) is str and value.isascii() and value.isdigit() and len(value) < 21:
            value = int(value)
        if type(value) is int and 0 <= value < 10**20:
            return value // 1000
        if (moment := time_us(value)) is not None:
            return moment
    return None


def _innermost(
    spans: Sequence[_Span], parents: Mapping[str, str | None], dropped: Counter[str]
) -> list[_Span]:
    """Return the spans that have no other call inside: those around them repeat its counts, or their sums."""
    outer: set[str] = set()
    for span in spans:
        above = span.parent
        while above is not None and above not in outer:
            outer.add(above)
            above = parents.get(above)
    kept, seen = [], set()
    for span in spans:
        if span.span is not None and span.span in outer:
            dropped["spans around other calls of models, whose counts they repeat"] += 1
        elif span.span is not None and span.span in seen:
            dropped["spans that are there twice"] += 1
        else:
            kept.append(span)
        seen.add(span.span)
    return kept


FORMAT = LogFormat("otel", tells, calls)
