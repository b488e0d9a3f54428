"""Codex's rollouts: a request for each count of tokens that is new, copies of forks left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.workload.calls import Call
from sim.workload.findings import Findings
from sim.workload.formats.codex import calls, tells
from sim.workload.trace_file import load_trace

Line = dict[str, Any]
SECRET = "Zwetschgenkuchen"


def line(kind: str, at: str, **payload: Any) -> Line:
    return {"timestamp": f"2026-01-01T{at}Z", "type": kind, "payload": payload}


def meta(session: str, at: str, **more: Any) -> Line:
    return line("session_meta", at, id=session, cwd=SECRET, **more)


def count(at: str, prompt: int, cached: int, output: int, total: int | None) -> Line:
    last = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": output}
    info = {"last_token_usage": last} | (
        {} if total is None else {"total_token_usage": {"total_tokens": total}}
    )
    return line("event_msg", at, type="token_count", info=info)


def said(at: str) -> Line:
    return line("response_item", at, type="message", role="user", content=[{"text": SECRET}])


def answered(at: str) -> Line:
    return line("response_item", at, type="message", role="assistant", content=[{"text": SECRET}])


def called(at: str) -> Line:
    return line("response_item", at, type="function_call", name=SECRET, call_id="c")


def result(at: str) -> Line:
    return line("response_item", at, type="function_call_output", call_id="c", output=SECRET)


def session(name: str = "s") -> list[Line]:
    """Two requests, the second with the result of a tool."""
    return [
        meta(name, "10:00:00"),
        line("turn_context", "10:00:00.100", model="gpt"),
        said("10:00:01"),
        line("event_msg", "10:00:01.500", type="token_count", info=None),
        called("10:00:03"),
        count("10:00:04", 1000, 600, 50, 1050),
        result("10:00:10"),
        count("10:00:10.500", 1000, 600, 50, 1050),
        answered("10:00:12"),
        count("10:00:13", 1100, 960, 30, 2180),
    ]


def read(folder: Path, **rollouts: list[Line | str]) -> tuple[list[Call], Findings]:
    for name, lines in rollouts.items():
        written = (each if isinstance(each, str) else json.dumps(each) for each in lines)
        (folder / f"rollout-{name}.jsonl").write_text("\n".join(written))
    findings = Findings()
    return calls([folder], findings), findings


def test_each_new_count_is_a_request_sent_with_the_last_that_it_answers(tmp_path: Path) -> None:
    found, findings = read(tmp_path, a=[*session()])
    assert found == [
        Call(
            "s", "s/6", 0.0, 3.0, 1000, 50, group="1", cached_tokens=600, model="gpt", line=6, by_tool=False
        ),
        Call(
            *("s", "s/10", 9.0, 12.0, 1100, 30),
            parent=0,
            kept_tokens=1000,
            answer_tokens=50,
            cached_tokens=960,
            model="gpt",
            line=10,
            by_tool=True,
        ),
    ]
    assert findings.dropped == {"counts of tokens that say nothing new": 2}


def test_a_result_that_came_while_the_answer_was_written_is_of_the_next_request(tmp_path: Path) -> None:
    lines = session()
    lines[5:7] = [result("10:00:03.500"), lines[5]]
    found, _ = read(tmp_path, a=[*lines])
    assert [(call.send_s, call.by_tool) for call in found] == [(0.0, False), (2.5, True)]


FORK = {"forked_from_id": "s"}
SPAWNED = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "s", "depth": 1}}}}


@pytest.mark.parametrize("told", [FORK, {"parent_thread_id": "s"}, SPAWNED], ids=str)
def test_what_a_fork_repeats_of_its_parent_is_left_out(tmp_path: Path, told: Line) -> None:
    child = [
        meta("t", "10:05:00", **told),
        meta("s", "10:05:00"),
        *[each | {"timestamp": "2026-01-01T10:05:00Z"} for each in session()[1:]],
        said("10:05:01"),
        count("10:05:09", 1200, 1000, 20, 3400),
    ]
    found, findings = read(tmp_path, a=[*session()], b=[*child])
    assert [
        (call.stream, call.parent, call.kept_tokens, call.answer_tokens, call.waits_for) for call in found
    ] == [
        ("s", None, 0, 0, ()),
        ("s", 0, 1000, 50, ()),
        ("t", 1, 1100, 30, (1,)),
    ]
    assert findings.dropped["counts of tokens copied from the session before a fork"] == 2
    # Without the parent's file, what was written as the fork began is taken for a copy.
    (tmp_path / "rollout-a.jsonl").unlink()
    alone = calls([tmp_path], Findings())
    assert [(call.stream, call.parent, call.prompt_tokens) for call in alone] == [("t", None, 1200)]


def test_a_sub_agent_that_begins_anew_waits_for_what_its_parent_had_said(tmp_path: Path) -> None:
    child = [meta("t", "10:00:05", **SPAWNED), said("10:00:06"), count("10:00:09", 500, 0, 20, 520)]
    found, _ = read(tmp_path, a=[*session()], b=[*child])
    assert [(call.stream, call.parent, call.waits_for) for call in found] == [
        *(("s", None, ()), ("t", None, (0,)), ("s", 0, ()))
    ]


def test_a_prompt_that_shrank_keeps_what_was_cached(tmp_path: Path) -> None:
    lines = [*session(), line("compacted", "10:01:00", message=SECRET), said("10:01:01")]
    found, findings = read(tmp_path, a=[*lines, count("10:01:05", 400, 256, 9, 2589), "{cut"])
    assert (found[2].kept_tokens, found[2].parent) == (256, 1)
    assert findings.dropped["lines that are no JSON object, such as those cut in the middle"] == 1


def test_counts_without_a_sum_are_all_new(tmp_path: Path) -> None:
    lines = [meta("s", "10:00:00"), said("10:00:01"), *[count("10:00:05", 10, 0, 2, None)] * 2]
    assert [call.name for call in read(tmp_path, a=[*lines])[0]] == ["s/3", "s/4"]


def test_an_archived_copy_is_left_out(tmp_path: Path) -> None:
    for folder in ("sessions", "archived_sessions"):
        (tmp_path / folder).mkdir()
        read(tmp_path / folder, a=[*session()])
    findings = Findings()
    assert len(calls([tmp_path], findings)) == 2
    assert findings.dropped["files archived that are there as sessions too"] == 1


def test_a_rollout_without_a_count_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 rollouts without a count of tokens"):
        read(tmp_path, a=[*session()[:4]])


def test_a_rollout_is_told_by_its_lines_and_loads_without_its_text(tmp_path: Path) -> None:
    assert all(map(tells, session()))
    found, findings = read(tmp_path, a=[*session()])
    trace = load_trace(tmp_path / "rollout-a.jsonl")
    assert (trace.format, trace.answers, [request.prompt_tokens for request in trace.requests]) == (
        *("codex", "returned", [1000, 1100]),
    )
    assert SECRET not in repr(found) + repr(vars(findings)) + repr([*trace.requests]) + repr(trace.notes)
