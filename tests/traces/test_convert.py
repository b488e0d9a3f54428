"""Traces as files: what is read again is what was written."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.traces.convert import NEW_IDS, convert
from sim.traces.moments import placed
from sim.traces.writers import WRITERS
from sim.workload.request import Answer, Trace
from sim.workload.trace_file import load_trace
from tests.traces.test_walk import SMALL, request
from tests.workload.strategies import traces

TWO = Trace(
    (
        replace(request(0, "a", 0, 150, [1, 2]), timestamp_s=0.0),
        replace(request(1, "agent", 0, 100, [1]), timestamp_s=1.5, delay_s=0.5, waits_for=(0,)),
        replace(
            request(2, "a", 1, 250, [1, 3, 4]),
            timestamp_s=2.0625,
            delay_s=0.125,
            waits_for=(0, 1),
            answer=Answer(0, 150, 155),
            priority=2,
            model="m",
            cancel_after_s=9.0,
        ),
    ),
    100,
    "two",
)


def written(trace: Trace, file: Path, to: str) -> list[dict[str, object]]:
    convert(trace, file, to, force=True)
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_rows_of_mooncake_and_dynamo(tmp_path: Path) -> None:
    mooncake = written(TWO, tmp_path / "m.jsonl", "mooncake")
    assert mooncake[2] == {
        "session_id": "a",
        "timestamp": 2062.5,
        "delay": 125,
        "input_length": 250,
        "output_length": 5,
        "hash_ids": [1, 3, 4],
    }
    assert list(mooncake[0]) == ["session_id", "timestamp", "input_length", "output_length", "hash_ids"]
    dynamo = written(TWO, tmp_path / "d.jsonl", "dynamo")
    assert dynamo[2] == mooncake[2] | {"request_id": "r2", "priority": 2}
    agentic = written(TWO, tmp_path / "a.jsonl", "agentic_mooncake")
    assert [row.get("wait_for") for row in agentic] == [None, ["r0"], ["r0", "r1"]]


def test_rows_of_a_timed_trace_have_times_in_seconds(tmp_path: Path) -> None:
    untimed = replace(TWO.requests[2], timestamp_s=None)
    rows = written(replace(TWO, requests=(*TWO.requests[:2], untimed)), tmp_path / "t.jsonl", "timed_trace")
    assert rows == [
        {"timestamp": 0.0, "input_length": 150, "output_length": 5, "hash_ids": [1, 2]},
        {"timestamp": 1.5, "input_length": 100, "output_length": 5, "hash_ids": [1]},
        {"timestamp": 1.625, "input_length": 250, "output_length": 5, "hash_ids": [1, 3, 4]},
    ]


def test_what_a_format_cannot_say_is_counted(tmp_path: Path) -> None:
    everywhere = [
        "requests of which it is not said which tokens are an earlier answer "
        '(replay.answers = "returned" tells them again by lengths and ids): 1',
        "requests without the model that they name: 1",
        "requests that their clients do not give up: 1",
    ]
    waits = [
        "requests that no longer wait for those of other sessions: 1",
        "requests that wait for the turn before alone, not for all that they waited for: 1",
    ]
    turns = ["later turns that leave at their times, as rows have no sessions: 1"]
    priority = ["requests without their priority: 1"]
    file = tmp_path / "file"
    for name, lost in {
        "agentic_mooncake": [],
        "dynamo": waits,
        "mooncake": waits + priority,
        "timed_trace": waits + priority + turns,
    }.items():
        assert sorted(convert(TWO, file, name, force=True)) == sorted(everywhere + lost)
    assert convert(replace(TWO, requests=TWO.requests[:1]), file, "mooncake", force=True) == []


def test_tags_are_kept_by_mooncake_and_lost_elsewhere(tmp_path: Path) -> None:
    one = replace(SMALL, requests=(replace(SMALL.requests[0], tag="rate-3"), *SMALL.requests[1:]))
    file = tmp_path / "file"
    assert [row.get("tag") for row in written(one, file, "mooncake")][:2] == ["rate-3", None]
    read = load_trace(file, format="mooncake", chunk_tokens=SMALL.chunk_tokens)
    assert read.has_tags
    assert [request.tag for request in read.requests][:2] == ["rate-3", None]
    assert "requests without their tag: 1" in convert(one, file, "dynamo", force=True)


def test_ids_that_others_cannot_take_are_new(tmp_path: Path) -> None:
    # 3 stands for a full chunk in one prompt, and for half of one in another.
    assert written(SMALL, tmp_path / "a", "mooncake")[3]["hash_ids"] == [1, 2, 3]
    twice = Trace((request(0, "a", 0, 150, [7, 3]), request(1, "b", 0, 300, [7, 3, 9])), 100, "twice")
    assert convert(twice, tmp_path / "b", "mooncake") == [NEW_IDS]
    assert [row["hash_ids"] for row in written(twice, tmp_path / "b", "mooncake")] == [[0, 1], [0, 2, 3]]
    large = Trace(
        (request(0, "a", 0, 200, [2**64 - 1, 5]), request(1, "b", 0, 200, [5, 2**63])), 100, "large"
    )
    assert [row["hash_ids"] for row in written(large, tmp_path / "c", "mooncake")] == [[0, 1], [1, 2]]


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text("mine")
    with pytest.raises(InputError, match="exists; give a new file, or --force to replace it"):
        convert(TWO, file, "mooncake")
    assert file.read_text() == "mine"

    def broken() -> None:
        raise RuntimeError("half way")

    class Half(tuple):  # type: ignore[type-arg]
        def __iter__(self):  # type: ignore[no-untyped-def]
            yield TWO.requests[0]
            broken()

    with pytest.raises(RuntimeError, match="half way"):
        convert(replace(TWO, requests=Half(TWO.requests)), tmp_path / "new.jsonl", "mooncake")
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    with pytest.raises(InputError, match=r"^--to 'csv': no trace is written so \(known: agentic_moon"):
        convert(TWO, tmp_path / "x", "csv")


def test_a_packed_file_has_equal_bytes(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        convert(TWO, tmp_path / name, "mooncake")
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    plain = written(TWO, tmp_path / "a.jsonl", "mooncake")
    lines = gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).splitlines()
    assert [json.loads(line) for line in lines] == plain


def identities(trace: Trace) -> list[list[int]]:
    """Return the chunks of every prompt, by when they first appeared: an id at a size."""
    known: dict[tuple[int, int], int] = {}
    found = []
    for one in trace.requests:
        tail = one.prompt_tokens % trace.chunk_tokens
        sizes = [0] * (len(one.chunks) - bool(tail)) + [tail] * bool(tail)
        found.append([known.setdefault(key, len(known)) for key in zip(one.chunks, sizes, strict=True)])
    return found


Said = Callable[[Trace], list[tuple[object, ...]]]


def turns(trace: Trace) -> list[tuple[object, ...]]:
    return [
        (one.session, one.turn, one.timestamp_s, one.prompt_tokens, one.output_tokens)
        for one in trace.requests
    ]


def open_loop(trace: Trace) -> list[tuple[object, ...]]:
    return [(one.timestamp_s, one.prompt_tokens, one.output_tokens) for one in trace.requests]


@pytest.mark.parametrize(
    ("to", "said"),
    [("mooncake", turns), ("dynamo", turns), ("agentic_mooncake", turns), ("timed_trace", open_loop)],
)
@given(trace=traces(), packed=st.booleans())
def test_what_is_read_again_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, to: str, said: Said, trace: Trace, packed: bool
) -> None:
    file = tmp_path_factory.mktemp("again") / ("t.jsonl.gz" if packed else "t.jsonl")
    convert(trace, file, to)
    format = "mooncake" if to == "dynamo" else to
    again = load_trace(file, format=format, chunk_tokens=trace.chunk_tokens, full_prompts=True)
    if to == "agentic_mooncake":  # what leaves at one time is read by who waits for whom
        again, trace = by_session(again), by_session(trace)
        assert waits(again) == waits(trace)
    assert said(again) == said(trace)
    assert identities(again) == identities(trace)
    if to != "timed_trace":
        delays = [one.delay_s for one in trace.requests if one.turn]
        assert [one.delay_s for one in again.requests if one.turn] == delays
    if to in {"dynamo", "agentic_mooncake"}:
        assert [one.priority for one in again.requests] == [one.priority for one in trace.requests]


@pytest.mark.parametrize("to", ["mooncake", "dynamo"])
def test_sub_agents_without_a_timestamp_begin_when_what_they_wait_for_lets_them(
    tmp_path: Path, to: str
) -> None:
    untimed = replace(TWO.requests[1], timestamp_s=None)
    trace = replace(TWO, requests=(replace(TWO.requests[0], timestamp_s=4.0), untimed))
    said = convert(trace, tmp_path / "out.jsonl", to)
    assert "requests without a timestamp, which got the earliest at which they could leave: 1" in said
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(row["timestamp"], row.get("delay")) for row in rows] == [(4000, None), (4500, None)]


def by_session(trace: Trace) -> Trace:
    """Return the requests in the order of their sessions' names and turns, those waited for by index."""
    order = sorted(trace.requests, key=lambda one: (one.session, one.turn))
    index = {one.index: number for number, one in enumerate(order)}
    before = {one.index: place.before for one, place in placed(trace)}
    requests = [
        replace(
            one,
            index=index[one.index],
            waits_for=tuple(sorted(index[other] for other in one.waits_for or waited(before[one.index]))),
        )
        for one in order
    ]
    return replace(trace, requests=requests)


def waited(before: int | None) -> tuple[int, ...]:
    return () if before is None else (before,)


def waits(trace: Trace) -> list[tuple[object, ...]]:
    """Return what each request waits for, the turn before said even where it is alone, and how long."""
    return [(one.waits_for, one.delay_s) for one in trace.requests]


def test_every_writer_is_tried() -> None:
    assert {*WRITERS} == {"agentic_mooncake", "dynamo", "mooncake", "timed_trace"}
