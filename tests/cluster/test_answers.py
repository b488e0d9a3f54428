"""Answers in later prompts, on clusters small enough to follow by hand: blocks of 16 tokens, steps of 1 s."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sim.simulation.run import summary_of
from sim.workload.request import Answer, Request, Trace
from tests.cluster.test_disaggregated import pair
from tests.clusters import rows, run_cluster, scenario, trace, turn

SHARED = Path(__file__).parents[3] / "shared" / "traces" / "claude-code" / "expected_rows.jsonl"
TURNS = trace(turn(0, 40, 25, (1, 2, 3)), turn(100, 80, 4, (1, 2, 4, 5, 6)))
"""A prompt of 40 tokens, answered with 25; then both, and 15 tokens more."""


def one_worker(**sections):
    return scenario(**{"workers": {"count": 1}, "replay": {"answers": "returned"}} | sections)


@pytest.mark.parametrize("async_scheduling", [False, True])
def test_a_worker_hits_all_full_blocks_that_it_decoded(async_scheduling):
    """Prompt and answer are 65 tokens, 64 computed: 4 blocks; fresh, 2 blocks of whole chunks are known."""
    engine = {"async_scheduling": async_scheduling}
    row = rows(run_cluster(one_worker(engine=engine), TURNS))[1]
    assert (row["local_hit_tokens"], row["computed_prompt_tokens"]) == (64, 16)
    assert (row["required_tokens"], row["returned_tokens"], row["first_tokens"]) == (48, 32, 16)
    fresh = rows(run_cluster(one_worker(replay={"answers": "fresh"}, engine=engine), TURNS))[1]
    assert (fresh["local_hit_tokens"], fresh["computed_prompt_tokens"]) == (32, 48)
    assert (fresh["required_tokens"], fresh["returned_tokens"], fresh["first_tokens"]) == (48, 0, 48)


def test_the_last_token_of_an_answer_is_not_in_the_cache():
    """64 tokens of prompt and answer: the last one was only sampled, so that its block is not full."""
    turns = trace(turn(0, 40, 24, (1, 2, 3)), turn(100, 80, 4, (1, 2, 4, 5, 6)))
    row = rows(run_cluster(one_worker(), turns))[1]
    assert (row["local_hit_tokens"], row["returned_tokens"]) == (48, 31)
    assert (row["first_tokens"], row["bound_tokens"]) == (17, 15)


def test_another_worker_computes_an_answer_again_and_says_why():
    settings = one_worker(workers={"count": 2}, router={"policy": "round-robin"})
    row = rows(run_cluster(settings, TURNS))[1]
    assert row["worker"] == 1
    assert (row["elsewhere_tokens"], row["generated_tokens"]) == (32, 32)
    assert (row["returned_tokens"], row["first_tokens"], row["recomputed_tokens"]) == (32, 16, 64)


def test_the_router_knows_of_decoded_blocks_by_their_events():
    settings = one_worker(workers={"count": 2}, output={"tables": ["decisions"]})
    cluster = run_cluster(settings, TURNS)
    credited = {row["worker"]: row["device_blocks"] for row in rows(cluster, "decisions") if row["request"]}
    assert sorted(credited.values()) == [0, 4]


@pytest.mark.parametrize("fast_forward", [True, False])
def test_the_router_knows_of_an_answer_that_is_still_being_decoded(fast_forward):
    """At 60.5 s, 60 of the first answer are there, 59 of them computed: with the prompt 99, 6 blocks."""
    turns = trace(turn(0, 40, 100, (1, 2, 3)), turn(60.5, 160, 4, (1, 2, *range(4, 12))))
    settings = one_worker(engine={"fast_forward": fast_forward, "async_scheduling": False})
    credit = {row["index"]: row["credit_tokens"] for row in rows(run_cluster(settings, turns))}
    assert credit == {0: 0, 1: 96}


SOON = trace(turn(1, 54, 60, range(4)), turn(75, 144, 1, range(9), delay_s=0))
"""The second turn comes when the first one has ended, or was given up. Blocks of 8: the prompt has 6."""
GIVEN_UP = {"kind": "clients-cancel", "at_s": 0, "for_s": 2, "after_s": 20.5}


@pytest.mark.parametrize("fast_forward", [True, False])
@pytest.mark.parametrize(
    ("sections", "sent_s", "credit"),
    [
        ({}, 61, 112),  # 113 tokens have been computed, and all of that is known at once
        ({"frontend": {"event_delay_s": 0.25}}, 61, 112),
        ({"frontend": {"event_delay_s": 1.25}}, 61, 104),  # of the output of 60 s, nothing is known yet
        ({"faults": [GIVEN_UP]}, 21.5, 72),  # 20 tokens were answered, 19 of them computed: 73
        ({"replay": {"timeout_s": 20.5}}, 21.5, 72),
        ({"frontend": {"event_delay_s": 4.0}, "faults": [GIVEN_UP]}, 21.5, 64),
    ],
)
def test_the_next_turn_finds_what_the_router_has_heard_of_by_then(fast_forward, sections, sent_s, credit):
    base = {
        "engine": {"fast_forward": fast_forward, "async_scheduling": False, "block_size": 8},
        "replay": {"answers": "returned", "client": "turn-dependent"},
    }
    merged = {
        name: base.get(name, {}) | dict(section) for name, section in sections.items() if name != "faults"
    }
    settings = one_worker(**base | merged | {"faults": sections.get("faults", [])})
    row = rows(run_cluster(settings, SOON))[-1]
    assert (row["send_s"], row["credit_tokens"]) == (sent_s, credit)


def test_of_a_pair_the_decode_worker_has_the_answer_and_prefill_computes_it():
    settings = pair()
    settings = settings.model_copy(
        update={"replay": settings.replay.model_copy(update={"answers": "returned"})}
    )
    row = rows(run_cluster(settings, TURNS))[1]
    assert (row["local_hit_tokens"], row["computed_prompt_tokens"]) == (32, 48)
    assert (row["returned_tokens"], row["generated_tokens"], row["first_tokens"]) == (32, 32, 16)
    assert row["pulled_bytes"] == 16 * 64, "the decode worker lacks the last block alone"


def test_two_prompts_hold_the_same_answer_under_ids_of_their_own():
    forked = turn(120, 80, 4, (1, 2, 7, 8, 9), "fork")
    turns = trace(*TURNS.requests, forked)
    answer = Answer(0, 40, 65)
    marked = tuple(replace(one, answer=answer if one.index else None) for one in turns.requests)
    second, third = rows(run_cluster(one_worker(), replace(turns, requests=marked)))[1:]
    assert (second["local_hit_tokens"], third["local_hit_tokens"]) == (64, 64)
    assert (third["returned_tokens"], third["first_tokens"], third["bound_tokens"]) == (33, 15, 1)


def test_an_answer_that_was_cut_short_returns_as_far_as_it_came():
    settings = one_worker(replay={"answers": "returned", "timeout_s": 10.5})
    turns = trace(turn(0, 40, 40, (1, 2, 3)), turn(100, 80, 4, (1, 2, 4, 5, 6)))
    first, second = rows(run_cluster(settings, turns))
    assert (first["status"], first["output_tokens"]) == ("cancelled", 10)
    assert second["local_hit_tokens"] == 48
    assert second["returned_tokens"] == 17


def test_nothing_returns_of_a_request_that_was_turned_away():
    settings = one_worker(engine={"max_model_len": 90})
    turns = trace(turn(0, 40, 51, (1, 2, 3)), turn(100, 80, 4, (1, 2, 4, 5, 6)))
    marked = (turns.requests[0], replace(turns.requests[1], answer=Answer(0, 40, 60)))
    first, second = rows(run_cluster(settings, replace(turns, requests=marked)))
    assert first["status"] == "rejected"
    assert (second["local_hit_tokens"], second["returned_tokens"]) == (0, 0)
    assert second["first_tokens"] == second["required_tokens"] == 80


def test_the_summary_says_what_came_of_answers():
    settings = one_worker(workers={"count": 2}, router={"policy": "round-robin"})
    for chosen, hit in ((one_worker(), 32), (settings, 0)):
        prefill = summary_of(run_cluster(chosen, TURNS))["prefill"]
        assert (prefill["required_tokens"], prefill["required_block_tokens"]) == (88, 88)
        assert (prefill["returned_tokens"], prefill["returned_hit_tokens"]) == (32, hit)
        recomputed = prefill["computed_tokens"] - 88 + 32
        assert prefill["recomputation"] == prefill["recomputation_by_counter"] == recomputed / 88


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared")
@pytest.mark.parametrize("answers", ["fresh", "returned"])
def test_the_transcripts_of_the_example_require_the_same_in_both_modes(answers):
    found = [json.loads(line) for line in SHARED.read_text().splitlines()]
    requests, turns = [], {}
    for index, row in enumerate(found):
        session = row["session_id"]
        place = turns[session] = turns.get(session, -1) + 1
        at_s, length = row["timestamp"] / 1000, row["input_length"]
        requests.append(
            Request(index, session, place, at_s, None, length, row["output_length"], row["hash_ids"])
        )
    settings = scenario(
        workers={"count": 1},
        engine={"kv_blocks": 2001, "max_num_batched_tokens": 4096},
        replay={"answers": answers},
    )
    prefill = summary_of(run_cluster(settings, Trace(requests, 100, "example")))["prefill"]
    assert (prefill["prompt_tokens"], prefill["required_tokens"]) == (10_590, 3_290)
    assert (prefill["returned_tokens"] > 0) == (answers == "returned")
