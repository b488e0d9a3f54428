"""What holds for every format whose objects are no rows by themselves; each has an example here."""

import gzip
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.workload.formats import FORMATS, told
from sim.workload.formats.records import RecordFormat
from sim.workload.formats.row import RowFormat
from sim.workload.trace_file import load_trace
from tests.workload.files import DATA, ROW

EXAMPLES = {
    "agentic_mooncake": "agentic.jsonl",
    "bailian": "bailian.jsonl",
    "dynamo": "request_trace.jsonl",
    "kv-cache-tester": "kv_cache_tester.jsonl",
    "vllm-vcr": "vllm_vcr.jsonl",
}
every_format = pytest.mark.parametrize("name", EXAMPLES)
SIZES = {"agentic_mooncake": 64}
"""Chunk sizes of those whose files do not tell them."""


def lines(name: str) -> list[str]:
    return (DATA / EXAMPLES[name]).read_text().splitlines()


def load(path: Path, name: str, **options: Any) -> Any:
    return load_trace(path, chunk_tokens=SIZES.get(name), **options)


def test_every_format_has_an_example() -> None:
    assert {name for name, each in FORMATS.items() if isinstance(each, RecordFormat)} == EXAMPLES.keys()


@every_format
def test_its_objects_are_told_and_no_row_is(name: str) -> None:
    kinds = {found.name for line in lines(name) if (found := told(json.loads(line))) is not None}
    assert kinds == {name}
    assert told(ROW) is None
    for other, each in FORMATS.items():
        if other != name and not isinstance(each, RowFormat):
            assert not any(each.tells(json.loads(line)) for line in lines(name))


@every_format
def test_it_is_read_alike_told_or_stated_plain_or_packed(tmp_path: Path, name: str) -> None:
    trace = load(DATA / EXAMPLES[name], name)
    assert trace.format == name
    assert trace.notes[0].startswith(f"read as {name}: timestamps in units of ")
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress((DATA / EXAMPLES[name]).read_bytes()))
    assert load(packed, name, format=name).requests == trace.requests


@every_format
def test_requests_are_whole_and_wait_for_earlier_ones(name: str) -> None:
    trace = load(DATA / EXAMPLES[name], name)
    for index, request in enumerate(trace.requests):
        assert request.index == index
        assert request.prompt_tokens > 0 < request.output_tokens
        assert len(request.chunks) == -(-request.prompt_tokens // trace.chunk_tokens)
        assert all(other < index for other in request.waits_for)
        assert request.delay_s is None or request.delay_s >= 0
    assert len(trace.recorded) in (0, len(trace.requests))
    assert len(trace.lines) == len(trace.requests) <= (trace.in_file or 0)


@every_format
def test_the_first_sessions_can_be_taken(name: str) -> None:
    whole = load(DATA / EXAMPLES[name], name)
    part = load(DATA / EXAMPLES[name], name, sessions=1)
    started_by_none = [r.session for r in part.requests if r.turn == 0 and not r.waits_for]
    assert len(started_by_none) == 1
    assert part.in_file == whole.in_file


@every_format
def test_no_value_of_an_object_can_break_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / "trace.jsonl"
    good = lines(name)
    for number, line in enumerate(good):
        for key in json.loads(line):
            for value in (None, -1, "x", [], [None], {}, {"a": 1}, 1e300, True):
                bad = json.loads(line) | {key: value}
                path.write_text("\n".join([*good[:number], json.dumps(bad), *good[number + 1 :]]))
                with suppress(InputError):
                    load(path, name, format=name)


@every_format
def test_lines_that_are_wrong_are_all_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join([*lines(name), "{bad", "[]"]))
    with pytest.raises(InputError) as caught:
        load(path, name)
    n = len(lines(name))
    assert f"line {n + 1}: not valid JSON" in str(caught.value)
    assert f"line {n + 2}: a list: every line must hold one JSON object" in str(caught.value)
