"""Whole runs: mistakes that other simulators have made, and what has to hold of every run."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from operator import itemgetter
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.base.shipped import scenario_names
from sim.results.metrics import to_json
from sim.scenario.load import load_scenario
from sim.simulation.run import run
from tests.clusters import Pace, named_rows, scenario, trace, turn

ONE_WORKER = {"workers": {"count": 1}}


def simulate(requests, law=None, *, state_groups=0, **sections):
    """Run a trace on a small cluster; return the summary and the rows of its requests in trace order."""
    result = run(scenario(state_groups, **sections), trace=requests, step_time=law or Pace())
    return result.to_dict(), sorted(named_rows(result.rows), key=itemgetter("index"))


# -- what a request sees and gets ----------------------------------------------------------------------------


def test_a_block_is_seen_by_the_router_after_the_pass_that_computes_it():
    """Others showed it at the start of that pass, and sent the next request to what was not there yet."""
    requests = trace(*(turn(at_s, 64, 20, [1, 2, 3, 4], str(at_s)) for at_s in (0.0, 0.5, 1.25)))
    result = run(scenario(), trace=requests, step_time=Pace())
    seen = [row["device_blocks"] for row in named_rows(result.rows, "decisions")]
    assert [sorted(seen[at : at + 2]) for at in (0, 2, 4)] == [[0, 0], [0, 0], [0, 4]]


@pytest.mark.parametrize("async_scheduling", [True, False])
def test_a_pool_far_below_demand_serves_one_after_another(async_scheduling):
    """Others evicted and queued again without end."""
    requests = trace(
        *(turn(n / 2000, 512, 256, range(32 * n, 32 * n + 32), str(n)) for n in range(200)),
    )
    settings = {"kv_blocks": 500, "async_scheduling": async_scheduling, "max_num_batched_tokens": 8192}
    summary, _ = simulate(requests, Pace(0.01, 1e-5), engine=settings, **ONE_WORKER)
    assert summary["requests"]["completed"] == 200
    assert summary["occupancy"]["pool"]["max"] == 1.0
    assert summary["preemptions"] > 0


def test_a_prompt_that_fits_with_an_output_that_does_not_is_counted_as_rejected():
    """Others ended with "one in flight", or with nothing said."""
    requests = trace(turn(0, 960, 200, range(60)), turn(0, 64, 5, range(100, 104), "other"))
    engine = {"kv_blocks": 16, "block_size": 64, "max_num_batched_tokens": 8192}
    summary, (grown, other) = simulate(requests, engine=engine, **ONE_WORKER)
    assert (grown["status"], grown["reason"], other["status"]) == ("rejected", "outgrew_pool", "completed")
    assert (grown["output_tokens"], grown["ttft_s"], grown["e2e_s"], grown["tpot_s"]) == (1, 1.0, None, None)
    assert summary["requests"]["rejected_by_reason"] == {"outgrew_pool": 1}


def test_what_can_never_run_is_rejected_and_leaves_nulls():
    """Others lost its metrics, or reported a TTFT of 0."""
    requests = trace(turn(0, 1280, 5, range(80)), turn(0, 900, 100, range(100, 157)))
    engine = {"kv_blocks": 65}
    summary, found = simulate(requests, engine=engine, **ONE_WORKER)
    assert [row["reason"] for row in found] == ["prompt_exceeds_pool", None]
    summary, found = simulate(trace(requests.requests[0]), engine=engine, **ONE_WORKER)
    assert summary["requests"] == {
        "total": 1,
        "completed": 0,
        "rejected": 1,
        "unfinished": 0,
        "rejected_by_reason": {"prompt_exceeds_pool": 1},
        "unfinished_by_reason": {},
    }
    for name in ("ttft_s", "itl_s", "tpot_s", "e2e_s", "queue_s"):
        assert summary[name] == {"n": 0} | dict.fromkeys(("mean", "p50", "p90", "p95", "p99", "p99.9", "max"))
    assert summary["prefill"]["recomputation"] is None
    assert summary["throughput"] == {"requests_per_s": None, "output_tokens_per_s": None}


def test_a_sequence_longer_than_the_model_s_is_rejected():
    requests = trace(turn(0, 6400, 1, range(400)), turn(0, 1000, 24, range(500, 563)))
    summary, found = simulate(requests, engine={"max_model_len": 1024}, **ONE_WORKER)
    assert [row["reason"] for row in found] == ["exceeds_max_model_len", None]
    assert summary["requests"]["completed"] == 1


@pytest.mark.parametrize(
    ("blocks", "second_prompt", "first_tokens_s"),
    [
        (5, 31, [1.0, 1.0]),  # the second one's token was out when it was preempted: that stays
        (6, 47, [1.0, 4.0]),  # preempted between two chunks of its prompt: its first token comes later
    ],
)
def test_ttft_is_the_time_of_the_token_that_the_client_got(blocks, second_prompt, first_tokens_s):
    """Others froze it at the first attempt of a request that was preempted before any token of it was out."""
    chunks = range(10, 10 - -second_prompt // 16)
    requests = trace(turn(0, 48, 3, range(3)), turn(0, second_prompt, 2, chunks, "second"))
    budget = {5: 79, 6: 64}[blocks]
    engine = {"kv_blocks": blocks + 1, "max_num_batched_tokens": budget, "async_scheduling": False}
    _, found = simulate(requests, engine=engine, **ONE_WORKER)
    assert [row["preemptions"] for row in found] == [0, 1]
    assert [row["first_token_s"] for row in found] == first_tokens_s


def test_a_single_token_has_no_gap_and_no_time_per_output_token():
    """Others divided by zero, or reported gaps of 0."""
    summary, (row,) = simulate(trace(turn(0, 16, 1, [1])), **ONE_WORKER)
    assert (row["ttft_s"], row["e2e_s"], row["tpot_s"]) == (1.0, 1.0, None)
    assert (summary["itl_s"]["n"], summary["itl_s"]["mean"]) == (0, None)
    assert (summary["tpot_s"]["n"], summary["tpot_s"]["mean"]) == (0, None)


def test_hits_are_weighed_by_tokens_not_by_requests():
    """The mean of the requests' shares would say 0.495."""
    # 99 of the 100 blocks are there from a first request, which is the one without a hit.
    requests = trace(
        turn(0, 99 * 16, 1, range(99)),
        turn(50, 16, 1, [1000]),
        turn(60, 1600, 1, range(100)),
    )
    summary, found = simulate(requests, engine={"kv_blocks": 200}, **ONE_WORKER)
    assert [row["local_hit_tokens"] for row in found] == [0, 0, 99 * 16]
    assert summary["prefill"]["by_source"] == {
        "local_compute": (99 + 1 + 1) * 16,
        "local_cache_hit": 99 * 16,
        "external_kv_transfer": 0,
    }


# -- the router in the loop ----------------------------------------------------------------------------------


def spread(seed):
    requests = trace(*(turn(10 * n, 64, 2, range(4 * n, 4 * n + 4), str(n)) for n in range(64)))
    summary, found = simulate(requests, workers={"count": 8}, seed=seed)
    assert summary["router"] == {"decisions": 64, "ties": 64, "overcredit_tokens": 0}
    return [row["worker"] for row in found]


def test_idle_workers_share_unrelated_requests_evenly():
    """Others sent everything to worker 0, or to whichever the hash order named."""
    workers = spread(seed=1)
    counts = Counter(workers)
    assert len(counts) == 8
    assert max(counts.values()) <= 18
    assert spread(seed=1) == workers
    assert spread(seed=2) != workers


def test_a_reload_takes_the_time_of_all_its_blocks():
    """Others priced any number of blocks as one."""
    requests = trace(
        turn(0, 168, 1, range(11)), turn(100, 168, 1, range(20, 31)), turn(200, 168, 1, range(11))
    )
    link = {"bandwidth_bytes_per_s": 1024, "latency_s": 0.5, "per_piece_s": 0}
    _, found = simulate(
        requests,
        engine={"kv_blocks": 12, "max_num_batched_tokens": 8192},
        offload={"cpu_bytes": 30 * 4096, "link": link},
        **ONE_WORKER,
    )
    assert [row["external_hit_tokens"] for row in found] == [0, 0, 160]
    assert [row["ttft_s"] for row in found] == [1.0, 1.0, 0.5 + 10 + 1]


# -- ends ----------------------------------------------------------------------------------------------------


def test_a_run_in_which_nothing_can_happen_any_more_says_who_waits_for_what():
    """vLLM 0.28.0 hangs here: a load is done, but a request before it in the queue finds no room."""
    requests = trace(
        turn(0, 32, 1, [1, 2], "a"),
        turn(10, 32, 1, [3, 4], "b"),
        turn(20, 144, 1, range(10, 19), "c"),  # takes every block; all prompts stay in the CPU tier
        turn(60, 40, 1, [1, 2, 20], "a"),  # loads two blocks
        turn(
            60, 128, 1, [1, 2, *range(30, 36)], "b"
        ),  # waits until they are loaded, then needs eight of nine
        turn(60, 40, 1, [3, 4, 40], "c"),  # loads two blocks meanwhile, and holds them
        turn(70, 16, 1, [50], "d"),
    )
    summary, found = simulate(
        requests,
        engine={"kv_blocks": 10, "max_num_batched_tokens": 8192},
        offload={"cpu_bytes": 20 * 4096, "link": {"bandwidth_bytes_per_s": 1024}},
        **ONE_WORKER,
    )
    assert [row["reason"] for row in found] == [
        *[None] * 4,
        "waiting on worker 0: does not fit, needs 8 KV blocks, 7 of 9 are free, 2 held by request 5 "
        "(loaded, but behind it)",
        "waiting_for_remote_kvs on worker 0: loaded, but behind a request that does not fit; "
        "holds 2 KV blocks, needs 1 KV block more, request 4 is before it",
        "waiting on worker 0: behind a request that does not fit; needs 1 KV block, request 4 is before it",
    ]
    assert {name: summary["requests"][name] for name in ("total", "completed", "rejected", "unfinished")} == {
        "total": 7,
        "completed": 4,
        "rejected": 0,
        "unfinished": 3,
    }
    assert [row["end_s"] for row in found[4:]] == [None] * 3


def test_a_long_context_decodes_to_its_end():
    requests = trace(turn(0, 49_995, 10, range(3125)))
    engine = {"kv_blocks": 4000, "max_num_batched_tokens": 8192}
    _, (row,) = simulate(requests, engine=engine, **ONE_WORKER)
    assert (row["status"], row["output_tokens"], row["first_token_s"]) == ("completed", 10, 7.0)


# -- equal runs ----------------------------------------------------------------------------------------------


def test_a_slow_host_changes_nothing():
    requests = trace(*(turn(n / 4, 64, 5, range(n, n + 4), str(n)) for n in range(8)))

    def slow(terms, query, draw):
        time.sleep(0.005)
        return int(draw * len(terms))

    def quick(terms, query, draw):
        return int(draw * len(terms))

    results = [run(scenario(), trace=requests, policy=policy) for policy in (slow, quick)]
    assert results[0].to_dict() == results[1].to_dict()


HASH_SEEDS = """
import hashlib
from random import Random
from tests.clusters import RandomCluster, rows
from sim.results.metrics import to_json
from sim.simulation.run import summary_of

for seed in (3, 11, 19, 27, 35, 43):
    cluster = RandomCluster(Random(seed)).run()
    print(to_json(summary_of(cluster)), [rows(cluster, table) for table in cluster.recorder.rows.tables])
"""


@pytest.mark.slow
def test_the_hash_seed_changes_nothing():
    outputs = []
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        process = subprocess.run(
            [sys.executable, "-c", HASH_SEEDS],
            cwd=Path(__file__).parents[2],
            env=environment,
            capture_output=True,
            check=True,
        )
        outputs.append(process.stdout)
    assert len(outputs[0]) > 10_000
    assert outputs[0] == outputs[1]


# -- the result ----------------------------------------------------------------------------------------------


def test_a_run_of_a_shipped_scenario(tmp_path):
    settings = load_scenario("agg8", ["workload.sessions=2", "workload.turns=2"])
    seen = []
    result = run(settings, on_progress=lambda now_s, ended, total: seen.append((ended, total)))
    assert result.title == settings.title
    assert seen == [(ended, 4) for ended in range(1, 5)]
    assert result.numbers["requests.completed"] == 4
    assert "(prior)" in result.notes[0]

    result.write(tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text()) == result.to_dict()
    assert load_scenario(tmp_path / "scenario.toml") == settings
    assert sorted(path.name for path in tmp_path.glob("*.parquet")) == [
        "decisions.parquet",
        "itl.parquet",
        "links.parquet",
        "requests.parquet",
        "workers.parquet",
    ]


def test_a_law_of_ones_own_is_named_in_the_notes():
    large = scenario(engine={"kv_blocks": 6251})
    result = run(large, trace=trace(turn(0, 16, 1, [1])), step_time=Pace())
    assert result.notes == [
        "step times: a law passed by the caller",
        "answers are fresh: no prompt holds what was answered before",
    ]
    assert result.numbers["ttft_s.max"] == 1.0


def test_decode_workers_spread_in_another_way_have_times_of_their_own_in_the_notes():
    """Others named the source of the prefill workers' times alone."""
    changes = {"workload.sessions": 1, "workload.turns": 1, "workload.max_context_tokens": 30_000}
    for decode, said in ((8, ["(tp8)"]), (2, [])):
        sizes = {"prefill": 1, "decode": 1, "tensor_parallel": 2, "decode_tensor_parallel": decode}
        result = run("llama8b-1p1d", changes | {"workers": sizes})
        notes = [note for note in result.notes if note.startswith("step times of decode workers (roofline)")]
        assert [note[-5:] for note in notes] == said


def test_workers_that_are_ranks_are_said_to_be():
    notes = run(scenario(workers={"count": 1, "data_parallel": 2}), trace=trace(turn(0, 16, 1, [1]))).notes
    assert "workers are numbered by data-parallel rank: those of the first engine come first" in notes
    death = {"kind": "worker-dies", "worker": 1, "at_s": 9}
    ranks = {"count": 2, "data_parallel": 2}
    broken = run(scenario(workers=ranks, faults=[death]), trace=trace(turn(0, 16, 1, [1])))
    assert any(note.startswith("faults take one data-parallel rank away") for note in broken.notes)
    alone = run(scenario(faults=[death]), trace=trace(turn(0, 16, 1, [1]))).notes
    assert not any("rank" in note for note in alone)


def test_the_longest_prompt_is_said_with_what_its_windows_take():
    """Windows of 32 tokens and the 64 of a step take their share of 100 usable blocks."""
    fields = {"windows": {"layers": 1, "tokens": 32}}
    engine = {"kv_blocks": 101, "max_num_batched_tokens": 64, "async_scheduling": False}
    requests = trace(turn(0, 1600, 1, range(100)), turn(1, 1488, 1, range(200, 293), "fits"))
    summary = run(scenario(model=fields, engine=engine), trace=requests, step_time=Pace()).to_dict()
    # 32 - 1 + 64 tokens of a window in 6 blocks, and one more: 93 are left for attention.
    (refused,) = summary["not_completed"]
    assert (refused["reason"], refused["n"], refused["most_tokens"]) == ("prompt_exceeds_pool", 1, 93 * 16)
    assert summary["requests"]["completed"] == 1


def test_a_policy_that_cannot_be_called_is_refused():
    with pytest.raises(InputError, match="policy 'kv': give a callable"):
        run("agg8", policy="kv")


def test_what_an_aggregated_cluster_has_no_use_for_is_noted():
    note = "without effect on aggregated workers: disaggregation.lease_s, disaggregation.network"
    requests = trace(turn(0, 16, 1, [1]))
    joined = {"lease_s": 10, "network": {"roce": {"latency_s": "1ms"}}, "heartbeat_interval_s": 5}
    assert note in run(scenario(disaggregation=joined), trace=requests).notes
    pair = {"count": None, "prefill": 1, "decode": 1}
    assert note not in run(scenario(workers=pair, disaggregation=joined), trace=requests).notes
    assert not any("effect" in found for found in run(scenario(), trace=requests).notes)


WEIGHT = (
    "router.overlap_score_weight is deprecated: give prefill_load_scale, and overlap_score_credit = 0 in "
    "place of a weight of 0"
)
HICACHE = "no simulated worker has a shared cache: router.shared_cache_type finds nothing there"


@pytest.mark.parametrize(
    ("router", "said"),
    [
        ({"overlap_score_weight": 1.0}, WEIGHT),
        ({"overrides": {"overlap_score_weight": 0.0}}, WEIGHT),
        ({"shared_cache_type": "hicache"}, HICACHE),
        ({"event_threads": 8}, "without effect here: router.event_threads"),
        ({"tracking_hash": "keyed-xxh3-v1"}, "without effect here: router.tracking_hash"),
        (
            {"decode_policy": "kv", "prefill_policy": "kv", "event_threads": 1},
            "without effect here: router.event_threads, router.prefill_policy, router.decode_policy",
        ),
        ({"queue_policy": "wspt"}, "without effect here: router.queue_policy"),
        (
            {"session_affinity_ttl_secs": 60},
            "no session has two requests: router.session_affinity_ttl_secs binds nobody",
        ),
    ],
)
def test_what_the_router_is_told_in_vain_or_by_an_old_name_is_noted(router, said):
    requests = trace(turn(0, 16, 1, [1]))
    plain = run(scenario(), trace=requests).notes
    assert run(scenario(router=router), trace=requests).notes == [*plain, said]


def test_a_binding_of_a_session_with_two_requests_is_not_noted():
    requests = trace(turn(0, 16, 1, [1]), turn(5, 16, 1, [1]))
    plain = run(scenario(), trace=requests).notes
    assert run(scenario(router={"session_affinity_ttl_secs": 60}), trace=requests).notes == plain


def test_a_default_that_is_written_out_is_not_noted_nor_are_the_policies_of_two_pools():
    requests = trace(turn(0, 16, 1, [1]))
    defaults = {"event_threads": 4, "tracking_hash": "public-xxh3-v1", "shared_cache_type": "none"}
    plain = run(scenario(), trace=requests).notes
    assert run(scenario(router=defaults), trace=requests).notes == plain
    pair = {"count": None, "prefill": 1, "decode": 1}
    policies = {"prefill_policy": "kv", "decode_policy": "kv"}
    plain = run(scenario(workers=pair), trace=requests).notes
    assert run(scenario(workers=pair, router=policies), trace=requests).notes == plain


@pytest.mark.parametrize("name", scenario_names())
def test_fast_forward_changes_no_row_of_a_shipped_scenario(name):
    small = ["workload.sessions=4"]
    if load_scenario(name).workload.profile:
        small.append("workload.turns=5")
    fast, slow = (
        run(load_scenario(name, [*small, f"engine.fast_forward={flag}"])) for flag in ("true", "false")
    )
    assert to_json(fast.to_dict()) == to_json(slow.to_dict())
    for table, rows in fast.rows.tables.items():
        for column in rows.columns:
            assert rows.column(column.name) == slow.rows.tables[table].column(column.name), (table, column)


def test_engines_of_several_gpus_are_named_with_what_their_pools_hold() -> None:
    few = ["workload.sessions=1", "workload.turns=1"]
    spread = run("agg4", [*few, "workers.tensor_parallel=2", "engine.kv_blocks=1000"])
    assert "workers: 4 x TP2, 8 GPUs; KV tokens a rank: 800,000" in spread.notes
    assert not any(note.startswith("workers: ") for note in run("agg4", few).notes)
