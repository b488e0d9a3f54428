"""When requests were sent: with the last that they answer, never with what stays in the terminal."""

from pathlib import Path

import pytest

from tests.workload.formats.claude_code.lines import Line, line, pair, read, reply, user


def sent(folder: Path, *between: Line) -> float:
    """When the second of two requests was sent, after 10:00:00, with these lines between both."""
    rows = pair(second=(2, 98, 990, 9))
    found, _ = read(folder, {"S.jsonl": [*rows[:2], *between, rows[3] | {"parentUuid": between[-1]["uuid"]}]})
    assert len(found) == 2
    return found[1].send_s


def test_the_last_result_of_several_tools_is_what_a_request_waits_for(tmp_path: Path) -> None:
    results = [
        user("u2", "a1", "10:00:19", result="t1"),
        user("u3", "a1", "10:00:08.696", result="t2"),
    ]
    assert sent(tmp_path, *results) == 19.0


def test_results_between_the_rows_of_one_answer_belong_to_the_next_request(tmp_path: Path) -> None:
    rows = [
        user("u1", None, "10:00:00"),
        reply("a1", "u1", "10:00:03", "m1", (10, 990, 0, 50), tool="t1"),
        user("u2", "a1", "10:00:04", result="t1"),
        reply("a2", "u2", "10:00:06", "m1", (10, 990, 0, 50), tool="t2"),
        user("u3", "a2", "10:00:07", result="t2"),
        reply("a3", "u3", "10:00:09", "m2", (2, 98, 990, 9)),
    ]
    first, second = read(tmp_path, {"S.jsonl": rows})[0]
    assert (first.send_s, first.end_s, second.send_s, second.end_s) == (0.0, 6.0, 7.0, 9.0)
    assert (second.parent, second.by_tool) == (0, True)


@pytest.mark.parametrize(
    "silent",
    [
        {"isMeta": True},
        {"message": {"role": "user", "content": "<command-name>/clear</command-name>"}},
        {
            "message": {
                "role": "user",
                "content": "<command-message>a</command-message>\n<command-name>/b</command-name>\n"
                "<command-args>c</command-args>",
            }
        },
        {
            "message": {
                "role": "user",
                "content": [{"type": "text", "text": "<local-command-stdout></local-command-stdout>"}],
            }
        },
    ],
)
def test_what_stays_in_the_terminal_sends_nothing(tmp_path: Path, silent: Line) -> None:
    assert sent(tmp_path, user("u2", "a1", "10:00:10"), user("u3", "u2", "10:00:15", **silent)) == 10.0


@pytest.mark.parametrize(
    "said",
    [
        {"message": {"role": "user", "content": "<command-name>/x</command-name> and then"}},
        {"message": {"role": "user", "content": "a <local-command-stdout></local-command-stdout>"}},
        {"message": {"role": "user", "content": [{"type": "image"}]}},
    ],
)
def test_what_somebody_said_sends(tmp_path: Path, said: Line) -> None:
    assert sent(tmp_path, user("u2", "a1", "10:00:10"), user("u3", "u2", "10:00:15", **said)) == 15.0


def test_an_attachment_sends(tmp_path: Path) -> None:
    attached = line("attachment", "x", "u2", "10:00:12") | {"attachment": {"type": "reminder"}}
    assert sent(tmp_path, user("u2", "a1", "10:00:10"), attached) == 12.0


def test_a_request_that_answers_nothing_is_sent_when_its_answer_begins(tmp_path: Path) -> None:
    rows = pair(second=(2, 98, 990, 9))
    del rows[2]
    rows[2]["parentUuid"] = "a1"
    found, findings = read(tmp_path, {"S.jsonl": rows})
    assert (found[1].send_s, found[1].end_s, found[1].by_tool) == (25.0, 25.0, None)
    assert findings.fixed == {
        "requests that answer nothing, sent when the first row of their answer was written": 1
    }


def test_a_clock_that_ran_backwards_moves_what_follows_until_it_is_right_again(tmp_path: Path) -> None:
    rows = [
        user("u1", None, "10:00:00"),
        reply("a1", "u1", "10:00:05", "m1", (10, 990, 0, 50)),
        user("u2", "a1", "09:00:10"),
        reply("a2", "u2", "09:00:12", "m2", (10, 190, 990, 50)),
        user("u3", "a2", "09:00:20"),
        reply("a3", "u3", "09:00:25", "m3", (10, 190, 1180, 50)),
        user("u4", "a3", "10:01:00"),
        reply("a4", "u4", "10:01:05", "m4", (10, 190, 1370, 50)),
    ]
    found, findings = read(tmp_path, {"S.jsonl": rows})
    # The clock was an hour late: from the second request on, which leaves when the first is answered.
    assert [(each.send_s, each.end_s) for each in found] == [
        (0.0, 5.0),
        (5.0, 7.0),
        (15.0, 20.0),
        (60.0, 65.0),
    ]
    assert findings.fixed == {"requests moved to after the one before, as a clock ran backwards": 2}
    assert [each.kept_tokens for each in found] == [0, 1000, 1190, 1380]


def test_an_answer_before_what_it_answers_leaves_when_it_begins(tmp_path: Path) -> None:
    rows = pair(second=(2, 98, 990, 9))
    rows[2]["timestamp"] = "2026-01-01T10:00:26Z"
    found, findings = read(tmp_path, {"S.jsonl": rows})
    assert (found[1].send_s, found[1].end_s) == (25.0, 25.0)
    assert findings.fixed == {"requests answered before they were sent, as a clock ran backwards": 1}


def test_a_line_without_a_time_is_placed_at_the_one_before(tmp_path: Path) -> None:
    rows = pair(second=(2, 98, 990, 9))
    rows[3]["timestamp"] = "yesterday"
    found, _ = read(tmp_path, {"S.jsonl": rows})
    assert (found[1].send_s, found[1].end_s) == (20.0, 20.0)
