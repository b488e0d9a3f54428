"""What a run writes down, on runs small enough to follow by hand: a step takes 1 s."""

import pytest

from tests.clusters import build_cluster, rows, run_cluster, scenario, trace, turn

ONE_WORKER = {"workers": {"count": 1}}
SYNCHRONOUS = {"async_scheduling": False}


def small_pool(blocks):
    """Settings of one worker that schedules synchronously and has this many usable blocks."""
    return scenario(**ONE_WORKER, engine={"kv_blocks": blocks + 1, "async_scheduling": False})


def test_the_row_of_an_undisturbed_request():
    settings = scenario(
        frontend={"alpha_in_s": 0.5, "dispatch_s": 0.25, "alpha_out_s": 0.125},
        engine=SYNCHRONOUS,
        **ONE_WORKER,
    )
    (row,) = rows(run_cluster(settings, trace(turn(2, 40, 3, [1, 2, 3], "session"))))
    assert row == {
        "index": 0,
        "session": "session",
        "turn": 0,
        "due_s": 2.0,
        "send_s": 2.0,
        "routed_s": 2.5,
        "queued_s": 2.75,
        "first_scheduled_s": 2.75,
        "first_token_s": 3.875,
        "end_s": 5.875,
        "status": "completed",
        "reason": None,
        "worker": 0,
        "prompt_tokens": 40,
        **dict.fromkeys(("decode_worker", "prefilled_s", "decode_queued_s"), None),
        **dict.fromkeys(("pull_start_s", "pull_end_s", "pulled_bytes"), None),
        "output_tokens": 3,
        "counted_prompt_tokens": 40,
        "local_hit_tokens": 0,
        "external_hit_tokens": 0,
        "computed_prompt_tokens": 40,
        "required_tokens": 40,
        "required_block_tokens": 40,
        "returned_tokens": 0,
        "returned_block_tokens": 0,
        "first_tokens": 40,
        "first_block_tokens": 40,
        "recomputed_tokens": 0,
        "preempted_tokens": 0,
        "bound_tokens": 0,
        "checkpoint_tokens": 0,
        "in_flight_tokens": 0,
        "evicted_here_tokens": 0,
        "generated_tokens": 0,
        "elsewhere_tokens": 0,
        "gone_tokens": 0,
        "recomputed_output_tokens": 0,
        "preemptions": 0,
        "ties": 1,
        "credit_tokens": 0,
        "overcredit_tokens": 0,
        "ttft_s": 1.875,
        "tpot_s": 1.0,
        "e2e_s": 3.875,
        "queue_s": 0.0,
        "late_s": 0.0,
        "retries": 0,
    }


def test_a_hit_in_the_gpu_cache():
    cluster = run_cluster(
        scenario(**ONE_WORKER), trace(turn(0, 40, 1, [1, 2, 3]), turn(9, 56, 1, [1, 2, 8, 9]))
    )
    row = rows(cluster)[1]
    assert (row["local_hit_tokens"], row["credit_tokens"], row["overcredit_tokens"]) == (32, 32, 0)
    assert (row["computed_prompt_tokens"], row["required_tokens"], row["recomputed_tokens"]) == (24, 24, 0)


def test_a_load_counts_as_queue_time():
    settings = scenario(
        **ONE_WORKER,
        engine={"kv_blocks": 6},
        offload={
            "cpu_bytes": 10 * 4096,
            "kv_events": "self-describing",
            "link": {"bandwidth_bytes_per_s": 1024, "latency_s": 0, "per_piece_s": 0},
        },
    )
    requests = trace(
        turn(0, 40, 1, [1, 2, 3]),
        turn(20, 80, 1, range(10, 15)),  # takes all five blocks
        turn(40, 40, 1, [1, 2, 3]),
    )
    row = rows(run_cluster(settings, requests))[2]
    assert (row["local_hit_tokens"], row["external_hit_tokens"], row["computed_prompt_tokens"]) == (0, 32, 8)
    # Two blocks of the host tier count for three quarters each: less than what was used.
    assert (row["credit_tokens"], row["overcredit_tokens"]) == (24, 0)
    assert (row["queued_s"], row["first_scheduled_s"], row["queue_s"]) == (40.0, 42.0, 2.0)
    assert (row["first_token_s"], row["recomputed_tokens"], row["bound_tokens"]) == (43.0, 8, 8)


def test_a_hybrid_model_s_router_credits_blocks_that_lack_a_checkpoint():
    requests = trace(turn(0, 64, 1, [1, 2, 3, 4]), turn(9, 64, 1, [1, 2, 8, 9]))
    row = rows(run_cluster(scenario(2, **ONE_WORKER), requests))[1]
    # The only checkpoint stands at the end of the first prompt; the router sees two attention blocks.
    assert (row["credit_tokens"], row["local_hit_tokens"], row["overcredit_tokens"]) == (32, 0, 32)
    assert (row["recomputed_tokens"], row["checkpoint_tokens"]) == (32, 32)


def test_what_a_preempted_request_computes_again():
    requests = trace(turn(0, 32, 3, [1, 2]), turn(0, 31, 5, [3, 4]))
    first, second = rows(run_cluster(small_pool(4), requests))
    assert (first["preemptions"], first["end_s"]) == (0, 3.0)
    # Preempted at 1 s with one token out; admitted again at 3 s, when its first block is still there.
    assert (second["preemptions"], second["first_token_s"], second["end_s"]) == (1, 1.0, 7.0)
    assert (second["computed_prompt_tokens"], second["first_tokens"]) == (31 + 15, 31)
    assert (second["recomputed_tokens"], second["preempted_tokens"]) == (15, 15)
    assert (second["local_hit_tokens"], second["recomputed_output_tokens"]) == (0, 0)


def test_chunks_of_one_token_are_charged_when_they_are_computed_again():
    requests = trace(turn(0, 32, 3, [1, 2]), turn(0, 31, 5, [3, 4]))
    settings = scenario(
        **ONE_WORKER, engine=SYNCHRONOUS | {"kv_blocks": 5, "long_prefill_token_threshold": 1}
    )
    first, second = rows(run_cluster(settings, requests))
    assert (first["preemptions"], second["preemptions"]) == (0, 1)
    # Preempted with two tokens out; its first block is still there, of the 17 known tokens behind it all
    # but the newest are computed again, one a step: 15 of the prompt, one of the answer.
    assert (second["computed_prompt_tokens"], second["preempted_tokens"]) == (31 + 15, 15)
    assert second["recomputed_output_tokens"] == 1


def test_what_another_worker_is_loading_is_in_flight():
    settings = scenario(
        engine={"kv_blocks": 6},
        offload={
            "cpu_bytes": 10 * 4096,
            "link": {"bandwidth_bytes_per_s": 1024, "latency_s": 0, "per_piece_s": 0},
        },
    )
    requests = trace(
        turn(0, 40, 1, [1, 2, 3]),
        turn(10, 8, 1, [4]),
        turn(20, 80, 1, range(10, 15)),  # takes all five blocks of the first worker
        turn(30, 8, 1, [5]),
        turn(40, 40, 1, [1, 2, 3]),  # loads for two seconds
        turn(41, 40, 1, [1, 2, 3]),
    )
    cluster = run_cluster(settings, requests, policy=lambda terms, query, draw: query.request % 2)
    *_, computes, loads = rows(cluster)
    assert (loads["worker"], loads["external_hit_tokens"], loads["first_scheduled_s"]) == (0, 32, 42.0)
    assert (computes["worker"], computes["in_flight_tokens"], computes["elsewhere_tokens"]) == (1, 32, 0)


def test_answers_that_are_computed_again_are_reported_apart():
    requests = trace(turn(0, 32, 18, [1, 2]), turn(0, 8, 26, [3]))
    first, second = rows(run_cluster(small_pool(4), requests))
    # At 17 s the first one needs a third block. The second one comes back to its first block of 16 tokens and
    # computes the rest of the 24 again, all but the newest.
    assert (first["preemptions"], first["end_s"]) == (0, 18.0)
    assert (second["preemptions"], second["recomputed_output_tokens"]) == (1, 8)


def test_gaps_between_tokens_count_a_preemption():
    cluster = run_cluster(small_pool(4), trace(turn(0, 32, 3, [1, 2]), turn(0, 31, 5, [3, 4])))
    # The first: 1 s twice. The second: from 1 s to 4 s, then 1 s three times.
    assert cluster.recorder.itl_s.n == 6
    assert cluster.recorder.itl_s.max == 3.0
    assert cluster.recorder.itl_s.mean == pytest.approx(8 / 6)


def test_due_is_when_the_client_meant_to_send():
    settings = scenario(**ONE_WORKER, replay={"client": "max-concurrency", "max_concurrency": 1})
    found = rows(run_cluster(settings, trace(turn(0, 16, 4, [1]), turn(1, 16, 1, [2]))))
    assert [(row["due_s"], row["send_s"], row["ttft_s"]) for row in found] == [(0, 0, 1), (1, 4, 1)]


def test_levels_of_a_worker():
    settings = scenario(**ONE_WORKER, engine=SYNCHRONOUS | {"max_num_seqs": 1})
    cluster = run_cluster(settings, trace(turn(0, 31, 2, [1, 2]), turn(0.5, 16, 1, [3])))
    assert [tuple(row.values()) for row in rows(cluster, "workers")] == [
        # when, worker, running, waiting, blocks in use, blocks of the CPU tier; the highest of the last four
        (0.0, 0, 1, 0, 2, None, 1, 0, 2, None),
        (0.5, 0, 1, 1, 2, None, 1, 1, 2, None),
        (2.0, 0, 1, 0, 1, None, 1, 0, 1, None),
        (3.0, 0, 0, 0, 0, None, 0, 0, 0, None),
    ]
    (pool,) = cluster.recorder.pool
    assert (pool.max, pool.area(3.0)) == (2, 2 * 2 + 1 * 1)


def test_tables_that_nobody_asked_for_are_not_kept():
    cluster = run_cluster(scenario(output={"tables": []}), trace(turn(0, 16, 1, [1])))
    assert list(cluster.recorder.rows.tables) == ["requests", "links", "itl"]


def test_what_is_unfinished_says_what_it_waits_for():
    settings = scenario(
        **ONE_WORKER,
        engine={"max_num_seqs": 1},
        frontend={"alpha_in_s": 0.75},
        replay={"client": "max-concurrency", "max_concurrency": 3},
    )
    requests = trace(*(turn(at_s, 16, 9, [number]) for number, at_s in enumerate((0, 1, 3.5, 3.75, 99))))
    cluster = build_cluster(settings, requests)
    cluster.client.start()
    cluster.clock.run(until=4)
    cluster.recorder.close(cluster.clock.now, requests.requests, {})
    found = rows(cluster)
    assert [(row["index"], row["status"], row["reason"]) for row in found] == [
        (0, "unfinished", "running on worker 0"),
        (1, "unfinished", "waiting on worker 0"),
        (2, "unfinished", "waits for a worker"),
        (3, "unfinished", "not sent: waits for an earlier request to end; 3 in flight never do"),
        (4, "unfinished", "not sent: waits for an earlier request to end; 3 in flight never do"),
    ]
    assert [row["due_s"] for row in found] == [0.0, 1.0, 3.5, 3.75, None]
    assert [row["send_s"] for row in found] == [0.0, 1.0, 3.5, None, None]
    assert [row["end_s"] for row in found] == [None] * 5
