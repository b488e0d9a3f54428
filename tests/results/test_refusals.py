"""What is said of requests that did not complete, word for word."""

from collections.abc import Mapping
from typing import Any

import pytest

from sim.cluster.faults.clients import CANCELLED, TIMED_OUT
from sim.cluster.faults.process import DRAIN_TIMEOUT, FRONTEND_RESTARTED, WORKER_DIED
from sim.cluster.frontend import CANNOT_CONNECT
from sim.results.refusals import (
    WORDS,
    lost,
    lost_metrics,
    not_completed,
    nothing_served,
    refusals,
    shares,
)
from sim.results.rows import Rows

TOO_LONG = "exceeds_max_model_len"


def kind(reason: str, n: int, longest: int | None = None, most: int | None = None) -> dict[str, Any]:
    status = "rejected" if reason in WORDS and not reason.startswith("not sent") else "unfinished"
    return {"status": status, "reason": reason, "n": n, "longest_tokens": longest, "most_tokens": most}


def summary(total: int, *kinds: Mapping[str, Any]) -> dict[str, Any]:
    counts = {
        status: sum(found["n"] for found in kinds if found["status"] == status)
        for status in ("rejected", "unfinished")
    }
    completed = total - sum(counts.values())
    return {"requests": {"total": total, "completed": completed, **counts}, "not_completed": list(kinds)}


def test_the_table_of_requests_gives_kinds_with_their_longest_prompt_and_the_limit() -> None:
    table = Rows(["requests"]).tables["requests"]
    table.row(status="completed", prompt_tokens=900)
    table.row(status="rejected", reason=TOO_LONG, prompt_tokens=100)
    table.row(status="unfinished", reason="waiting on worker 0", prompt_tokens=5)
    table.row(status="rejected", reason=TOO_LONG, prompt_tokens=300)

    assert not_completed(table, {TOO_LONG: 64}) == [
        kind(TOO_LONG, 2, 300, 64),
        kind("waiting on worker 0", 1, 5),
    ]


def test_how_many_why_and_what_helps() -> None:
    assert refusals([summary(74, kind(TOO_LONG, 40, 187_000, 40_960))]) == [
        "40 of 74 prompts, with the answer, are longer than max_model_len 40,960, the longest prompt 187.0K; "
        "what helps: raise engine.max_model_len if it is below the model's, else model.max_model_len if the "
        "model can be stretched; or send shorter prompts"
    ]
    (one,) = refusals([summary(1, kind("prompt_exceeds_pool", 1, 999, 160))])
    assert one.startswith("1 of 1 prompt is longer than the 160 tokens that the KV pool of a worker holds")


def test_runs_are_counted_together_with_the_limits_that_they_had() -> None:
    runs = [
        summary(74, kind(TOO_LONG, 40, 187_000, 40_960)),
        summary(80, kind(TOO_LONG, 2, 90_000, 81_920)),
        summary(46),
    ]
    (line,) = refusals(runs)
    assert line.startswith(
        "42 of 200 prompts of 3 runs, with the answer, are longer than max_model_len 40,960 to 81,920, "
        "the longest prompt 187.0K; what helps: "
    )


def test_a_remedy_is_said_once_and_most_requests_come_first() -> None:
    lines = refusals([summary(9, kind("waiting on worker 0", 1), kind("running on worker 1", 3))])
    assert lines[0] == "3 of 9 requests never ended: running on worker 1"
    assert lines[1].startswith("1 of 9 requests never ended: waiting on worker 0; what helps: fewer requests")


def test_reasons_beyond_four_are_counted() -> None:
    lines = refusals([summary(99, *(kind(f"waits for {'abcdef'[n - 1]}", n) for n in range(1, 7)))])
    assert [line.split(";")[0] for line in lines] == [
        "6 of 99 requests never ended: waits for f",
        "5 of 99 requests never ended: waits for e",
        "4 of 99 requests never ended: waits for d",
        "3 of 99 requests never ended: waits for c",
        "3 more for 2 other reasons",
    ]


def test_reasons_that_differ_in_numbers_are_one() -> None:
    found = summary(99, *(kind(f"waits on worker {n}; needs {n},000 blocks", n) for n in (1, 3)))
    (line,) = refusals([found])
    assert line.startswith(
        "4 of 99 requests never ended: waits on worker 1; needs 1,000 blocks (1 reason more differs in "
        "numbers)"
    )


def test_a_reason_without_words_stands_for_itself() -> None:
    unknown = {"status": "cancelled", "reason": "the client left", "n": 2, "longest_tokens": 1}
    assert refusals([summary(5) | {"not_completed": [unknown | {"most_tokens": None}]}]) == [
        "2 of 5 requests were cancelled: the client left"
    ]


def test_a_summary_kept_before_there_was_a_list_says_what_it_has() -> None:
    old = {"requests": {"total": 3, "completed": 1, "rejected_by_reason": {TOO_LONG: 2}}}
    (line,) = refusals([old])
    assert line.startswith("2 of 3 prompts, with the answer, are longer than max_model_len")
    assert "the longest prompt of unknown length" in line


@pytest.mark.parametrize("reason", WORDS)
def test_every_reason_has_words(reason: str) -> None:
    (line,) = refusals([summary(3, kind(reason, 2, 7, 5))])
    assert line.startswith("2 of 3 ")
    assert "{" not in line


def test_nothing_is_served_if_everything_sent_was_refused() -> None:
    refused, waits, served = (
        summary(2, kind(TOO_LONG, 2)),
        summary(2, kind(TOO_LONG, 1), kind("waiting on worker 0", 1)),
        summary(2, kind(TOO_LONG, 1)),
    )
    assert nothing_served([refused])
    assert not nothing_served([waits])
    assert not nothing_served([refused, served])
    assert not nothing_served([summary(0)])


def test_unlike_shares_are_said() -> None:
    assert lost(summary(4, kind(TOO_LONG, 1))) == 1
    assert shares([summary(4, kind(TOO_LONG, 1)), summary(8, kind(TOO_LONG, 2))]) == []
    assert shares([summary(4, kind(TOO_LONG, 1)), summary(8)]) == [
        "of a run's requests 0 to 25.0 % were not completed: means are over what each run completed"
    ]


def test_counts_that_are_not_zero_everywhere_are_named() -> None:
    numbers = [
        {"requests.total": 9, "requests.completed": 8, "requests.rejected": 1, "requests.unfinished": 0},
        {"requests.rejected": 0, "requests.rejected_by_reason.outgrew_pool": 1, "preemptions": 3},
    ]
    assert lost_metrics(numbers) == ["requests.rejected"]


@pytest.mark.parametrize(
    "reason",
    [
        CANNOT_CONNECT,
        WORKER_DIED,
        DRAIN_TIMEOUT,
        FRONTEND_RESTARTED,
        CANCELLED,
        TIMED_OUT,
        "frontend_down",
        "kv_transfer_failed",
        "no_eligible_worker",
    ],
)
def test_what_faults_do_to_requests_has_words_of_its_own(reason: str) -> None:
    (said,) = refusals([summary(5) | {"not_completed": [kind(reason, 1, 9)]}])
    assert said.startswith("1 of 5 requests ")
    assert reason not in said
