"""Answers that do not add up are seen."""

from sim.cluster.checks import answers
from tests.cluster.checks.broken import violation
from tests.clusters import scenario, trace, turn

RETURNING = trace(turn(0, 40, 9, (1, 2, 3), delay_s=None), turn(20, 80, 4, (1, 2, 4, 5, 6), delay_s=1.0))
SETTINGS = scenario(workers={"count": 1}, replay={"answers": "returned"})


def test_more_that_returns_than_was_generated_is_seen():
    """The prompt before and its answer have 49 tokens, 32 of them known by whole chunks."""

    def more(cluster):
        cluster.recorder._ledger.account(1).returned_tokens += 2

    error = violation(more, SETTINGS, at_s=20.5, requests=RETURNING)
    assert (error.rule, error.request) == (answers.RULE, 1)
    assert "18 tokens returned to it, an answer before has at most 17" in error.detail


def test_an_answer_where_none_was_is_seen():
    def some(cluster):
        cluster.recorder._ledger.account(0).returned_tokens = 1

    error = violation(some, SETTINGS, at_s=2.5, requests=RETURNING)
    assert (error.rule, error.request) == (answers.RULE, 0)
    assert "at most" in error.detail


def test_first_tokens_of_nothing_that_is_required_are_seen():
    def twice(cluster):
        cluster.recorder._ledger.account(1).returned_tokens -= 1

    error = violation(twice, SETTINGS, at_s=20.5, requests=RETURNING)
    assert (error.rule, error.request) == (answers.RULE, None)
    assert error.detail == "73 tokens are required and not returned, 72 were computed first"
