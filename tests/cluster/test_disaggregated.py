"""Whole runs of disaggregated clusters: stages, pulls, leases, and what cannot end."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from sim.cli import app
from sim.engine.lookup import EngineDiedError
from sim.ledger.account import CAUSES
from sim.results.metrics import to_json
from sim.router import RouterConfig
from sim.simulation.run import run, summary_of
from tests.clusters import Pace, build_cluster, rows, run_cluster, scenario, trace, turn

DATA = Path(__file__).parents[1] / "data"
FAST_LINKS = {
    "nvlink": {"bandwidth_bytes_per_s": 1e9, "latency_s": 0.25, "per_descriptor_s": 0.0},
    "roce": {"bandwidth_bytes_per_s": 1e9, "latency_s": 0.5, "per_descriptor_s": 0.0},
}


def pair(state_groups=0, *, prefill=1, decode=1, engine=None, **joined):
    return scenario(
        state_groups,
        workers={"count": None, "prefill": prefill, "decode": decode},
        engine=engine or {},
        disaggregation={"network": FAST_LINKS, **joined},
    )


def some_turns(seed, sessions=4, turns=3, block=16):
    random = Random(seed)
    requests, next_id = [], 1000
    for session in range(sessions):
        chunks, tokens = [7, 8] if session % 2 else [9], 0
        for number in range(turns):
            grown = random.randint(1, 5)
            chunks = [*chunks, *range(next_id, next_id + grown)]
            next_id += grown
            tokens = len(chunks) * block - random.randint(0, block - 1)
            answer = random.randint(1, 20)
            requests.append(
                turn(session * 0.5 + number * 40.0, tokens, answer, chunks, f"s{session}", delay_s=1.0)
            )
    requests.sort(key=lambda request: request.timestamp_s)
    return trace(*requests)


# -- one request, by hand -----------------------------------------------------------------------------------


@pytest.mark.parametrize("state_groups", [0, 3])
def test_the_life_of_one_request(state_groups):
    """33 tokens: 1 step on the prefill worker, a pull of 0.25 s, then a step a token on the decode worker."""
    cluster = run_cluster(pair(state_groups), trace(turn(0.0, 33, 3, (1, 2, 3))))
    (row,) = rows(cluster)
    assert (row["worker"], row["decode_worker"], row["status"]) == (0, 1, "completed")
    assert row["prefilled_s"] == row["decode_queued_s"] == 1.0
    assert (row["pull_start_s"], row["pull_end_s"]) == (1.0, pytest.approx(1.25, abs=1e-4))
    assert row["ttft_s"] == pytest.approx(2.25, abs=1e-4)
    assert row["e2e_s"] == pytest.approx(4.25, abs=1e-4)
    assert row["output_tokens"] == 3
    assert cluster.recorder.itl_s.n == 2
    blocks = 2 + state_groups if state_groups else 3
    assert row["pulled_bytes"] == blocks * cluster.capacity.block_bytes
    # The decode side's one token of prompt does not count.
    assert row["computed_prompt_tokens"] == (32 if state_groups else 33)
    assert row["counted_prompt_tokens"] == (32 if state_groups else 33)
    assert row["recomputed_tokens"] == 0


def test_each_leg_is_a_decision():
    cluster = run_cluster(pair(prefill=2, decode=3), trace(turn(0.0, 33, 3, (1, 2, 3))))
    chosen = Counter((row["leg"], row["worker"]) for row in rows(cluster, "decisions"))
    assert chosen == {
        **{("prefill", worker): 1 for worker in (0, 1)},
        **{("decode", worker): 1 for worker in (2, 3, 4)},
    }
    assert all(row["decode_blocks"] == 0 for row in rows(cluster, "decisions") if row["leg"] == "prefill")
    assert all(row["device_blocks"] == 0 for row in rows(cluster, "decisions") if row["leg"] == "decode")


def test_a_decode_worker_pulls_only_the_attention_blocks_it_lacks():
    """The second turn grows by two blocks; the first turn's two full blocks are on the decode worker."""
    cluster = run_cluster(pair(), trace(turn(0.0, 33, 2, (1, 2, 3)), turn(50.0, 65, 2, (1, 2, 30, 4, 5))))
    first, second = rows(cluster)
    block_bytes = cluster.capacity.block_bytes
    assert (first["pulled_bytes"], second["pulled_bytes"]) == (3 * block_bytes, 3 * block_bytes)
    assert second["local_hit_tokens"] == 32


def test_pulls_between_nodes_take_the_network_card():
    placement = {"gpus_per_node": 1}
    cluster = run_cluster(pair(placement=placement), trace(turn(0.0, 33, 1, (1, 2, 3))))
    used = {(row["kind"], row["owner"], row["direction"]) for row in rows(cluster, "links") if row["n_bytes"]}
    assert used == {("roce", 0, "out"), ("roce", 1, "in")}
    assert rows(cluster)[0]["pull_end_s"] == pytest.approx(1.5, abs=1e-4)


# -- routing ------------------------------------------------------------------------------------------------


def test_the_legs_of_a_request_are_drawn_apart():
    """Of 48 requests to 2 + 2 workers at random, about half decode on the worker of their prefill's rank."""
    settings = pair(prefill=2, decode=2).model_copy(update={"router": RouterConfig(policy="random")})
    requests = trace(*(turn(float(number), 16, 1, [number], str(number)) for number in range(48)))
    found = rows(run_cluster(settings, requests))
    assert sum(row["decode_worker"] == row["worker"] + 2 for row in found) == 30


# -- conservation -------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    state_groups=st.sampled_from([0, 2]),
    blocks=st.integers(40, 70),
    sync=st.booleans(),
    offload=st.sampled_from([None, "lru", "arc"]),
    client=st.sampled_from(["open-loop", "max-concurrency", "turn-dependent"]),
)
@pytest.mark.slow
def test_bytes_and_blocks_are_conserved_and_skipping_changes_nothing(
    *, seed, state_groups, blocks, sync, offload, client
):
    def build(fast_forward):
        engine = {
            "kv_blocks": blocks,
            "max_num_batched_tokens": 64,
            "async_scheduling": not sync,
            "fast_forward": fast_forward,
        }
        base = pair(state_groups, prefill=2, decode=2, engine=engine, decode_kv_role="kv_consumer")
        changes = {"replay": base.replay.model_copy(update={"client": client})}
        if offload:
            tier = {"cpu_bytes": 30 * 4096, "eviction_policy": offload}
            changes["offload"] = type(base).model_fields["offload"].annotation.__args__[0](**tier)
        return base.model_copy(update=changes)

    requests = some_turns(seed)
    law = Pace(step_s=0.03, token_s=0.001, context_s=1e-5)
    fast, slow = (run_cluster(build(value), requests, law) for value in (True, False))
    for table in fast.recorder.rows.tables:
        assert rows(fast, table) == rows(slow, table)
    assert to_json(summary_of(fast)) == to_json(summary_of(slow))

    found = rows(fast)
    assert {row["status"] for row in found} == {"completed"}
    pulled = sum(row["pulled_bytes"] or 0 for row in found)
    links = [row for row in rows(fast, "links") if row["kind"] != "pcie"]
    assert pulled == sum(row["n_bytes"] for row in links if row["direction"] == "out")
    assert pulled == sum(row["n_bytes"] for row in links if row["direction"] == "in")
    assert pulled == summary_of(fast)["pulls"]["n_bytes"]
    assert pulled % fast.capacity.block_bytes == 0
    for worker in fast.workers:
        assert worker.engine.cache.pool.used_blocks == 0
        assert not worker.engine.nixl.held
    for pool in fast.frontend.pools:
        loads = pool.router.loads
        assert not any([*loads.prefill_tokens, *loads.active_blocks, *loads.requests])
    causes = [f"{cause}_tokens" for cause in CAUSES]
    assert all(sum(row[name] for name in causes) == row["recomputed_tokens"] for row in found)


# -- what goes wrong ----------------------------------------------------------------------------------------


def test_a_prompt_too_large_for_the_decode_pool_is_refused_with_the_reason():
    cluster = run_cluster(pair(decode_kv_blocks=4), trace(turn(0.0, 80, 1, range(5))))
    (row,) = rows(cluster)
    assert (row["status"], row["reason"], row["ttft_s"]) == ("rejected", "prompt_exceeds_decode_pool", None)


def test_a_lease_that_ends_is_counted_and_the_decode_worker_computes_the_prompt():
    """The second prompt waits for the full decode pool; without heartbeats its blocks go after 5 s."""
    cluster = run_cluster(
        pair(decode_kv_blocks=6, lease_s=5.0, heartbeat_interval_s=0.0),
        trace(turn(0.0, 64, 16, range(4), "a"), turn(0.0, 63, 2, range(10, 14), "b")),
    )
    first, second = rows(cluster)
    assert (first["status"], second["status"]) == ("completed", "completed")
    assert second["pulled_bytes"] is None
    assert summary_of(cluster)["pulls"]["leases_expired"] == 1
    assert second["recomputed_tokens"] == 63


def test_heartbeats_keep_the_blocks_of_a_request_that_waits():
    cluster = run_cluster(
        pair(decode_kv_blocks=6, lease_s=5.0),
        trace(turn(0.0, 64, 16, range(4), "a"), turn(0.0, 63, 2, range(10, 14), "b")),
    )
    assert summary_of(cluster)["pulls"]["leases_expired"] == 0
    assert all(row["pulled_bytes"] for row in rows(cluster))


def test_an_engine_that_dies_of_nothing_to_compute_takes_its_requests_with_it():
    """A prompt of one block and a token, sent again while its block is on the prefill worker's GPU."""
    twice = trace(turn(0.0, 17, 1, (1, 2), "a"), turn(9.0, 17, 1, (1, 2), "b"))
    alive = run_cluster(pair(2), twice)
    assert [row["status"] for row in rows(alive)] == ["completed", "completed"]
    assert summary_of(alive)["pulls"]["nothing_left"] == 1
    dead = run_cluster(pair(2, engine={"vllm_0_28_faults": True}), twice)
    assert [(row["status"], row["reason"]) for row in rows(dead)] == [
        ("completed", None),
        ("rejected", "engine_died"),
    ]


def test_zero_progress_is_named_and_ends_the_run_with_status_3():
    found = CliRunner().invoke(app, ["run", str(DATA / "livelock.toml")])
    assert found.exit_code == 3
    assert "zero-progress preemption" in found.stdout
    assert (
        "the engines' own counters do not say: 654 tokens are of requests that came to no first"
        in found.stdout
    )
    cured = ["--set", "disaggregation.decode_kv_role=kv_consumer"]
    assert CliRunner().invoke(app, ["run", str(DATA / "livelock.toml"), *cured]).exit_code == 0


def test_prompts_are_counted_when_they_come_to_their_first_token():
    """All eight prompts are computed; five requests come to a first token before everything stands still."""
    prefill = run(str(DATA / "livelock.toml")).to_dict()["prefill"]
    assert prefill["prompt_tokens"] == sum(prefill["by_source"].values()) == 1274
    assert prefill["uncounted_tokens"] == prefill["required_tokens"] - 1274 == 654
    assert prefill["recomputation_by_counter"] is None


# -- engines that die ---------------------------------------------------------------------------------------


def dying(settings, requests, worker, at_s):
    """A cluster of which one worker's engine meets a fault with its first look-up from a time on."""
    cluster = build_cluster(settings, requests)
    lookup = cluster.workers[worker].engine.scheduler.lookup
    find = lookup.find

    def faulty(request):
        if cluster.clock.now >= at_s:
            raise EngineDiedError
        return find(request)

    lookup.find = faulty
    cluster.run()
    return cluster


@pytest.mark.parametrize(("worker", "stage"), [(0, "prefill"), (2, "decode")])
def test_nothing_is_routed_to_a_dead_engine_any_more(worker, stage):
    requests = trace(*(turn(number * 10.0, 33, 3, (number, 90, 91), f"s{number}") for number in range(12)))
    cluster = dying(pair(prefill=2, decode=2), requests, worker, 35.0)
    found = rows(cluster)
    lost = [row for row in found if row["status"] == "rejected"]
    assert [row["reason"] for row in lost] == ["engine_died"]
    late = [
        row for row in rows(cluster, "decisions") if row["leg"] == stage and row["now_s"] > lost[0]["end_s"]
    ]
    assert late
    assert worker not in {row["worker"] for row in late}
    assert all(row["status"] == "completed" for row in found if row is not lost[0])


def test_without_a_decode_worker_requests_end_rejected_and_what_is_held_is_let_go():
    requests = trace(*(turn(number * 10.0, 33, 3, (number, 90, 91), f"s{number}") for number in range(3)))
    cluster = dying(pair(lease_s=5.0), requests, 1, 10.0)
    assert [(row["status"], row["reason"]) for row in rows(cluster)] == [
        ("completed", None),
        ("rejected", "engine_died"),
        ("rejected", "no_eligible_worker"),
    ]
    last = rows(cluster)[2]
    nothing = ("decode_worker", "decode_queued_s", "pull_start_s", "pull_end_s", "pulled_bytes", "ttft_s")
    assert {last[name] for name in nothing} == {None}
    # One prompt never had a decode worker, the other one's sends no heartbeats any more.
    assert summary_of(cluster)["pulls"]["leases_expired"] == 2
    assert cluster.workers[0].engine.cache.pool.used_blocks == 0


# -- conditional disaggregation -----------------------------------------------------------------------------


def test_a_prompt_with_little_to_compute_stays_at_its_decode_worker():
    """The second turn adds 17 tokens to what the decode worker has: below the threshold of 20."""
    conditional = {"eff_isl_threshold": 20}
    cluster = run_cluster(
        pair(conditional=conditional),
        trace(turn(0.0, 48, 1, (1, 2, 3)), turn(50.0, 65, 1, (1, 2, 3, 4, 5))),
    )
    first, second = rows(cluster)
    assert (first["worker"], first["decode_worker"]) == (0, 1)
    assert (second["worker"], second["decode_worker"], second["pulled_bytes"]) == (1, 1, None)
    assert second["local_hit_tokens"] == 48


@pytest.mark.parametrize(
    ("conditional", "bypass"),
    [
        ({"eff_isl_threshold": 17}, False),
        ({"eff_isl_threshold": 18}, True),
        ({"eff_isl_threshold": 18, "decode_busy_threshold": 0.5}, True),
        ({"eff_isl_threshold": 18, "decode_busy_threshold": 0.01}, False),
    ],
)
def test_the_policy_and_the_guard_decide_where_a_prompt_is_computed(conditional, bypass):
    requests = trace(turn(0.0, 48, 1, (1, 2, 3)), turn(50.0, 65, 1, (1, 2, 3, 4, 5)))
    second = rows(run_cluster(pair(conditional=conditional), requests))[1]
    assert (second["worker"], second["prefilled_s"] is None) == ((1, True) if bypass else (0, False))
    assert (second["pulled_bytes"] is None) is bypass


@pytest.mark.parametrize("policy", ["prefill_load", "isl_or_load"])
def test_a_prompt_stays_at_its_decode_worker_while_the_prefill_worker_is_busy(policy):
    """The first prompt of 48 tokens is booked when the second one, at the same time, is routed."""
    conditional = {"policy": policy, "prefill_busy_threshold": 0.5, "eff_isl_threshold": 0}
    cluster = run_cluster(
        pair(conditional=conditional),
        trace(turn(0.0, 48, 1, (1, 2, 3), "a"), turn(0.0, 48, 1, (4, 5, 6), "b")),
    )
    first, second = sorted(rows(cluster), key=lambda row: row["index"])
    assert (first["worker"], first["decode_worker"]) == (0, 1)
    assert (second["worker"], second["decode_worker"], second["pulled_bytes"]) == (1, 1, None)


@pytest.mark.parametrize(("event_delay_s", "seen_blocks"), [(0.25, 3), (0.5, 0)])
def test_an_answer_comes_before_the_news_of_its_instant(event_delay_s, seen_blocks):
    """The prefill worker's answer is back at 1.5 s, when the decode worker's news of the prompt may be there.

    The second request stays at the decode worker, as the prefill worker is busy; both compute up to 1 s.
    """
    settings = pair(conditional={"policy": "prefill_load", "prefill_busy_threshold": 0.5})
    delays = {"alpha_out_s": 0.5, "event_delay_s": event_delay_s}
    frontend = settings.frontend.model_copy(update=delays)
    cluster = run_cluster(
        settings.model_copy(update={"frontend": frontend}),
        trace(turn(0.0, 48, 1, (1, 2, 3), "a"), turn(0.0, 48, 1, (1, 2, 3), "b")),
    )
    (choice,) = (row for row in rows(cluster, "decisions") if row["leg"] == "decode")
    assert (choice["request"], choice["now_s"], choice["device_blocks"]) == (0, 1.5, seen_blocks)


# -- the decode worker's books ------------------------------------------------------------------------------


def test_a_decode_worker_s_blocks_are_booked_until_the_answer_ends():
    """The second request meets the two blocks of the first, and goes to the other decode worker."""
    cluster = run_cluster(
        pair(decode=2),
        trace(turn(0.0, 32, 9, (1, 2), "a"), turn(5.0, 32, 1, (3, 4), "b"), turn(30.0, 32, 1, (5, 6), "c")),
    )
    choices = [row for row in rows(cluster, "decisions") if row["leg"] == "decode"]
    booked = [sorted(row["active_blocks"] for row in choices if row["request"] == n) for n in range(3)]
    assert booked == [[0, 0], [0, 2], [0, 0]]
    chosen = {row["index"]: row["decode_worker"] for row in rows(cluster)}
    assert chosen[0] != chosen[1]


def test_what_a_preemption_on_the_decode_side_recomputes_is_counted():
    """Two answers outgrow eleven blocks together; a decode worker has no checkpoint to start from again."""
    cluster = run_cluster(
        pair(2, decode_kv_blocks=12, decode_kv_role="kv_consumer"),
        trace(turn(0.0, 33, 30, (1, 2, 3), "a"), turn(0.0, 33, 30, (4, 5, 6), "b")),
    )
    found = rows(cluster)
    assert {row["status"] for row in found} == {"completed"}
    assert sum(row["preemptions"] for row in found) > 0
    assert sum(row["preempted_tokens"] for row in found) > 0
    assert sum(row["recomputed_output_tokens"] for row in found) > 0
    # Nothing but the preemptions makes anyone compute anything twice here.
    assert all(row["preempted_tokens"] == row["recomputed_tokens"] for row in found)
