"""Sub-agents start after the answer that called them, and are waited for where their results come back."""

import json
from pathlib import Path

import pytest

from tests.workload.formats.claude_code.lines import (
    Line,
    boundary,
    by_name,
    notice,
    pair,
    read,
    reply,
    side,
    user,
)

AGENT = [
    user("s1", None, "10:00:26"),
    reply("s2", "s1", "10:00:30", "m5", (5, 495, 200, 15)),
    user("s3", "s2", "10:00:31", result="t9"),
    reply("s4", "s3", "10:00:35", "m6", (5, 95, 695, 25)),
]


def session(**told: object) -> list[Line]:
    """Two requests, of which the second starts a sub-agent; a third with its result."""
    return [
        *pair(second=(10, 190, 990, 60), tool="t1"),
        user("u3", "a2", "10:00:40", result="t1", **told),
        reply("a3", "u3", "10:00:45", "m3", (10, 90, 1180, 9)),
    ]


def waits(folder: Path, files: dict[str, list[Line | str]]) -> dict[str, list[str]]:
    """What each request waits for besides the turn before it."""
    found, _ = read(folder, files)
    return {call.name: [found[each].name for each in call.waits_for] for call in found if call.waits_for}


@pytest.mark.parametrize("linked_by", ["meta", "result"])
@pytest.mark.parametrize(
    "name", ["S/subagents/agent-X.jsonl", "agent-X.jsonl", "S/subagents/workflows/W/agent-X.jsonl"]
)
def test_a_sub_agent_waits_for_who_called_it_and_its_result_is_waited_for(
    tmp_path: Path, name: str, linked_by: str
) -> None:
    files: dict[str, list[Line | str]] = {name: [*side(AGENT, "X")]}
    if linked_by == "meta":
        meta = {"agentType": "Explore", "toolUseId": "t1"}
        files |= {"S.jsonl": [*session()], name.replace(".jsonl", ".meta.json"): [json.dumps(meta)]}
    else:
        files["S.jsonl"] = [*session(toolUseResult={"agentId": "X"})]
    assert waits(tmp_path, files) == {"m5": ["m2"], "m3": ["m6"]}


def test_a_compaction_behind_the_result_of_a_sub_agent_waits_for_it(tmp_path: Path) -> None:
    rows = [
        *session(toolUseResult={"agentId": "X"})[:-1],
        boundary("b", "u3", "10:01:00", preTokens=1300, durationMs=10_000),
        user("u4", "b", "10:01:00", isCompactSummary=True),
        reply("a3", "u4", "10:01:05", "m3", (10, 490, 200, 9)),
    ]
    files: dict[str, list[Line | str]] = {"S.jsonl": [*rows], "agent-X.jsonl": [*side(AGENT, "X")]}
    assert waits(tmp_path, files) == {"m5": ["m2"], "compact:m3": ["m6"]}


def test_two_at_once_are_both_waited_for(tmp_path: Path) -> None:
    rows = [
        *pair(second=(10, 190, 990, 60), tool="t1")[:3],
        reply("a2", "u2", "10:00:24", "m2", (10, 190, 990, 60), tool="t1"),
        reply("b2", "a2", "10:00:25", "m2", (10, 190, 990, 60), tool="t2"),
        user("u3", "a2", "10:00:40", result="t1", toolUseResult={"agentId": "X"}),
        user("u4", "b2", "10:00:38", result="t2", toolUseResult={"agentId": "Y"}),
        reply("a3", "u3", "10:00:45", "m3", (10, 90, 1180, 9)),
    ]
    other = [
        user("y1", None, "10:00:26"),
        reply("y2", "y1", "10:00:36", "m8", (5, 495, 0, 15)),
    ]
    files: dict[str, list[Line | str]] = {
        "S.jsonl": [*rows],
        "S/subagents/agent-X.jsonl": [*side(AGENT, "X")],
        "S/subagents/agent-Y.jsonl": [*side(other, "Y")],
    }
    assert waits(tmp_path, files) == {"m5": ["m2"], "m8": ["m2"], "m3": ["m8", "m6"]}


BACKGROUND = {"toolUseResult": {"agentId": "X", "isAsync": True}}


def background(*ended: Line) -> dict[str, list[Line | str]]:
    """A sub-agent in the background, two requests meanwhile, one behind the lines given, another."""
    rows = [
        *pair(second=(10, 190, 990, 60), tool="t1"),
        user("u3", "a2", "10:00:26", result="t1", **BACKGROUND),
        reply("a3", "u3", "10:00:28", "m3", (10, 90, 1180, 9)),
        *ended,
        user("u4", "a3", "10:01:00"),
        reply("a4", "u4", "10:01:05", "m4", (10, 90, 1270, 9)),
        user("u5", "a4", "10:02:00"),
        reply("a5", "u5", "10:02:05", "m9", (10, 90, 1360, 9)),
    ]
    return {"S.jsonl": [*rows], "S/subagents/agent-X.jsonl": [*side(AGENT, "X")]}


def test_one_in_the_background_is_waited_for_where_it_is_said_to_have_ended(tmp_path: Path) -> None:
    assert waits(tmp_path, background(notice("10:00:36", "t1"))) == {"m5": ["m2"], "m4": ["m3", "m6"]}
    content = "<task-notification><tool-use-id>t1</tool-use-id></task-notification>"
    said = user("x", "a3", "10:00:36", message={"role": "user", "content": content})
    assert waits(tmp_path, background(said)) == {"m5": ["m2"], "m4": ["m3", "m6"]}


def test_one_that_ends_while_a_request_runs_is_waited_for_by_the_next(tmp_path: Path) -> None:
    rows = [
        *pair(second=(10, 190, 990, 60), tool="t1"),
        user("u3", "a2", "10:00:27", result="t1", **BACKGROUND),
        notice("10:00:36", "t1"),
        reply("a3", "u3", "10:00:50", "m3", (10, 90, 1180, 9)),
        user("u4", "a3", "10:01:00"),
        reply("a4", "u4", "10:01:05", "m4", (10, 90, 1270, 9)),
    ]
    files: dict[str, list[Line | str]] = {"S.jsonl": [*rows], "agent-X.jsonl": [*side(AGENT, "X")]}
    assert waits(tmp_path, files) == {"m5": ["m2"], "m4": ["m3", "m6"]}


def test_one_in_the_background_that_is_never_heard_of_is_not_waited_for(tmp_path: Path) -> None:
    assert waits(tmp_path, background()) == {"m5": ["m2"]}


def test_sub_agents_inside_a_session_are_streams_of_their_own(tmp_path: Path) -> None:
    rows = session()
    second = [
        user("y1", None, "10:00:27"),
        reply("y2", "y1", "10:00:36", "m8", (5, 495, 0, 15)),
    ]
    found, findings = read(
        tmp_path, {"S.jsonl": [*rows[:4], *side(AGENT[:2]), *side(second), *side(AGENT[2:]), *rows[4:]]}
    )
    assert {call.name: call.stream for call in found} == {
        **dict.fromkeys(("m1", "m2", "m3"), "S"),
        **dict.fromkeys(("m5", "m6"), "S/sidechain-1"),
        "m8": "S/sidechain-2",
    }
    calls = by_name(found)
    assert [found[each].name for each in calls["m5"].waits_for] == ["m2"]
    assert [found[each].name for each in calls["m3"].waits_for] == ["m6"]
    assert calls["m8"].waits_for == ()
    assert (calls["m3"].send_s, calls["m3"].kept_tokens) == (40.0, 1190)
    assert findings.fixed == {
        "sub-agents of which no answer says that it started them, sent at their own time": 1,
        "sub-agents inside a session's file, taken to be of the tools called before": 1,
    }


def test_links_that_go_in_circles_are_left_out(tmp_path: Path) -> None:
    rows = pair(second=(2, 98, 990, 9))
    rows[0]["parentUuid"] = "a2"
    found, findings = read(tmp_path, {"S.jsonl": rows})
    assert [(call.name, call.parent) for call in found] == [("m1", None), ("m2", 0)]
    assert findings.fixed == {"requests whose references went in circles, left out": 1}


def test_first_prompts_of_sub_agents_of_one_type_share_what_was_read(tmp_path: Path) -> None:
    other = [
        user("y1", None, "10:00:41"),
        reply("y2", "y1", "10:00:44", "m8", (5, 595, 200, 15)),
    ]
    files: dict[str, list[Line | str]] = {
        "S.jsonl": [*session()],
        "S/subagents/agent-X.jsonl": [*side(AGENT, "X")],
        "S/subagents/agent-Y.jsonl": [*side(other, "Y")],
    }
    for kind, kept in (("Explore", 200), ("Plan", 0)):
        files["S/subagents/agent-X.meta.json"] = [json.dumps({"agentType": "Explore"})]
        files["S/subagents/agent-Y.meta.json"] = [json.dumps({"agentType": kind})]
        assert by_name(read(tmp_path, files)[0])["m8"].kept_tokens == kept
