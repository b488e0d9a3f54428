"""Spans of OpenTelemetry: calls of models by whatever their attributes are called."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.workload.calls import Call
from sim.workload.findings import Findings
from sim.workload.formats.otel import calls, tells
from sim.workload.trace_file import load_trace

SECRET = "Zwetschgenkuchen"
START_NS = 1_767_261_600_000_000_000


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    """As OTLP JSON has them: 64-bit numbers are strings."""
    kinds = {int: "intValue", float: "doubleValue", str: "stringValue"}
    return [
        {"key": key, "value": {kinds[type(value)]: str(value) if type(value) is int else value}}
        for key, value in values.items()
    ]


def span(
    name: str, start_s: float, seconds: float, values: dict[str, Any], parent: str = ""
) -> dict[str, Any]:
    return {
        "traceId": "t",
        "spanId": name,
        "parentSpanId": parent,
        "name": SECRET,
        "startTimeUnixNano": str(START_NS + int(start_s * 1e9)),
        "endTimeUnixNano": str(START_NS + int((start_s + seconds) * 1e9)),
        "attributes": attributes(values | {"gen_ai.prompt": SECRET}),
    }


def otlp(spans: Iterable[dict[str, Any]]) -> dict[str, Any]:
    resource = {"attributes": attributes({"service.name": SECRET})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [*spans]}]}]}


def read(folder: Path, *records: dict[str, Any], pretty: bool = False) -> tuple[list[Call], Findings]:
    path = folder / "spans.jsonl"
    path.write_text("\n".join(json.dumps(each, indent=2 if pretty else None) for each in records))
    findings = Findings()
    return calls([path], findings), findings


CHAT = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c", "gen_ai.request.model": "m"}
NEW = {
    "gen_ai.usage.input_tokens": 1000,
    "gen_ai.usage.output_tokens": 50,
    "gen_ai.usage.cache_read.input_tokens": 600,
    "gen_ai.usage.cache_creation.input_tokens": 390,
}
THEN = {
    "gen_ai.usage.input_tokens": 1100,
    "gen_ai.usage.output_tokens": 50,
    "gen_ai.usage.cache_read.input_tokens": 990,
    "gen_ai.usage.cache_creation.input_tokens": 105,
}


@pytest.mark.parametrize("shape", ["whole", "pretty", "lines", "spans"])
def test_spans_are_calls_with_a_true_start_and_end(tmp_path: Path, shape: str) -> None:
    spans = [span("b", 20, 2.5, CHAT | THEN), span("a", 0, 5, CHAT | NEW)]
    records = {"lines": [otlp([each]) for each in spans], "spans": spans}.get(shape, [otlp(spans)])
    found, _ = read(tmp_path, *records, pretty=shape == "pretty")
    assert [
        (call.stream, call.name, call.send_s, call.end_s, call.prompt_tokens, call.output_tokens)
        for call in found
    ] == [
        ("c", "a", 0.0, 5.0, 1000, 50),
        ("c", "b", 20.0, 22.5, 1100, 50),
    ]
    assert [(call.kept_tokens, call.answer_tokens, call.cached_tokens, call.model) for call in found] == [
        *((0, 0, 600, "m"), (1000, 50, 990, "m"))
    ]
    assert all(map(tells, records))


@pytest.mark.parametrize(
    ("values", "prompt", "cached"),
    [
        ({"gen_ai.usage.prompt_tokens": 900, "gen_ai.usage.completion_tokens": 7}, 900, None),
        ({"llm.usage.prompt_tokens": 900, "llm.usage.completion_tokens": 7}, 900, None),
        (
            {
                "llm.token_count.prompt": 900,
                "llm.token_count.completion": 7,
                "llm.token_count.prompt_details.cache_read": 400,
                "openinference.span.kind": "LLM",
            },
            900,
            400,
        ),
        # More was cached than the whole prompt would have: it is besides.
        (NEW | {"gen_ai.usage.cache_read.input_tokens": 700, "gen_ai.usage.output_tokens": 7}, 2090, 700),
        (
            {
                "gen_ai.usage.input_tokens": 900,
                "gen_ai.usage.output_tokens": 7,
                "gen_ai.usage.cache_read_input_tokens": 400,
            },
            900,
            400,
        ),
        (
            {
                "gen_ai.usage.input_tokens": 900,
                "gen_ai.usage.output_tokens": 7,
                "gen_ai.usage.input_tokens.cached": 400,
            },
            900,
            400,
        ),
        (
            {"input_tokens": 10, "output_tokens": 7, "cache_read_tokens": 400, "cache_creation_tokens": 90},
            500,
            400,
        ),
    ],
    ids=[
        "deprecated",
        "traceloop",
        "openinference",
        "conventions, left out",
        "deprecated cache",
        "deprecated cached",
        "claude code",
    ],
)
def test_counts_are_read_by_all_their_names_with_or_without_what_was_cached(
    tmp_path: Path, values: dict[str, Any], prompt: int, cached: int | None
) -> None:
    (call,), _ = read(tmp_path, span("a", 0, 5, values))
    assert (call.prompt_tokens, call.output_tokens, call.cached_tokens, call.stream) == (
        prompt,
        7,
        cached,
        "t",
    )


def test_spans_of_claude_code_are_streams_by_who_asked(tmp_path: Path) -> None:
    counts = {"input_tokens": 10, "output_tokens": 7, "ttft_ms": 250, "session.id": "s", "model": "opus"}
    found, _ = read(
        tmp_path,
        span("a", 0, 5, counts | {"query_source": "repl_main_thread", "request_id": "r"}),
        span("b", 1, 2, counts | {"query_source": "agent:Explore"}),
    )
    assert [(call.stream, call.name, call.ttft_s, call.model) for call in found] == [
        *(("s", "r", 0.25, "opus"), ("s/agent:Explore", "b", 0.25, "opus"))
    ]


def test_spans_of_the_engine_are_read_as_the_exporter_of_python_writes_them(tmp_path: Path) -> None:
    record = {
        "name": "llm_request",
        "context": {"trace_id": "0xt", "span_id": "0xa"},
        "parent_id": None,
        "start_time": "2026-01-01T10:00:00.000000Z",
        "end_time": "2026-01-01T10:00:04.500000Z",
        "attributes": {
            "gen_ai.usage.prompt_tokens": 900,
            "gen_ai.usage.completion_tokens": 7,
            "gen_ai.latency.time_to_first_token": 0.5,
            "gen_ai.request.id": "cmpl-1",
            "gen_ai.response.model": "qwen",
        },
    }
    (call,), _ = read(tmp_path, record, pretty=True)
    assert tells(record)
    assert (call.stream, call.name, call.end_s, call.ttft_s, call.model) == (
        "0xt",
        "cmpl-1",
        4.5,
        0.5,
        "qwen",
    )


def test_what_is_no_single_call_is_left_out(tmp_path: Path) -> None:
    found, findings = read(
        tmp_path,
        span("agent", 0, 60, CHAT | THEN | {"gen_ai.operation.name": "invoke_agent"}),
        span("chain", 0, 50, THEN),
        span("tool", 1, 5, {"gen_ai.operation.name": "execute_tool"}, parent="chain"),
        span("a", 1, 4, CHAT | NEW, parent="tool"),
        span("a", 1, 4, CHAT | NEW, parent="tool"),
        span("embedding", 2, 1, NEW | {"gen_ai.operation.name": "embeddings"}),
        span("b", 2, 1, CHAT | THEN),
    )
    assert [call.name for call in found] == ["a", "b"]
    assert findings.dropped == {
        "spans that are no call of a model with its counts of tokens": 3,
        "spans around other calls of models, whose counts they repeat": 1,
        "spans that are there twice": 1,
    }
    assert (
        "calls sent before one of their conversation was answered, which follow it in a replay: 1"
        in findings.notes
    )


def test_a_prefix_that_the_provider_did_not_find_broke_unless_it_had_expired(tmp_path: Path) -> None:
    lost = THEN | {"gen_ai.usage.cache_read.input_tokens": 200}
    assert read(tmp_path, span("a", 0, 5, CHAT | NEW), span("b", 20, 5, CHAT | lost))[0][1].kept_tokens == 200
    assert (
        read(tmp_path, span("a", 0, 5, CHAT | NEW), span("b", 400, 5, CHAT | lost))[0][1].kept_tokens == 1000
    )


@pytest.mark.parametrize("record", [otlp([]), otlp([span("a", 0, 5, {"x": 1})]), {"resourceSpans": [{}, 5]}])
def test_files_without_a_call_are_refused(tmp_path: Path, record: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="no span is a call of a model with its counts of tokens"):
        read(tmp_path, record)


def test_text_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{\n")
    with pytest.raises(InputError, match="is no JSON, neither as a whole nor a line"):
        calls([tmp_path], Findings())


@pytest.mark.parametrize("pretty", [True, False])
def test_spans_are_told_and_load_without_their_text(tmp_path: Path, *, pretty: bool) -> None:
    found, findings = read(
        tmp_path, otlp([span("a", 0, 5, CHAT | NEW), span("b", 20, 5, CHAT | THEN)]), pretty=pretty
    )
    trace = load_trace(tmp_path / "spans.jsonl")
    assert (trace.format, [request.prompt_tokens for request in trace.requests]) == ("otel", [1000, 1100])
    assert SECRET not in repr(found) + repr(vars(findings)) + repr([*trace.requests]) + repr(trace.notes)
