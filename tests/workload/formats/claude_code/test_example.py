"""The made-up example gives the rows that were worked out by hand, the recorded sample its sums."""

import json
from math import isnan
from typing import Any

import pytest

from sim.workload.findings import Findings
from sim.workload.formats.claude_code import calls
from sim.workload.lowering import kept_tokens, rows_of, with_identity
from tests.workload.files import SHARED_TRACES, needs_shared

FOLDER = SHARED_TRACES / "claude-code"


def expected() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / "expected_rows.jsonl").read_text().splitlines()]


def renamed(ids: list[list[int]]) -> list[list[int]]:
    """Ids numbered by their first appearance."""
    numbers: dict[int, int] = {}
    return [[numbers.setdefault(each, len(numbers)) for each in row] for row in ids]


@needs_shared
@pytest.mark.parametrize("place", ["projects", "projects/-work-demo"])
def test_the_example_gives_its_nine_rows(place: str) -> None:
    found, rows = calls([FOLDER / place], Findings()), expected()
    assert [(each.stream, each.name, each.prompt_tokens, each.output_tokens) for each in found] == [
        (row["session_id"], row["request_id"], row["input_length"], row["output_length"]) for row in rows
    ]
    assert [each.kept_tokens for each in found] == [row["_kept"] for row in rows]
    assert [each.send_s * 1000 for each in found] == [row["timestamp"] for row in rows]
    assert [(each.end_s or 0) - each.send_s for each in found] == [row["_service_ms"] / 1000 for row in rows]
    lowered = rows_of(found, 100)
    ids = [lowered.hash_ids(number).tolist() for number in range(9)]
    assert renamed(ids) == renamed([row["hash_ids"] for row in rows])


@needs_shared
def test_rows_of_the_example_wait_for_the_turn_before_or_for_another_agent() -> None:
    found = calls([FOLDER / "projects"], Findings())
    lowered = rows_of(found, 100)
    assert {found[row].name: [found[each].name for each in lowered.waits_for(row)] for row in range(9)} == {
        **{name: [] for name in ("m1", "m2", "m3", "compact:m4", "m4", "m6", "m8")},
        "m5": ["m4"],
        "m7": ["m6"],
    }
    # m7 answers after 9 s of its own session, 1 s after what it waits for; m5 starts 1 s after m4.
    nan = None
    delays = [None if isnan(delay) else delay for delay in lowered.delay]
    assert delays == [nan, 4.0, 588.0, 34.0, 60.0, 1.0, 2.0, 1.0, nan]


@needs_shared
def test_totals_of_the_example() -> None:
    findings = Findings()
    found = calls([FOLDER / "projects"], findings)
    assert sum(each.prompt_tokens for each in found) == 10_590
    assert kept_tokens(found) == 7_490
    assert [each.kept_tokens for each in with_identity(found, "provider")] == [
        *(0, 1190, 0, 1610, 300, 0, 200, 698, 300)
    ]
    assert dict(findings.dropped) == {
        "rows that no model wrote (synthetic)": 1,
        "rows copied from other files": 4,
        "rows that repeat the counts of their response": 2,
    }
    assert findings.fixed == {}


@needs_shared
def test_a_session_alone_has_its_own_requests() -> None:
    findings = Findings()
    found = calls([FOLDER / "projects" / "-work-demo" / "S1.jsonl"], findings)
    assert [each.name for each in found] == ["m1", "m2", "m3", "compact:m4", "m4", "m7"]
    assert found[-1].waits_for == ()
    assert "transcripts of its sub-agents beside the file, not read: 1" in findings.notes


@needs_shared
def test_the_recorded_sample_has_the_sums_that_were_measured_of_it() -> None:
    findings = Findings()
    found = calls([FOLDER / "tracelab_sample.jsonl"], findings)
    prompts = sum(each.prompt_tokens for each in found)
    assert (len(found), prompts) == (10, 418_193)
    shares = [kept_tokens(with_identity(found, identity)) / prompts for identity in ("append", "provider")]
    assert [round(100 * share, 2) for share in shares] == [88.45, 87.72]
    assert findings.dropped == {"rows that repeat the counts of their response": 15}
    # Two tools ran: the request left with the later result, 19 s after the first one.
    assert found[1].send_s == 30.787
    assert [each.by_tool for each in found] == [False, *[True] * 4, False, *[True] * 4]


@needs_shared
def test_nothing_that_anybody_wrote_is_in_the_calls() -> None:
    text = (FOLDER / "tracelab_sample.jsonl").read_text()
    written = {word for word in text.replace('"', " ").split() if len(word) > 12 and word.isalpha()}
    findings = Findings()
    shown = repr(calls([FOLDER / "tracelab_sample.jsonl"], findings)) + repr(vars(findings))
    assert {"comprehensive", "configuration"} <= written
    assert not [word for word in written if word in shown]
