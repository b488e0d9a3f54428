"""Which prompt tokens are taken for an answer given before."""

from dataclasses import replace

import pytest

from sim.workload.answers import answers_of, describe, may_overtake
from sim.workload.request import Answer
from sim.workload.settings import ReplaySettings
from tests.clusters import trace, turn

TWO = trace(turn(0, 40, 9, (1, 2, 3)), turn(1, 64, 2, (1, 2, 4, 5)))


def test_the_answer_stands_behind_the_prompt_before_it():
    assert answers_of(TWO, "returned") == {1: Answer(0, 40, 49)}


def test_nothing_returns_unless_it_is_asked_for_or_recorded():
    assert answers_of(TWO, None) == answers_of(TWO, "fresh") == {}
    recorded = replace(TWO, answers="returned")
    assert answers_of(recorded, None) == {1: Answer(0, 40, 49)}
    assert answers_of(recorded, "fresh") == {}


@pytest.mark.parametrize(
    ("later", "why"),
    [
        (turn(1, 48, 2, (1, 2, 4)), "it grew by less than the answer"),
        (turn(1, 64, 2, (1, 8, 4, 5)), "its last full chunk is another one"),
        (turn(1, 64, 2, (8, 2, 4, 5)), "its first full chunk is another one"),
        (turn(1, 64, 2, (1, 2, 4, 5), "other"), "it belongs to another session"),
    ],
)
def test_a_prompt_without_the_answer_has_none(later, why):
    assert answers_of(trace(turn(0, 40, 9, (1, 2, 3)), later), "returned") == {}, why


def test_the_answer_may_end_the_prompt():
    just = trace(turn(0, 40, 9, (1, 2, 3)), turn(1, 49, 2, (1, 2, 4, 5)))
    assert answers_of(just, "returned") == {1: Answer(0, 40, 49)}


def test_only_the_turn_before_is_asked():
    """After a prompt of something else, the one before that is not looked at."""
    three = trace(turn(0, 40, 9, (1, 2, 3)), turn(1, 16, 1, (9,)), turn(2, 64, 2, (1, 2, 4, 5)))
    assert answers_of(three, "returned") == {}


def test_marks_of_the_trace_are_taken_as_they_are():
    marked = tuple(replace(one, answer=Answer(0, 40, 45) if one.index else None) for one in TWO.requests)
    found = answers_of(replace(TWO, requests=marked), "returned")
    assert found == {1: Answer(0, 40, 45)}


def test_a_trace_that_knows_its_answers_and_marks_none_has_none():
    """A turn taken back: its prompt is sent again, with another one behind it and no answer."""
    assert answers_of(replace(TWO, marks_answers=True), "returned") == {}


def test_what_becomes_of_answers_is_said():
    assert describe(TWO, {}, None) == "answers are fresh: no prompt holds what was answered before"
    assert describe(TWO, {}, "returned") == "answers would return in later prompts, but none holds one"
    assert describe(TWO, answers_of(TWO, "returned"), "returned") == (
        "answers return in later prompts, told from lengths and hash ids: 1 of 2 requests hold one, 9 tokens"
    )
    marked = replace(TWO, requests=(TWO.requests[0], replace(TWO.requests[1], answer=Answer(0, 40, 49))))
    assert "as the trace marks them: 1 of 2" in describe(marked, answers_of(marked, "returned"), None)


def test_requests_that_are_not_of_the_trace_are_not_counted():
    """Those of a smaller run before it, and of sessions that begin anew, come behind its own."""
    more = {**answers_of(TWO, "returned"), 3: Answer(2, 40, 49)}
    assert describe(TWO, more, "returned") == describe(TWO, answers_of(TWO, "returned"), "returned")


def test_only_a_prompt_that_waits_for_the_answer_it_holds_cannot_overtake_it():
    told, waits = answers_of(TWO, "returned"), ReplaySettings(client="turn-dependent")
    assert not may_overtake(TWO, {}, ReplaySettings(client="open-loop"))
    assert may_overtake(TWO, told, ReplaySettings(client="open-loop"))
    assert not may_overtake(TWO, told, waits)
    fork = trace(*TWO.requests, turn(2, 64, 2, (1, 2, 7, 8), "fork"))
    assert may_overtake(fork, {2: Answer(0, 40, 49)}, waits)
