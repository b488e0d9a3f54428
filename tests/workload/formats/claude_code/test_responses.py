"""One response for all rows of an id, whichever files they are copied to; the best of their counts."""

from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.workload.findings import Findings
from sim.workload.formats.claude_code import calls
from tests.workload.formats.claude_code.lines import (
    SECRET,
    Line,
    by_name,
    pair,
    read,
    reply,
    side,
    user,
    write,
)


def test_rows_of_one_response_are_counted_once_by_the_best_of_their_counts(tmp_path: Path) -> None:
    rows = [
        user("u1", None, "10:00:00"),
        reply("a1", "u1", "10:00:03", "m1", (10, 990, 0, 1), stop=None),
        reply("a2", "a1", "10:00:04", "m1", (10, 990, 0, 70)),
        reply("a3", "a2", "10:00:06", "m1", (0, 0, 0, 0)),
    ]
    (call,), findings = read(tmp_path, {"S.jsonl": rows})
    assert (call.prompt_tokens, call.output_tokens, call.send_s, call.end_s) == (1000, 70, 0.0, 6.0)
    assert findings.dropped == {"rows that repeat the counts of their response": 2}
    assert not findings.fixed


def test_a_late_row_with_the_output_alone_leaves_the_prompt(tmp_path: Path) -> None:
    rows = [
        user("u1", None, "10:00:00"),
        reply("a1", "u1", "10:00:03", "m1", (10, 990, 0, 1)),
        reply("a2", "a1", "10:00:04", "m1", (0, 0, 0, 70)),
        user("u2", "a2", "10:00:05"),
        reply("a3", "u2", "10:00:06", "m2", (0, 0, 0, 70)),
    ]
    (call,), findings = read(tmp_path, {"S.jsonl": rows})
    assert (call.prompt_tokens, call.output_tokens) == (1000, 70)
    assert findings.dropped["rows of the assistant without counts, or with zeros alone"] == 1


def test_an_output_that_no_row_ends_is_counted_as_perhaps_too_short(tmp_path: Path) -> None:
    rows = [user("u1", None, "10:00:00"), reply("a1", "u1", "10:00:03", "m1", (10, 990, 0, 1), stop=None)]
    (call,), findings = read(tmp_path, {"S.jsonl": rows})
    assert call.output_tokens == 1
    assert findings.fixed == {
        "responses whose output may be longer than counted, as no row says why they ended": 1
    }


@pytest.mark.parametrize(
    ("more", "counts", "reason"),
    [
        ({"model": "<synthetic>"}, (1, 1, 1, 1), "rows that no model wrote (synthetic)"),
        ({"isApiErrorMessage": True}, (1, 1, 1, 1), "rows that no model wrote (api error)"),
        ({}, (0, 0, 0, 0), "rows of the assistant without counts, or with zeros alone"),
        (
            {"usage": {"input_tokens": -5}},
            (0, 0, 0, 9),
            "rows of the assistant without counts, or with zeros alone",
        ),
        (
            {"usage": {"input_tokens": "5"}},
            (0, 0, 0, 9),
            "rows of the assistant without counts, or with zeros alone",
        ),
    ],
)
def test_rows_that_are_no_response_are_dropped_and_links_lead_through_them(
    tmp_path: Path, more: Line, counts: tuple[int, int, int, int], reason: str
) -> None:
    rows = pair(second=(2, 98, 990, 9))
    rows.insert(2, reply("x", "a1", "10:00:07", "mx", counts, **more))
    rows[3]["parentUuid"] = "x"
    (first, second), findings = read(tmp_path, {"S.jsonl": rows})
    assert (first.name, second.name, second.parent, second.kept_tokens) == ("m1", "m2", 0, 1000)
    assert findings.dropped == {reason: 1}


def test_a_response_without_an_id_of_a_message_goes_by_that_of_its_request_or_of_its_row(
    tmp_path: Path,
) -> None:
    rows = [
        user("u1", None, "10:00:00"),
        reply("a1", "u1", "10:00:03", None, (10, 990, 0, 1), request="r1"),
        reply("a2", "a1", "10:00:04", None, (10, 990, 0, 70), request="r1"),
        user("u2", "a2", "10:00:06"),
        reply("a3", "u2", "10:00:09", None, (10, 90, 990, 7)),
    ]
    found, _ = read(tmp_path, {"S.jsonl": rows})
    assert [(call.name, call.output_tokens) for call in found] == [("r1", 70), ("a3", 7)]


def test_a_message_with_and_without_the_id_of_its_request_is_one_response(tmp_path: Path) -> None:
    rows = [
        user("u1", None, "10:00:00"),
        reply("a1", "u1", "10:00:03", "m1", (10, 990, 0, 1), request="r1"),
        reply("a2", "a1", "10:00:04", "m1", (10, 990, 0, 70)),
    ]
    assert len(read(tmp_path, {"S.jsonl": rows})[0]) == 1


def test_a_relay_with_one_id_for_all_responses_is_seen_through(tmp_path: Path) -> None:
    rows = [
        user("u1", None, "10:00:00"),
        reply("a1", "u1", "10:00:03", "one", (10, 990, 0, 50)),
        reply("a2", "a1", "10:00:04", "one", (10, 990, 0, 50)),
        user("u2", "a2", "10:00:10"),
        reply("a3", "u2", "10:00:13", "one", (10, 190, 990, 60)),
        user("u3", "a3", "10:00:20"),
        reply("a4", "u3", "10:00:23", "one", (10, 290, 1180, 70)),
    ]
    found, findings = read(tmp_path, {"S.jsonl": rows})
    assert [(call.name, call.prompt_tokens, call.kept_tokens) for call in found] == [
        *(("a1", 1000, 0), ("a3", 1190, 1000), ("a4", 1480, 1190))
    ]
    assert "ids that a relay gave to several responses, told apart by their rows: 1" in findings.notes


def test_a_side_question_that_repeats_the_conversation_leaves_it_where_it_was(tmp_path: Path) -> None:
    rows = pair(second=(2, 98, 990, 9))
    aside = side(
        [
            user("v1", None, "10:01:00"),
            reply("b1", "v1", "10:01:00", "m1", (10, 990, 0, 50), request="other"),
            user("v2", "b1", "10:01:01"),
            reply("b2", "v2", "10:01:05", "m3", (5, 45, 990, 20)),
        ],
        "q",
    )
    found, findings = read(tmp_path, {"S.jsonl": rows, "S/subagents/agent-q.jsonl": aside})
    assert [(call.stream, call.name, call.parent, call.kept_tokens) for call in found] == [
        ("S", "m1", None, 0),
        ("S", "m2", 0, 1000),
        ("S/subagents/agent-q", "m3", 0, 1000),
    ]
    assert findings.dropped == {"rows copied from other files": 1}


def copies(session: str | None, **more: object) -> dict[str, list[Line]]:
    """B, and A that went on from its copy; the copies say `session`."""
    original = [each | {"sessionId": "B"} for each in pair(second=(2, 98, 990, 9))]
    copied = [each | {"sessionId": session} | more for each in original]
    own = [
        user("v1", "a2", "10:30:00"),
        reply("b1", "v1", "10:30:05", "m3", (2, 1290, 300, 12)),
    ]
    return {"B.jsonl": original, "A.jsonl": [*copied, *({**each, "sessionId": "A"} for each in own)]}


@pytest.mark.parametrize(
    ("session", "more"),
    [("B", {}), ("A", {}), ("A", {"forkedFrom": {"sessionId": "B", "messageUuid": "u1"}})],
    ids=["session kept", "session rewritten", "forked"],
)
def test_copies_belong_to_the_session_that_had_them_first(tmp_path: Path, session: str, more: Line) -> None:
    found, findings = read(tmp_path, copies(session, **more))
    assert [(call.stream, call.name, call.parent, call.kept_tokens) for call in found] == [
        ("B", "m1", None, 0),
        ("B", "m2", 0, 1000),
        ("A", "m3", 1, 1090),
    ]
    assert findings.dropped == {"rows copied from other files": 2}
    assert found[2].answer_tokens == 9
    assert any("taken to begin with all of it: 1" in note for note in findings.notes)


def test_who_went_on_first_had_the_lines_first(tmp_path: Path) -> None:
    files = copies("A")
    files["B.jsonl"] += [
        user("u3", "a2", "10:10:00"),
        reply("a3", "u3", "10:10:05", "m9", (2, 98, 1088, 9)),
    ]
    found, _ = read(tmp_path, files)
    assert {call.name: call.stream for call in found} == {"m1": "B", "m2": "B", "m9": "B", "m3": "A"}


@pytest.mark.parametrize(
    ("session", "more"), [("B", {}), ("A", {"forkedFrom": {"sessionId": "B", "messageUuid": "u1"}})]
)
def test_copies_that_say_so_stay_copies_though_the_first_session_went_on_later(
    tmp_path: Path, session: str, more: Line
) -> None:
    files = copies(session, **more)
    files["B.jsonl"] += [
        user("u3", "a2", "11:10:00"),
        reply("a3", "u3", "11:10:05", "m9", (2, 98, 1088, 9)),
    ]
    found, _ = read(tmp_path, files)
    assert {call.name: call.stream for call in found} == {"m1": "B", "m2": "B", "m9": "B", "m3": "A"}


def test_who_was_copied_as_a_whole_does_not_take_what_it_copied_itself(tmp_path: Path) -> None:
    files = copies("A")
    files["B.jsonl"] += [
        user("u3", "a2", "10:10:00"),
        reply("a3", "u3", "10:10:05", "m9", (2, 98, 1088, 9)),
    ]
    files["0.jsonl"] = [
        *(each | {"sessionId": "0"} for each in files["A.jsonl"]),
        user("w1", "b1", "10:40:00") | {"sessionId": "0"},
        reply("c1", "w1", "10:40:05", "m4", (2, 98, 1590, 12)) | {"sessionId": "0"},
    ]
    found, _ = read(tmp_path, files)
    owners = {"m1": "B", "m2": "B", "m9": "B", "m3": "A", "m4": "0"}
    assert {call.name: call.stream for call in found} == owners


def test_a_fork_that_leaves_out_what_it_goes_on_from_is_linked_over_files(tmp_path: Path) -> None:
    files = copies("A")
    files["A.jsonl"] = files["A.jsonl"][4:]
    found, _ = read(tmp_path, files)
    assert [(call.stream, call.name, call.parent) for call in found] == [
        *(("B", "m1", None), ("B", "m2", 0), ("A", "m3", 1))
    ]


def test_lines_that_are_cut_are_counted_and_what_is_behind_them_is_linked_by_order(tmp_path: Path) -> None:
    rows: list[Line | str] = [*pair(second=(2, 98, 990, 9))]
    rows[2] = '{"type": "user", "uuid": "u2", "parentUu\n'
    found, findings = read(tmp_path, {"S.jsonl": rows})
    assert [(call.name, call.parent, call.kept_tokens) for call in found] == [
        ("m1", None, 0),
        ("m2", 0, 1000),
    ]
    assert findings.dropped == {"lines that are no JSON object, such as those cut in the middle": 1}
    assert findings.fixed == {
        "responses that go on from a line in no file, taken to go on from the one before them": 1,
        "requests that answer nothing, sent when the first row of their answer was written": 1,
    }


def test_texts_that_are_no_utf_8_leave_the_counts(tmp_path: Path) -> None:
    path = write(tmp_path, {"S.jsonl": pair(second=(2, 98, 990, 9))}) / "S.jsonl"
    path.write_bytes(path.read_bytes().replace(SECRET.encode(), b"\xff\xfe\xe4"))
    findings = Findings()
    assert [call.prompt_tokens for call in calls([path], findings)] == [1000, 1090]
    assert not findings.dropped


def test_progress_rows_and_failed_requests_are_counted_and_never_sent(tmp_path: Path) -> None:
    rows = pair(second=(2, 98, 990, 9))
    inner = reply("x", None, "10:00:06", "mx", (1, 2, 3, 4))
    progress = {"type": "progress", "uuid": "p1", "parentUuid": "a1", "data": {"message": inner}}
    rows[2:2] = [progress, {"type": "system", "subtype": "api_error", "uuid": "e1", "parentUuid": "p1"}]
    rows[4]["parentUuid"] = "e1"
    found, findings = read(tmp_path, {"S.jsonl": rows})
    assert [(call.name, call.parent) for call in found] == [("m1", None), ("m2", 0)]
    assert findings.dropped == {
        "progress rows, which repeat what sub-agents say": 1,
        "requests that failed and were tried again (api_error)": 1,
    }


@pytest.mark.parametrize("text", ["", "{}\n", '{"type": "user", "sessionId": "S"}\n', "[1]\nnull\n"])
def test_files_without_a_response_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="1 transcripts without a response of a model"):
        read(tmp_path, {"S.jsonl": [text]})


def test_a_folder_without_a_transcript_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no transcript in it"):
        read(tmp_path, {"notes.txt": ["x"]})


def test_two_models_in_one_stream_are_named_and_said(tmp_path: Path) -> None:
    rows = pair(second=(5, 1095, 0, 9), model="haiku")
    found, findings = read(tmp_path, {"S.jsonl": rows})
    assert [(call.model, call.kept_tokens) for call in found] == [("opus", 0), ("haiku", 0)]
    assert {"streams with several models: 1", "prefixes broken: another model: 1"} <= {*findings.notes}


def test_nothing_that_anybody_wrote_is_in_the_calls(tmp_path: Path) -> None:
    rows = pair(second=(2, 98, 990, 9))
    rows[0] |= {"cwd": SECRET, "gitBranch": SECRET, "slug": SECRET}
    rows += [{"type": "summary", "summary": SECRET}, user("u9", "a2", "10:02:00", isCompactSummary=True)]
    found, findings = read(tmp_path / SECRET, {"S.jsonl": rows})
    assert by_name(found).keys() == {"m1", "m2"}
    assert SECRET not in repr(found) + repr(vars(findings))
