"""What prompts share, by what the provider read: worked out by hand."""

from pathlib import Path
from typing import Any

import pytest

from sim.workload.answers import answers_of
from sim.workload.calls import Call
from sim.workload.lowering import with_identity
from sim.workload.trace_file import load_trace
from tests.workload.formats.claude_code.lines import (
    Line,
    boundary,
    by_name,
    pair,
    read,
    reply,
    side,
    user,
    write,
)

HOUR = {"cache_creation": {"ephemeral_1h_input_tokens": 990}}


def second(folder: Path, counts: tuple[int, int, int, int], **more: Any) -> tuple[int, int]:
    """What the second of two requests keeps of the first's 1,000 tokens, and of its 50 of answer."""
    found, _ = read(folder, {"S.jsonl": pair(second=counts, **more)})
    return found[1].kept_tokens, found[1].answer_tokens


@pytest.mark.parametrize(
    ("counts", "kept"),
    [
        ((2, 98, 990, 9), (1000, 50)),
        ((2, 162, 926, 9), (1000, 50)),  # A block of 64 less than was cached is still all of it.
        ((2, 163, 925, 9), (925, 0)),
        ((2, 48, 990, 9), (1000, 0)),  # 40 tokens more do not hold an answer of 50.
        ((2, 58, 990, 9), (1000, 50)),
        ((2, 7, 990, 9), (990, 0)),  # It shrank by a token: only what was read is known to be there.
        ((2, 1098, 0, 9), (0, 0)),
    ],
)
def test_a_prefix_stands_if_the_provider_read_what_was_cached(
    tmp_path: Path, counts: tuple[int, int, int, int], kept: tuple[int, int]
) -> None:
    assert second(tmp_path, counts) == kept


def test_an_entry_that_expired_after_five_minutes_broke_nothing(tmp_path: Path) -> None:
    # The answer was there at 10:00:05.
    assert second(tmp_path, (2, 1098, 0, 9), at="10:05:05") == (0, 0)
    assert second(tmp_path, (2, 1098, 0, 9), at="10:05:06") == (1000, 50)
    assert second(tmp_path, (2, 898, 0, 9), at="10:05:06") == (0, 0)


def paused(counts: tuple[int, int, int, int], at: str) -> list[Line]:
    rows = pair(second=counts, at=at)
    rows[1]["message"]["usage"] |= HOUR
    return rows


def test_an_entry_of_an_hour_outlives_twenty_minutes(tmp_path: Path) -> None:
    found, findings = read(tmp_path, {"S.jsonl": paused((2, 98, 990, 9), "10:20:00")})
    assert (found[1].kept_tokens, found[1].answer_tokens) == (1000, 50)
    assert not any("expired" in note for note in findings.notes)
    assert read(tmp_path, {"S.jsonl": paused((2, 1098, 0, 9), "10:20:00")})[0][1].kept_tokens == 0
    assert read(tmp_path, {"S.jsonl": paused((2, 1098, 0, 9), "11:00:06")})[0][1].kept_tokens == 1000


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("messages_changed", 300),
        ("system_changed", 300),
        ("tools_changed", 300),
        ("unavailable", 1000),
        (None, 1000),
    ],
)
def test_what_the_provider_says_of_a_miss_overrules_all_else(
    tmp_path: Path, kind: str | None, kept: int
) -> None:
    said = None if kind is None else {"cache_miss_reason": {"type": kind, "cache_missed_input_tokens": 690}}
    assert second(tmp_path, (2, 798, 300, 9), at="10:30:00", diagnostics=said)[0] == kept


def test_a_turn_taken_back_leaves_two_that_go_on_from_one(tmp_path: Path) -> None:
    rows = [
        *pair(second=(10, 190, 990, 60)),
        user("v2", "a1", "10:01:00"),
        reply("b2", "v2", "10:01:05", "m3", (10, 290, 990, 70)),
        user("v3", "b2", "10:02:00"),
        reply("b3", "v3", "10:02:05", "m4", (10, 90, 1280, 80)),
    ]
    found, _ = read(tmp_path, {"S.jsonl": rows})
    assert [(each.name, each.parent, each.kept_tokens, each.answer_tokens) for each in found] == [
        ("m1", None, 0, 0),
        ("m2", 0, 1000, 50),
        ("m3", 0, 1000, 50),
        ("m4", 2, 1290, 70),
    ]
    assert {each.stream for each in found} == {"S"}


def test_first_prompts_of_a_group_share_what_the_provider_read(tmp_path: Path) -> None:
    def session(name: str, at: str, counts: tuple[int, int, int, int], **more: Any) -> list[Line]:
        return [
            user(f"u{name}", None, at),
            reply(f"a{name}", f"u{name}", f"{at[:-1]}5", name, counts, **more),
        ]

    found, _ = read(
        tmp_path,
        {
            "Z.jsonl": session("m1", "10:00:00", (10, 690, 0, 5)),
            "Y.jsonl": session("m2", "10:01:00", (10, 690, 300, 5)),
            "X.jsonl": session("m3", "10:02:00", (10, 690, 900, 5)),
            "W.jsonl": session("m4", "10:03:00", (10, 690, 300, 5), model="haiku"),
            "V.jsonl": session("m5", "10:04:00", (10, 690, 300, 5), version="2.2.0"),
        },
    )
    # The first of a group has nobody to share with; no later one shares more than the first has.
    assert [(each.name, each.group, each.kept_tokens, each.cached_tokens) for each in found] == [
        ("m1", "1", 0, 0),
        ("m2", "1", 300, 300),
        ("m3", "1", 700, 900),
        ("m4", "2", 0, 300),
        ("m5", "3", 0, 300),
    ]


def server_tools(
    sums: tuple[int, int, int, int], after: tuple[int, int, int, int], **usage: Any
) -> list[Line]:
    """Three requests of 1,000, 1,100 and a sum; then one more."""
    rows = pair(second=(10, 100, 990, 50))
    rows += [
        user("u3", "a2", "10:01:00"),
        reply(
            "a3", "u3", "10:01:05", "m3", sums, usage=usage or {"server_tool_use": {"web_search_requests": 1}}
        ),
        user("u4", "a3", "10:02:00"),
        reply("a4", "u4", "10:02:05", "m4", after),
    ]
    return rows


@pytest.mark.parametrize(
    "usage", [{}, {"iterations": [{}, {}]}, {"server_tool_use": {"web_fetch_requests": 2}}], ids=str
)
def test_a_sum_over_several_prompts_is_what_the_next_request_found_cached(
    tmp_path: Path, usage: Line
) -> None:
    # The one before had 1,100 tokens after 1,000 and 50 of answer: a plain prompt has at most 1,450.
    found, findings = read(
        tmp_path, {"S.jsonl": server_tools((10, 400, 2090, 30), (2, 58, 1400, 9), **usage)}
    )
    assert [(each.prompt_tokens, each.kept_tokens, each.answer_tokens) for each in found] == [
        *((1000, 0, 0), (1100, 1000, 50), (1400, 1100, 50), (1460, 1400, 30))
    ]
    assert findings.fixed == {
        "prompts that were sums over calls of server tools, taken as what the next request found cached": 1
    }


@pytest.mark.parametrize(
    ("sums", "usage", "fixed"),
    [
        ((10, 350, 1090, 30), {}, {}),
        ((10, 400, 2090, 30), {"iterations": [{}]}, {}),
        ((10, 400, 2090, 30), {"server_tool_use": {"web_search_requests": 0}}, {}),
    ],
)
def test_plain_prompts_are_as_they_are_counted(
    tmp_path: Path, sums: tuple[int, int, int, int], usage: Line, fixed: Line
) -> None:
    found, findings = read(tmp_path, {"S.jsonl": server_tools(sums, (2, 58, 1400, 9), **usage)})
    assert found[2].prompt_tokens == sum(sums[:3])
    assert findings.fixed == fixed


def test_a_sum_without_a_request_that_tells_is_left_and_said(tmp_path: Path) -> None:
    found, findings = read(tmp_path, {"S.jsonl": server_tools((10, 400, 2090, 30), (2, 2700, 0, 9))[:-2]})
    assert found[2].prompt_tokens == 2500
    assert findings.fixed == {"prompts that seem to be sums over calls of server tools, left as they are": 1}


def compacted(*, metadata: dict[str, int], summary: str | None = "x" * 320) -> list[Line]:
    """One request, a compaction, one request."""
    rows = [
        *pair(second=(2, 98, 990, 9))[:2],
        boundary("b", "a1", "10:01:00", **metadata),
        user("s", "b", "10:01:00", isCompactSummary=True, message={"role": "user", "content": summary}),
        user("u2", "s", "10:02:00"),
        reply("a2", "u2", "10:02:05", "m2", (2, 398, 300, 20)),
    ]
    return rows if summary is not None else [*rows[:3], rows[4] | {"parentUuid": "b"}, rows[5]]


def shown(call: Call) -> tuple[object, ...]:
    return (call.name, call.send_s, call.end_s, call.prompt_tokens, call.output_tokens, call.kept_tokens)


def test_a_compaction_is_a_request_of_its_own(tmp_path: Path) -> None:
    rows = compacted(metadata={"preTokens": 1100, "postTokens": 400, "durationMs": 20_000})
    found, findings = read(tmp_path, {"S.jsonl": rows})
    assert [shown(call) for call in found] == [
        ("m1", 0.0, 5.0, 1000, 50, 0),
        ("compact:m2", 40.0, 60.0, 1100, 80, 1000),
        ("m2", 120.0, 125.0, 700, 20, 300),
    ]
    assert [(call.parent, call.answer_tokens, call.group) for call in found] == [
        *((None, 0, "1"), (0, 50, None), (None, 0, "1"))
    ]
    assert found[1].cached_tokens is None
    assert findings.fixed == {}
    assert "compactions, each a request of its own: 1" in findings.notes


def test_an_old_boundary_says_less_and_that_is_said(tmp_path: Path) -> None:
    found, findings = read(tmp_path, {"S.jsonl": compacted(metadata={}, summary=None)})
    assert shown(found[1]) == ("compact:m2", 60.0, 60.0, 1050, 1, 1000)
    assert findings.fixed == {
        "compactions that do not say how long they took, taken as 0 s": 1,
        "compactions that do not say what they read, taken as the prompt and answer before": 1,
        "compactions without a summary, whose output is taken as 1 token": 1,
    }


def test_a_boundary_in_a_copied_part_is_one_compaction(tmp_path: Path) -> None:
    rows = compacted(metadata={"preTokens": 1100, "durationMs": 20_000})
    again = [
        *({**each, "sessionId": "T"} for each in rows),
        user("v1", "a2", "10:30:00"),
        reply("c1", "v1", "10:30:05", "m9", (2, 798, 0, 9)),
    ]
    found, findings = read(tmp_path, {"S.jsonl": rows, "T.jsonl": again})
    assert [(call.stream, call.name) for call in found] == [
        *(("S", "m1"), ("S", "compact:m2"), ("S", "m2"), ("T", "m9"))
    ]
    assert findings.dropped["boundaries of a compaction copied from other files"] == 1
    assert (found[3].parent, found[3].kept_tokens) == (2, 700)


def test_prefixes_may_be_what_the_provider_read(tmp_path: Path) -> None:
    found, _ = read(tmp_path, {"S.jsonl": pair(second=(2, 798, 300, 9), at="10:30:00")})
    assert [(each.kept_tokens, each.answer_tokens) for each in with_identity(found, "provider")] == [
        *((0, 0), (300, 0))
    ]
    broken = with_identity(found, "append", "billing-header")
    assert [(each.kept_tokens, each.answer_tokens, each.parent, each.group) for each in broken] == [
        (0, 0, None, None)
    ] * 2


def forked(first: tuple[int, int, int, int]) -> dict[str, list[Line]]:
    rows = pair(second=(10, 190, 1000, 60), tool="t1", fork=True)
    rows += [
        user("u3", "a2", "10:01:30", result="t1", toolUseResult={"agentId": "X"}),
        reply("a3", "u3", "10:01:35", "m3", (10, 90, 1190, 9)),
    ]
    own = side([user("s1", None, "10:00:26"), reply("s2", "s1", "10:00:30", "m5", first)], "X")
    return {"S.jsonl": rows, "S/subagents/agent-X.jsonl": own}


def test_a_fork_begins_with_the_whole_prompt_of_who_started_it(tmp_path: Path) -> None:
    found, findings = read(tmp_path, forked((10, 100, 1190, 15)))
    fork = by_name(found)["m5"]
    assert found[fork.parent or 0].name == "m2"
    assert (fork.kept_tokens, fork.answer_tokens, fork.group) == (1200, 60, None)
    assert "sub-agents that begin with the whole prompt of who started them: 1" in findings.notes
    # What the provider read does not matter, unless the prompt is shorter.
    assert by_name(read(tmp_path, forked((10, 1290, 0, 15)))[0])["m5"].kept_tokens == 1200
    assert by_name(read(tmp_path, forked((10, 290, 0, 15)))[0])["m5"].kept_tokens == 0


def test_an_answer_that_was_not_sent_again_is_not_told_from_lengths(tmp_path: Path) -> None:
    """A turn taken back: the only other request goes on from its prompt, and has room for its answer."""
    rows = [*pair(second=(10, 290, 990, 9))]
    rows[2]["parentUuid"] = "u1"
    trace = load_trace(write(tmp_path, {"S.jsonl": rows}))
    assert [request.answer for request in trace.requests] == [None, None]
    assert answers_of(trace, "returned") == {}
