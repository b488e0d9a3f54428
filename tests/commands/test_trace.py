"""`sim trace`: what it prints, writes and refuses."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import sim
from sim.cli import app
from sim.workload.trace_file import load_trace

ROWS = [
    {"session_id": "a", "timestamp": 0, "input_length": 1200, "output_length": 50, "hash_ids": [1, 2, 3]},
    {"session_id": "b", "timestamp": 500, "input_length": 1024, "output_length": 0, "hash_ids": [1, 7]},
    {"session_id": "a", "delay": 1500, "input_length": 1800, "output_length": 50, "hash_ids": [1, 2, 5, 6]},
    {"session_id": "a", "delay": 1000, "input_length": 900, "output_length": 9, "hash_ids": [1, 8]},
]


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("trace.jsonl")
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["trace", *arguments])


def test_inspect_prints_json(trace: Path) -> None:
    result = call("inspect", str(trace), "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["format"] == "mooncake"
    assert (found["requests"], found["sessions"]) == (4, 2)
    assert (found["prompt_tokens"], found["output_tokens"]) == (4924, 110)
    # b and the last turn of a start as a did (512 each); a's second turn keeps two chunks.
    assert found["ideal_hit"] == 2048 / 4924
    assert found["time_unit_s"] == 0.001
    assert found["fixed"] == 1
    assert (found["kept_tokens"], found["dropped"], found["answer_tokens"]) == (None, 0, 0)


def test_inspect_prints_a_page(trace: Path) -> None:
    lines = call("inspect", str(trace)).stdout.splitlines()
    assert lines[0].split() == ["trace.jsonl:", "mooncake", "500", "ms", "from", "first", "to", "last"]
    assert lines[1] == "4 requests · 2 sessions · 4,924 prompt tokens · 110 output tokens · 1 changed"
    rows = [" ".join(line.split()) for line in lines]
    assert "Turns a session 2 2 1 2 3 3 3" in rows
    assert "append to the turn before 1 50.0 % Answers in prompts 0 tokens" in rows


def test_inspect_keeps_three_plots(trace: Path, tmp_path: Path) -> None:
    assert call("inspect", str(trace), "--out", "kept").exit_code == 0
    kept = tmp_path / "kept"
    assert {path.name for path in kept.iterdir()} == {
        "gaps.png",
        "lengths.png",
        "reuse.png",
        "summary.json",
    }
    assert json.loads((kept / "summary.json").read_text())["requests"] == 4
    assert call("inspect", str(trace), "--out", "kept").exit_code == 2
    assert call("inspect", str(trace), "--out", "kept", "--force").exit_code == 0


def test_keys_of_the_workload_say_how_to_read(trace: Path) -> None:
    found = call("inspect", str(trace), "--set", "workload.sessions=1", "--format", "json")
    assert json.loads(found.stdout)["requests"] == 3
    result = call("inspect", str(trace), "--from", "mooncake-delta", "--format", "json")
    assert json.loads(result.stdout)["format"] == "mooncake-delta"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--set", "router.policy=kv"), "--set router.policy=kv: only keys of [workload] say how a trace is"),
        (("--set", "workload.chunks=1"), "--set workload.chunks=1: unknown key"),
        (
            ("--set", "workload.turns=1"),
            "--set workload.turns=1: does not say how a trace is read (known: ",
        ),
        (("--set", "workload.chunk_tokens=0"), "workload.chunk_tokens = 0: must be greater than 0"),
        (("--from", "mooncak"), "workload.format = 'mooncak'"),
    ],
)
def test_what_cannot_say_how_to_read_is_refused(trace: Path, arguments: tuple[str, ...], says: str) -> None:
    result = call("inspect", str(trace), *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {says}")
    assert result.stdout == ""


def test_what_is_no_trace_is_refused(trace: Path) -> None:
    Path("bad.jsonl").write_text('{"timestamp": 0, "input_length": 5, "output_length": 5}\n')
    for command in (("inspect", "bad.jsonl"), ("convert", "bad.jsonl", "out", "--to", "mooncake")):
        result = call(*command)
        assert result.exit_code == 2
        assert "bad.jsonl, line 1" in result.stderr
    assert call("inspect", "nowhere.jsonl").exit_code == 2
    assert not Path("out").exists()


def test_convert_says_what_it_wrote_and_lost(trace: Path) -> None:
    result = call("convert", str(trace), "out.jsonl", "--to", "timed_trace")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.rstrip() for line in result.stdout.splitlines()][:4] == [
        "out.jsonl: 4 requests, 2 sessions of trace.jsonl, as timed_trace",
        "",
        "! lost: later turns that leave at their times, as rows have no sessions: 2",
        "! lost: requests without a timestamp, which got the earliest at which they could leave: 2",
    ]
    times = [json.loads(line)["timestamp"] for line in Path("out.jsonl").read_text().splitlines()]
    assert times == [0.0, 0.5, 1.5, 2.5]
    again = call("convert", str(trace), "out.jsonl", "--to", "mooncake")
    assert again.exit_code == 2
    assert "exists; give a new file, or --force to replace it" in again.stderr
    assert call("convert", str(trace), "out.jsonl", "--to", "mooncake", "--force").exit_code == 0
    assert json.loads(Path("out.jsonl").read_text().splitlines()[2])["delay"] == 1500


def test_an_unknown_target_is_refused_before_anything_is_read() -> None:
    result = call("convert", "nowhere.jsonl", "out.jsonl", "--to", "dynano")
    assert result.exit_code == 2
    assert "--to 'dynano': no trace is written so; did you mean 'dynamo'?" in result.stderr


def test_generate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = ("--profile", "kct", "--sessions", "3", "--turns", "2", "--seed", "4")
    result = call("generate", "g.jsonl.gz", *settings, "--window", "first", "--to", "dynamo")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "g.jsonl.gz: 6 requests, 3 sessions of kct, as dynamo" in result.stdout
    trace = load_trace(Path("g.jsonl.gz"))
    assert len(trace.requests) == 6
    assert call("generate", "g.jsonl.gz", *settings).exit_code == 2
    wrong = call("generate", "h.jsonl", "--profile", "talc", "--sessions", "3")
    assert wrong.exit_code == 2
    assert "--profile = 'talc'" in wrong.stderr


def test_sample_says_the_ideal_hit_before_and_after(trace: Path) -> None:
    result = call("sample", str(trace), "s.jsonl", "--turns", "1", "--window", "last")
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[:3] == [
        "s.jsonl: 2 requests, 2 sessions of trace.jsonl, as mooncake",
        "",
        # What is left are [1, 7] and [1, 8].
        "· ideal hit 41.6 % before, 26.6 % after",
    ]
    assert [one.session for one in load_trace(Path("s.jsonl")).requests] == ["b", "a"]
    assert call("sample", str(trace), "t.jsonl", "--sessions", "3").exit_code == 2


def test_python_has_the_same(trace: Path) -> None:
    loaded = sim.load_trace(trace)
    found = sim.inspect(loaded)
    assert (found.requests, found.ideal_hit) == (4, 2048 / 4924)
    assert sim.convert(sim.sample(loaded, 1), Path("one.jsonl"), "mooncake") == []
    assert len(sim.load_trace(Path("one.jsonl")).sessions) == 1


SECRET = "the text of a person"


def transcript(folder: Path, session: str) -> None:
    """Write a question, an answer that calls a tool, its result, and an answer."""
    folder.mkdir(parents=True)
    lines: list[dict[str, object]] = []
    for number, (read, created) in enumerate([(0, 1190), (1190, 298)]):
        parent = lines[-1]["uuid"] if lines else None
        asked = {"uuid": f"u{number}{session}", "parentUuid": parent, "type": "user"}
        usage = {
            "input_tokens": 10,
            "cache_creation_input_tokens": created,
            "cache_read_input_tokens": read,
            "output_tokens": 50,
        }
        message = {"id": f"m{number}{session}", "model": "m", "stop_reason": "end_turn", "usage": usage}
        lines += [
            asked | {"timestamp": f"2026-01-01T10:0{number}:00Z", "message": {"content": SECRET}},
            {"uuid": f"a{number}{session}", "parentUuid": asked["uuid"], "type": "assistant"}
            | {"timestamp": f"2026-01-01T10:0{number}:09Z", "message": message | {"content": []}},
        ]
    text = "".join(f"{json.dumps(line | {'sessionId': session})}\n" for line in lines)
    (folder / f"{session}.jsonl").write_text(text)


def test_import_writes_no_text_and_no_names_of_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    nothing = call("import", "claude-code")
    assert nothing.exit_code == 2
    assert "claude-code: nothing is where it usually writes; give its folders or files" in nothing.stderr
    for project in ("-home-me-secret", "-home-me-other"):  # two sessions of one name
        transcript(tmp_path / "claude" / "projects" / project, "S1")

    result = call("import", "claude-code")
    assert result.exit_code == 0, result.stderr
    assert f"Reads {tmp_path / 'claude' / 'projects'}" in result.stderr
    assert "claude-code.jsonl: 2 requests, 1 session" in result.stdout
    written = Path("claude-code.jsonl").read_text()
    assert SECRET not in written
    assert "home" not in written
    rows = [json.loads(line) for line in written.splitlines()]
    assert [(row["input_length"], row["output_length"]) for row in rows] == [(1200, 50), (1498, 50)]
    assert rows[0]["hash_ids"][:18] == rows[1]["hash_ids"][:18]
    assert (rows[1]["wait_for"], rows[1]["delay"]) == (["r0"], 51_000)
    assert call("import", "claude").exit_code == 2
    assert call("import", "claude-code").exit_code == 2
    assert call("import", "claude-code", str(tmp_path / "claude"), "--out", "b.jsonl").exit_code == 0
    assert load_trace(Path("b.jsonl")).requests == load_trace(Path("claude-code.jsonl")).requests


def test_names_of_projects_are_numbered() -> None:
    from sim.traces.logs import without_folders
    from sim.workload.request import Trace
    from tests.traces.test_walk import request

    names = ("-home-me-a/S1", "-home-me-b/S1", "-home-me-a/S1/subagents/agent-x", "S2")
    trace = Trace(tuple(request(at, name, 0, 64, [at]) for at, name in enumerate(names)), 64, "logs")
    assert without_folders(trace).sessions == (
        "project-0/S1",
        "project-1/S1",
        "project-0/S1/subagents/agent-x",
        "S2",
    )


def test_no_file_is_called_as_standard_output_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("generate", "-", "--profile", "kct", "--sessions", "1", "--turns", "2")
    assert result.exit_code == 2
    assert "OUT -: nothing is written to standard output; give a file" in result.output
    assert not [*tmp_path.iterdir()]


DESCRIBED = """
model = "llama-3.1-8b-bf16"
gpu = "h100-80gb"
workers = { count = 1 }
seed = 3

[workload.synthetic]
kind = "chat"
sessions = 4
turns = 2
passages = 2
passage_tokens = 640
"""


def test_generate_writes_the_workload_of_a_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(DESCRIBED)
    result = call("generate", "g.jsonl", "--scenario", "./s.toml", "--set", "workload.synthetic.sessions=3")
    assert (result.exit_code, result.stderr) == (0, "")
    trace = load_trace(Path("g.jsonl"))
    # A prompt of 640 shared tokens, 100 asked, 500 answered and 100 asked again.
    assert sorted((r.session, r.prompt_tokens) for r in trace.requests) == [
        (f"chat-{session}", tokens) for session in range(3) for tokens in (740, 1340)
    ]
    again = call("generate", "h.jsonl", "--scenario", "./s.toml", "--seed", "3", "--to", "mooncake")
    assert again.exit_code == 0
    assert len(load_trace(Path("h.jsonl")).requests) == 8


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "give --profile, or --scenario"),
        (["--scenario", "agg8", "--turns", "3"], "--turns: not beside --scenario"),
        (["--profile", "kct", "--sessions", "1", "--set", "seed=3"], "--set seed=3: only beside --scenario"),
        (["--profile", "kct"], "--sessions is missing"),
    ],
)
def test_generate_says_what_does_not_go_together(
    options: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("generate", "g.jsonl", *options)
    assert result.exit_code == 2
    assert why in result.stderr
    assert not Path("g.jsonl").exists()
