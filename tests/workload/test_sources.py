"""Where a trace may lie."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.scenario.load import load_scenario
from sim.workload import sources
from sim.workload.load import load_workload
from sim.workload.trace_file import load_trace
from tests.workload.files import DATA, ROW, SHARED_TRACES, needs_shared


def write(path: Path, *rows: dict[str, object]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def parts(folder: Path) -> list[Path]:
    """Three parts of a trace, of which the second has two turns of one session."""
    a = {"session_id": "a"}
    return [
        write(folder / "part-1.jsonl", ROW | a),
        write(folder / "part-2.jsonl.gz", ROW | a | {"timestamp": 5}, ROW | {"timestamp": 6}),
        write(folder / "part-10.jsonl", ROW | {"timestamp": 7, "hash_ids": [1, 9]}),
    ]


def complaint(path: Path | list[Path], **options: object) -> str:
    with pytest.raises(InputError) as caught:
        load_trace(path, **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_parts_are_read_in_the_order_of_their_numbers_with_ids_and_sessions_of_one_trace(
    tmp_path: Path,
) -> None:
    parts(tmp_path)
    for path in (tmp_path, tmp_path / "part-*", tmp_path / "**/*.jsonl*"):
        trace = load_trace(path, chunk_tokens=512)
        assert [(r.session, r.turn) for r in trace.requests] == [
            ("a", 0),
            ("a", 1),
            ("part-2.jsonl.gz, line 2", 0),
            ("part-10.jsonl, line 1", 0),
        ]
        assert [list(r.chunks) for r in trace.requests] == [[1, 2]] * 3 + [[1, 9]]
        assert trace.place(3) == "part-10.jsonl, line 1: "
        assert (trace.in_file, trace.files) == (4, ("part-1.jsonl", "part-2.jsonl.gz", "part-10.jsonl"))


def test_files_that_are_no_parts_of_one_trace_have_ids_and_sessions_of_their_own(tmp_path: Path) -> None:
    row = ROW | {"session_id": "a"}
    paths = [write(tmp_path / "x.jsonl", row), write(tmp_path / "y.jsonl", row, row | {"timestamp": 4})]
    trace = load_trace(paths, chunk_tokens=512)
    assert trace.source == "x.jsonl and 1 more"
    assert [(r.session, r.turn) for r in trace.requests] == [("a", 0), ("y.jsonl: a", 0), ("y.jsonl: a", 1)]
    first, second, third = (set(r.chunks) for r in trace.requests)
    assert second == third
    assert first.isdisjoint(second)
    assert any("taken as its own" in note for note in trace.notes)


def test_a_folder_says_what_it_holds_that_is_no_trace(tmp_path: Path) -> None:
    write(tmp_path / "trace.jsonl", ROW, ROW)
    (tmp_path / "README.md").write_text("x")
    write(tmp_path / "in" / "config.json", {"a": 1})
    notes = load_trace(tmp_path, chunk_tokens=512).notes
    assert "files read, in the order of their names: 1" in notes
    assert "files of the folder that are no trace, not read: README.md, in/config.json" in notes


def test_a_folder_without_a_trace_or_with_several_formats_is_refused(tmp_path: Path) -> None:
    assert complaint(tmp_path).startswith(f"{tmp_path}: no file of this folder is a trace")
    (tmp_path / "azure.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n1,5,6\n")
    assert "is CSV, Azure's trace" in complaint(tmp_path)
    write(tmp_path / "trace.jsonl", ROW, ROW)
    (tmp_path / "tap.jsonl").write_bytes((DATA / "vllm_vcr.jsonl").read_bytes())
    message = complaint(tmp_path)
    assert "several formats: vllm-vcr (1, such as tap.jsonl), rows (1, such as trace.jsonl)" in message
    assert len(load_trace(tmp_path, format="vllm-vcr").requests) == 2
    assert len(load_trace(tmp_path, format="mooncake", chunk_tokens=512).requests) == 2


def test_a_bad_line_is_named_with_its_file(tmp_path: Path) -> None:
    [one, two, _] = parts(tmp_path)
    write(tmp_path / "part-3.jsonl", ROW | {"input_length": 0})
    assert complaint(tmp_path).startswith(f"{tmp_path / 'part-3.jsonl'}, line 1: input_length = 0")
    write(tmp_path / "part-3.jsonl", ROW | {"session_id": "a", "timestamp": 2})
    assert complaint(tmp_path, chunk_tokens=512) == (
        f"{tmp_path}, part-3.jsonl, line 1: timestamp = 2 of session a lies before 5 in "
        "part-2.jsonl.gz, line 1: the rows of a session are its turns in order"
    )
    assert one.exists()
    assert two.exists()


def test_a_pattern_without_a_match_is_refused(tmp_path: Path) -> None:
    assert complaint(tmp_path / "x*.jsonl") == f"{tmp_path / 'x*.jsonl'}: no file has such a name"


def test_a_name_with_characters_of_a_pattern_is_a_file_if_there_is_one(tmp_path: Path) -> None:
    path = write(tmp_path / "a[1].jsonl", ROW)
    assert len(load_trace(path, chunk_tokens=512).requests) == 1


def test_standard_input_is_a_trace_that_can_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stdin:
        buffer = io.BytesIO((json.dumps(ROW) + "\n").encode())

    monkeypatch.setattr(sys, "stdin", Stdin)
    sources._stdin.cache_clear()
    for _ in range(2):
        scenario = load_scenario("agg8", {"workload.path": "-", "workload.chunk_tokens": 512})
        trace = load_workload(scenario.workload, 0, tmp_path)
        assert (trace.source, len(trace.requests)) == ("stdin", 1)
    assert "standard input is a trace by itself" in complaint([Path("-"), tmp_path])
    sources._stdin.cache_clear()


def test_a_scenario_gives_a_list_a_folder_or_a_pattern_relative_to_itself(tmp_path: Path) -> None:
    parts(tmp_path / "logs")
    for value in (
        '["logs/part-1.jsonl", "logs/part-2.jsonl.gz", "logs/part-10.jsonl"]',
        '"logs"',
        '"logs/p*"',
    ):
        path = tmp_path / "own.toml"
        path.write_text(
            'model = "qwen3.8-27b-fp8"\ngpu = "h100-80gb"\n'
            f"[workload]\npath = {value}\nchunk_tokens = 512\n[workers]\ncount = 2\n"
        )
        scenario = load_scenario(path)
        assert len(load_workload(scenario.workload, 0, tmp_path).requests) == 4
        assert load_scenario(scenario).workload == scenario.workload
    path.write_text(path.read_text().replace('"logs/p*"', '["logs/part-1.jsonl", "logs/none.jsonl"]'))
    with pytest.raises(InputError, match=r"line 4: workload.path: no such file: .*none\.jsonl"):
        load_scenario(path)


def test_standard_input_is_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    sources._stdin.cache_clear()
    monkeypatch.setattr(sources.multiprocessing, "parent_process", object)
    with pytest.raises(InputError, match="-: standard input is there for one process alone: give a file"):
        load_trace(Path("-"))


@needs_shared
def test_folders_of_recorded_traces() -> None:
    trace = load_trace(SHARED_TRACES / "kv-cache-tester" / "raw_trace_*")
    assert (len(trace.requests), len(trace.sessions)) == (496, 5)
    assert len(load_trace(SHARED_TRACES / "mooncake").requests) == 12_031 + 865
