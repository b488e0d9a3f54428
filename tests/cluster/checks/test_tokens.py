"""Tokens that do not add up are seen."""

import pytest

from sim.base.errors import InvariantError
from sim.cluster.checks import tokens
from tests.cluster.checks.broken import Tampering, aggregated, build, violation


def ledger_of(cluster, request=1):
    return cluster.recorder._ledger.account(request)


def test_a_recomputed_token_without_a_cause_is_seen():
    def uncaused(cluster):
        ledger_of(cluster).computed_tokens += 1

    error = violation(uncaused)
    assert (error.rule, error.request) == (tokens.RULE, 1)
    assert "causes" in error.detail


def test_a_token_that_was_never_scheduled_is_seen():
    def invented(cluster):
        account = ledger_of(cluster)
        account.computed_tokens += 1
        account.first_tokens += 1

    error = violation(invented)
    assert (error.rule, error.request) == (tokens.RULE, 1)
    assert "than were scheduled" in error.detail


def test_a_hit_that_is_not_there_is_seen():
    def wider(cluster):
        cluster.recorder.records[1].active.local_tokens += 16

    error = violation(wider)
    assert (error.rule, error.request) == (tokens.RULE, 1)
    assert "do not add to its prompt" in error.detail


def test_a_gap_in_a_prompt_is_seen_when_it_is_planned():
    cluster = build(aggregated(), check=True)

    class Skipping(Tampering):
        def planned(self, worker, plan, events, now_s):
            for admission in plan.admitted:
                admission.local_tokens += 16
            self.other.planned(worker, plan, events, now_s)

    cluster.workers[0]._observer = Skipping(cluster.workers[0]._observer)
    with pytest.raises(
        InvariantError, match=r"request 0, worker 0, at 0 s: computes 64 tokens from 0 on"
    ) as caught:
        cluster.run()
    assert caught.value.rule == tokens.RULE


def test_a_gap_between_tokens_that_is_counted_twice_is_seen():
    assert violation(lambda cluster: cluster.recorder.itl_s.add(1.0)).rule == tokens.RULE
