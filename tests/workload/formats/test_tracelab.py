"""TraceLab's rounds and the CSV of its replay."""

from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.workload.findings import Findings
from sim.workload.formats import claude_code, tracelab
from sim.workload.lowering import kept_tokens
from sim.workload.trace_file import load_trace
from tests.workload.files import SHARED_TRACES, needs_shared, written

HEADER = "session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms"


def row(index: int, prompt: int, prefix: int, *events: tuple[str, str], **more: Any) -> dict[str, Any]:
    times = [{"event_type": kind, "timestamp": f"2026-01-01T{at}Z"} for kind, at in events]
    return {
        "session_id": "s",
        "round_index": index,
        "round_id": f"r{index}",
        "model": "m",
        "input_tokens_total": prompt,
        "prefix_tokens": prefix,
        "output_tokens": 50,
        "timing_events": times,
        **more,
    }


ROUNDS = (
    row(0, 1000, 300, ("user_message", "10:00:00"), ("text", "10:00:04"), ("tool_call", "10:00:05")),
    row(1, 1100, 990, ("tool_result", "10:00:09"), ("tool_result", "10:00:07"), ("text", "10:00:12")),
    row(2, 1060, 640, ("user_message", "10:01:00"), ("tool_result", "10:01:09"), ("text", "10:01:05")),
)


def test_rounds_are_requests_sent_with_the_last_that_they_answer(tmp_path: Path) -> None:
    findings = Findings()
    found = tracelab.calls([written(tmp_path, *ROUNDS, ROUNDS[1], {"round_index": 9}, "{cut")], findings)
    assert [
        (call.name, call.send_s, call.end_s, call.kept_tokens, call.answer_tokens, call.by_tool)
        for call in found
    ] == [
        ("r0", 0.0, 5.0, 0, 0, False),
        ("r1", 9.0, 12.0, 1000, 50, True),
        ("r2", 60.0, 65.0, 640, 0, False),
    ]
    assert findings.dropped == {
        "lines that are no JSON object, such as those cut in the middle": 1,
        "rows that repeat a round": 1,
        "rows without counts or times": 1,
    }


def replayed(folder: Path, *rows: str) -> Path:
    path = folder / "replay.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_a_replay_has_prefixes_answers_and_waits(tmp_path: Path) -> None:
    path = replayed(
        tmp_path, "0,100,0,0,512,64,1500", "0,100,1,576,128,64,0", "0,100,2,700,9,64,0", "1,350,0,0,40,8,0"
    )
    trace = load_trace(path, chunk_tokens=64)
    assert [
        (request.session, request.timestamp_s, request.delay_s, request.prompt_tokens, request.answer)
        for request in trace.requests
    ] == [
        ("0", 0.0, None, 512, None),
        ("1", 0.25, None, 40, None),
        ("0", None, 1.5, 704, (0, 512, 576)),
        ("0", None, 0.0, 709, None),
    ]
    first, _, second, third = (list(request.chunks) for request in trace.requests)
    # 512 tokens and the answer behind them; of 704 the first 700.
    assert [second[:8] == first, third[:10] == second[:10], third[10] == second[10]] == [True, True, False]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["0,0,0,0,0,5,0"], r"line 2: prefix_len \+ input_len = 0: must be from 1"),
        (["0,0,0,-1,9,5,0"], "line 2: prefix_len = '-1': must be a whole number from 0"),
        (["0,0,0,1,9,5"], "line 2: has 6 fields, must have 7"),
        ([], "holds no round"),
    ],
)
def test_a_replay_that_makes_no_sense_is_refused(tmp_path: Path, rows: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_trace(replayed(tmp_path, *rows))


def test_files_without_a_round_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no round with counts and times"):
        tracelab.calls([written(tmp_path, {"round_index": 9, "input_tokens_total": 5})], Findings())


@needs_shared
def test_recorded_rounds_are_what_their_transcript_gives() -> None:
    rounds = tracelab.calls([SHARED_TRACES / "tracelab" / "example_round_trace.jsonl"], Findings())
    transcript = claude_code.calls([SHARED_TRACES / "claude-code" / "tracelab_sample.jsonl"], Findings())

    def shown(calls: list[Any]) -> list[tuple[object, ...]]:
        return [
            (each.prompt_tokens, each.output_tokens, each.kept_tokens, each.answer_tokens, each.cached_tokens)
            for each in calls
        ]

    of_claude = [each for each in rounds if each.stream.startswith("claude:")]
    assert shown(of_claude) == shown(transcript)
    # Rounds leave out attachments, which come some milliseconds later than what they are attached to.
    apart = [
        (each.send_s or 0) - (of_claude[0].send_s or 0) - (other.send_s or 0)
        for each, other in zip(of_claude, transcript, strict=True)
    ]
    assert max(map(abs, apart)) < 0.005
    of_codex = [each for each in rounds if each.stream.startswith("codex:")]
    assert (len(of_codex), kept_tokens(of_codex)) == (9, 82_466)
