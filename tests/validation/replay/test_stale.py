"""Credit of before the run."""

from dataclasses import replace

from sim.measured.run import load_run
from sim.validation.replay.recording import recording
from sim.validation.replay.stale import stale_tokens
from tests.measured.small_run import SMALL


def test_credit_for_what_an_earlier_prompt_had_is_none_of_before() -> None:
    recorded = recording(load_run(SMALL))
    assert stale_tokens(recorded.requests, recorded.trace, 16) == {}
    assert not any("empty at the start" in note for note in recorded.notes)


def test_credit_for_what_nobody_sent_is_one() -> None:
    recorded = recording(load_run(SMALL))
    first, *others = recorded.requests
    assert first.logged is not None
    (decision,) = first.logged.decisions
    logged = replace(first.logged, decisions=[replace(decision, overlap_blocks=2)])
    recorded = replace(recorded, requests=(replace(first, logged=logged), *others))
    assert stale_tokens(recorded.requests, recorded.trace, 16) == {0: 32}
    assert recorded.notes == [
        "the router credited 32 tokens, to 1 of 3 requests, that no earlier request had sent: its index was "
        "not empty at the start, as that of a replay is"
    ]
