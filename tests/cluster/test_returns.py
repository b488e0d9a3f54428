"""KV that flows back: a prefill worker reads what decode workers have in host memory."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.results.metrics import to_json
from sim.scenario.scenario import Scenario
from sim.simulation.run import summary_of
from tests.cluster.checks.test_watch import random_pair
from tests.cluster.test_disaggregated import FAST_LINKS, some_turns
from tests.clusters import (
    BLOCK_BYTES,
    HOST_BLOCK_BYTES,
    Pace,
    rows,
    run_cluster,
    scenario,
    trace,
    turn,
    with_answers,
)

TURNS = trace(turn(0, 40, 25, (1, 2, 3)), turn(100, 80, 4, (1, 2, 4, 5, 6)))
"""A prompt of 40 tokens, answered with 25; then both, and 15 tokens more."""


def pair(*, prefill=1, decode=1, host_blocks=50, **joined) -> Scenario:
    return scenario(
        workers={"count": None, "prefill": prefill, "decode": decode},
        replay={"answers": "returned"},
        offload={"cpu_bytes": host_blocks * HOST_BLOCK_BYTES},
        disaggregation={"network": FAST_LINKS, "return_kv": "host", **joined},
    )


def test_a_prefill_worker_reads_an_answer_from_the_decode_worker_and_computes_the_rest():
    """Of 4 blocks of prompt and answer it has 2; the other 2 come over the card, then over PCIe."""
    cluster = run_cluster(pair(), TURNS)
    row = rows(cluster)[1]
    assert (row["local_hit_tokens"], row["external_hit_tokens"], row["computed_prompt_tokens"]) == (
        32,
        32,
        16,
    )
    assert (row["returned_tokens"], row["recomputed_tokens"], row["first_tokens"]) == (32, 0, 16)
    summary = summary_of(cluster)
    assert summary["kv_returned"] == {"n": 1, "n_bytes": 2 * BLOCK_BYTES, "tokens": 32}
    assert summary["prefill"]["returned_hit_tokens"] == 32
    assert summary["occupancy"]["decode_cpu_tier"]["max"] == 5 / 50, "4 blocks of both, 1 of the second"


def test_the_read_takes_the_time_of_the_card_and_crosses_its_links():
    """The card's latency is 0.5 s; 2 KiB at 1 GB/s are nothing beside that."""
    cluster = run_cluster(pair(), TURNS)
    cards = [row for row in rows(cluster, "links") if row["kind"] == "roce"]
    assert [(row["direction"], row["transfers"], row["n_bytes"]) for row in cards] == [
        ("out", 1, 2 * BLOCK_BYTES),
        ("in", 1, 2 * BLOCK_BYTES),
    ]
    assert 0.5 < rows(cluster)[1]["queue_s"] < 1.5


def test_the_decode_worker_that_has_most_is_read():
    settings = pair(decode=2).model_copy(update={"seed": 1})
    later = trace(*TURNS.requests, turn(200, 96, 2, (1, 2, 4, 5, 6, 7)))
    cluster = run_cluster(settings, later)
    assert all(row["local_hit_tokens"] + row["external_hit_tokens"] >= 64 for row in rows(cluster)[1:])


def test_without_room_in_its_own_host_memory_nothing_is_read():
    """One block there: it takes one of the two in."""
    cluster = run_cluster(pair(host_blocks=1, decode_cpu_bytes=50 * HOST_BLOCK_BYTES), TURNS)
    assert rows(cluster)[1]["computed_prompt_tokens"] > 16


def test_without_it_the_answer_is_computed_and_nothing_is_said():
    settings = pair()
    joined = settings.disaggregation.model_copy(update={"return_kv": None})
    cluster = run_cluster(settings.model_copy(update={"disaggregation": joined}), TURNS)
    assert rows(cluster)[1]["generated_tokens"] == 32
    assert "kv_returned" not in summary_of(cluster)
    assert "decode_cpu_tier" not in summary_of(cluster)["occupancy"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offload": None}, r"comes in through host memory of the prefill workers"),
        (
            {"faults": [{"kind": "worker-dies", "worker": 0, "at_s": 1.0}]},
            "is not simulated beside workers that go",
        ),
        (
            {"disaggregation": {"decode_cpu_bytes": 4096}},
            r'decode workers use host memory only with disaggregation.return_kv = "host"',
        ),
        (
            {
                "workers": {"prefill": 1, "decode": 1, "decode_tensor_parallel": 2},
                "model": "qwen3.8-27b-fp8",
                "offload": {"cpu_bytes": "64GiB"},
            },
            "spread over GPUs alike",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(change, message):
    settings = pair().to_dict() | change
    settings = {key: value for key, value in settings.items() if value is not None}
    with pytest.raises((InputError, ValueError), match=message):
        Scenario.model_validate(settings)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_fast_forward_changes_nothing_and_no_rule_is_broken(seed):
    found = []
    for fast_forward in (True, False):
        random = Random(seed)
        settings = random_pair(random, fast_forward=fast_forward).to_dict()
        link = {"bandwidth_bytes_per_s": random.choice([0.25, 1, 1000]) * BLOCK_BYTES}
        host = {"cpu_bytes": HOST_BLOCK_BYTES * random.choice([1, 5, 20, 200]), "link": link}
        settings["offload"] = host | {"eviction_policy": random.choice(["lru", "arc"])}
        settings["disaggregation"]["return_kv"] = "host"
        settings["replay"]["answers"] = "returned"
        turns = some_turns(seed, sessions=random.randint(1, 8), turns=4)
        if random.random() < 0.5:
            turns = with_answers(turns, random)
        law = random.choice([Pace(), Pace(0.1, 0.01)])
        cluster = run_cluster(Scenario.model_validate(settings), turns, law, check=True)
        found.append((to_json(summary_of(cluster)), rows(cluster)))
    assert found[0] == found[1]
