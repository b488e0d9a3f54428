"""Each format that is not read is named, with what can be done."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.workload.formats.foreign import FORMATS, foreign_format
from sim.workload.trace_file import load_trace
from tests.workload.files import ROW, SHARED_TRACES, load, needs_shared, refusal

RECORDS: dict[str, list[dict[str, Any]]] = {
    "OpenTelemetry's metrics or logs": [{"resourceMetrics": []}, {"resourceLogs": []}],
    "LiteLLM's spend log": [{"startTime": "a", "endTime": "b", "total_tokens": 5}],
    "ShareGPT's conversations": [{"id": "a", "conversations": []}],
    "AIPerf's trace with text": [{"text_input": "hello"}, {"messages": []}],
    "AIPerf's inputs.json": [{"data": [{"session_id": "s", "payloads": []}]}],
    "Dynamo's applied_compute_agentic": [{"num_turns": 2}],
    "AIPerf's summary (profile_export_aiperf.json)": [{"input_config": {}, "request_throughput": {}}],
    "GuideLLM's benchmarks": [{"metadata": {}, "benchmarks": []}],
    "the result of vllm bench serve": [{"request_throughput": 1.5, "completed": 10}],
}
READ: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "S", "message": {}},
    "codex": {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {}},
    "aiperf": {"metadata": {"session_num": 0, "request_start_ns": 5}, "metrics": {}},
    "tracelab": {"session_id": "s", "round_index": 0, "input_tokens_total": 9, "prefix_tokens": 4},
    "otel": {"resourceSpans": []},
    "dynamo": {"timestamp": 5, "event": {"schema": "dynamo.request.trace.v1"}},
    "kv-cache-tester": {"id": "t", "block_size": 64, "requests": []},
    "vllm-vcr": {"meta": {"block_size": 16}},
}
"""A record of each format that is told by it and has no rows."""
CASES = [(name, record) for name, records in RECORDS.items() for record in records]


def test_every_format_has_an_example() -> None:
    assert {foreign.name for foreign in FORMATS} == set(RECORDS)


@pytest.mark.parametrize(("name", "record"), CASES)
@pytest.mark.parametrize("stated", ["auto", "mooncake", "timed_trace"])
def test_a_foreign_record_is_named_with_the_way_out(
    tmp_path: Path, name: str, record: dict[str, Any], stated: str
) -> None:
    message = refusal(tmp_path, record, record, format=stated)
    way_out = next(foreign.way_out for foreign in FORMATS if foreign.name == name)
    assert message.startswith("line 1: key")
    assert message.endswith(f"to {name} format, which is not read yet: {way_out}")


@pytest.mark.parametrize(("name", "record"), READ.items(), ids=READ)
def test_a_record_of_another_format_than_the_stated_one_is_named(
    tmp_path: Path, name: str, record: dict[str, Any]
) -> None:
    assert refusal(tmp_path, record, format="mooncake") == (
        f'line 1: is of format {name}, not mooncake: set format = "{name}"'
    )


@pytest.mark.parametrize(("name", "record"), CASES)
@pytest.mark.parametrize("in_list", [False, True])
def test_a_foreign_record_over_many_lines_is_named_too(
    tmp_path: Path, name: str, record: dict[str, Any], *, in_list: bool
) -> None:
    path = tmp_path / "pretty.json"
    path.write_text(json.dumps([record] if in_list else record, indent=2))
    with pytest.raises(InputError, match=r"is JSON over many lines|is a JSON array") as caught:
        load_trace(path)
    assert f"{name} format" in str(caught.value)


def test_rows_that_are_read_are_no_foreign_format() -> None:
    full = ROW | {
        "session_id": "a",
        "delay": 1,
        "request_id": "r",
        "priority": 1,
        "type": "text",
        "model": "m",
    }
    assert foreign_format(ROW) is foreign_format(full) is None


def test_one_foreign_row_after_many_is_named_with_its_line_alone(tmp_path: Path) -> None:
    rows = [ROW] * 200 + [{"num_turns": 2}] * 20
    assert refusal(tmp_path, *rows).startswith('line 201: key "num_turns" belongs')


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": [1]}]', "jq -c '.[]' FILE"),
        (json.dumps(ROW, indent=2), "is JSON over many lines, and a trace has one object a line: jq -c '.'"),
        ("arrived_at,num_prefill_tokens,num_decode_tokens\n0,5,6\n", "is CSV, Azure's trace (Splitwise)"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n1,5,6\n", "is CSV, Azure's trace, which"),
        ("Timestamp,Model,Request tokens,Response tokens\n1,a,5,6\n", "is CSV, BurstGPT"),
        ("a,b\n1,2\n", "is CSV with columns 'a, b', and a trace is JSONL: convert it"),
        (b"\x28\xb5\x2f\xfd1234", "is compressed with zstd"),
        (b"PAR1....", "is Parquet"),
        (b"\x80\x02\x95", "is a Python pickle, such as SGLang's request dumps, which can run code"),
        (b"\x80\x04\x95", "is a Python pickle, such as SGLang's request dumps, which can run code"),
        (
            "INFO 12-01 10:00:00 [logger.py:39] Received request cmpl-1: prompt: 'a'",
            "is a log of vLLM's server",
        ),
        ("(APIServer pid=7) INFO 12-01 10:00:00 [api.py:1] x", "is a log of vLLM's server"),
    ],
)
def test_what_is_no_jsonl_is_named_with_the_way_out(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        load_trace(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(InputError) as again:
        load_trace(path)
    assert message in str(again.value)


def test_a_part_of_a_trace_says_that_there_are_others(tmp_path: Path) -> None:
    for name in ("part-000.jsonl", "part-001.jsonl", "part-002.jsonl", "other.jsonl"):
        (tmp_path / name).write_text((json.dumps(ROW) + "\n") * 2)
    notes = load_trace(tmp_path / "part-001.jsonl", chunk_tokens=512).notes
    assert "files of such a name beside it, which are not read: 2" in notes
    assert not any(
        "beside it" in note for note in load_trace(tmp_path / "other.jsonl", chunk_tokens=512).notes
    )


def test_models_of_rows_are_counted_where_there_are_several(tmp_path: Path) -> None:
    rows = [ROW | {"model": name} for name in ("b", "a", "b")]
    note = "rows name 2 models, all simulated as the scenario's: b (2), a (1)"
    assert note in load(tmp_path, *rows).notes
    assert "keys without a meaning here, left out: model" in load(tmp_path, rows[0], rows[0]).notes


@needs_shared
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("azure-splitwise/splitwise_conv.csv", "Azure's trace (Splitwise)"),
    ],
)
def test_recorded_files_that_are_not_read_are_named(file: str, name: str) -> None:
    for stated in ("auto", "mooncake"):
        with pytest.raises(InputError) as caught:
            load_trace(SHARED_TRACES / file, format=stated)
        assert name in str(caught.value)
