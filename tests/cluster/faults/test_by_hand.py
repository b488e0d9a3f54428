"""Each kind of fault on a cluster of two, with times by hand: a step takes 10 ms + 1 ms a token."""

import pytest

from sim.simulation.run import run, summary_of
from tests.cluster.faults.by_hand import LAW, by_index, only, play, two
from tests.clusters import HOST_BLOCK_BYTES, Pace, rows, run_cluster, scenario, trace, turn

DEATH = {"kind": "worker-dies", "worker": 0, "at_s": 0.050}


def test_requests_of_a_worker_that_dies_fail():
    cluster = play(two(), DEATH)
    first, second = by_index(cluster)
    assert (first["status"], first["reason"], first["end_s"]) == ("failed", "worker_died", 0.050)
    assert (first["output_tokens"], first["first_token_s"], first["e2e_s"]) == (3, pytest.approx(0.026), None)
    assert (second["status"], second["end_s"]) == ("completed", pytest.approx(0.070))
    counts = summary_of(cluster)["requests"]
    assert (counts["completed"], counts["failed"], counts["failed_by_reason"]) == (1, 1, {"worker_died": 1})
    assert only(cluster) == {
        "kind": "worker-dies",
        "worker": 0,
        "at_s": 0.050,
        "began": True,
        "down_s": None,
        "requests_failed": 1,
        "requests_retried": 0,
        "requests_cancelled": 0,
        "lost_tokens": 19,  # the prompt, two tokens, and the one that was being computed
        "lost_blocks": 2,
        "lost_cpu_blocks": 0,
        "lost_event_blocks": 0,
    }


def test_or_go_on_elsewhere_with_the_tokens_that_they_have():
    """The other worker's step ends at 59 ms. The next computes its token and 16 + 3: 30 ms, then 11 ms."""
    cluster = play(two(), DEATH, frontend={"migration_limit": 1})
    first, second = by_index(cluster)
    assert (first["status"], first["worker"], first["retries"]) == ("completed", 1, 1)
    assert (first["end_s"], second["end_s"]) == (pytest.approx(0.100), pytest.approx(0.089))
    assert (first["output_tokens"], first["first_token_s"]) == (5, pytest.approx(0.026))
    assert (first["computed_prompt_tokens"], first["gone_tokens"]) == (32, 16)
    assert first["recomputed_output_tokens"] == 2  # the third had only been sampled
    assert cluster.recorder.itl_s.max == pytest.approx(0.089 - 0.048)
    assert (only(cluster)["requests_failed"], only(cluster)["requests_retried"]) == (0, 1)


def test_unless_they_are_too_long_to_be_remembered():
    limits = {"migration_limit": 1, "migration_max_seq_len": 18}
    assert by_index(play(two(), DEATH, frontend=limits))[0]["status"] == "failed"
    limits["migration_max_seq_len"] = 19
    assert by_index(play(two(), DEATH, frontend=limits))[0]["status"] == "completed"


def test_nobody_is_sent_to_a_worker_that_is_gone_and_it_comes_back_empty():
    prompts = [turn(at_s, 33, 1, [1, 2, 3], "a") for at_s in (0, 1, 2, 3)]
    kv = {"policy": "kv"}
    cluster = play(trace(*prompts), router=kv)
    (worker,) = {row["worker"] for row in rows(cluster)}
    death = {
        "kind": "worker-dies",
        "worker": worker,
        "at_s": 0.5,
        "back_after_s": 1.0,
        "detected_after_s": 0.1,
    }
    cluster = play(trace(*prompts), death, router=kv)
    found = by_index(cluster)
    assert [row["worker"] for row in found] == [worker, 1 - worker, 1 - worker, 1 - worker]
    assert [row["gone_tokens"] for row in found] == [0, 32, 0, 0]
    assert [row["credit_tokens"] for row in found] == [0, 0, 32, 32]
    assert only(cluster)["down_s"] == 1.0


def test_until_it_is_known_requests_are_sent_to_it_and_fail():
    prompts = trace(*(turn(at_s, 33, 1, [1, 2, 3], "a") for at_s in (0, 1, 2)))
    kv = {"policy": "kv"}
    worker = rows(play(prompts, router=kv))[0]["worker"]
    death = {"kind": "worker-dies", "worker": worker, "at_s": 0.5, "connect_timeout_s": 0.2}
    found = by_index(play(prompts, death, router=kv))
    assert [row["reason"] for row in found] == [None, "cannot_connect", None]
    assert [row["worker"] for row in found] == [worker, worker, 1 - worker]  # left out once it did not answer
    assert found[1]["end_s"] == 1.0
    found = by_index(play(prompts, death | {"connections": "hang"}, router=kv))
    assert found[1]["end_s"] == pytest.approx(1.2)
    found = by_index(play(prompts, death | {"connections": "hang", "detected_after_s": 0.6}, router=kv))
    assert found[1]["end_s"] == pytest.approx(1.1)


def test_a_worker_that_is_back_before_it_was_missed_serves_again():
    """Nobody had noticed within the 10 s of its lease."""
    requests = trace(turn(0, 16, 1, [1], "a"), turn(3, 16, 1, [2], "b"), turn(4, 16, 1, [3], "c"))
    found = by_index(play(requests, DEATH | {"back_after_s": 1.0}))
    assert [row["status"] for row in found] == ["completed"] * 3
    assert {row["worker"] for row in found[1:]} == {0, 1}


def test_a_machine_that_is_lost_leaves_its_requests_hanging_until_it_is_known():
    found = by_index(play(two(), DEATH | {"connections": "hang", "detected_after_s": 2.0}))
    assert (found[0]["reason"], found[0]["end_s"]) == ("worker_died", pytest.approx(2.05))


def test_without_any_worker_requests_are_rejected():
    deaths = [DEATH, DEATH | {"worker": 1}]
    requests = trace(*two().requests, turn(1, 16, 1, [3], "c"))
    found = by_index(play(requests, *deaths, frontend={"migration_limit": 3}))
    assert [row["status"] for row in found] == ["failed", "failed", "rejected"]
    assert {row["reason"] for row in found} == {"no_eligible_worker"}
    assert [row["retries"] for row in found] == [2, 1, 0]


def test_a_drained_worker_finishes_what_it_has_and_takes_nothing_new():
    requests = trace(*two().requests, turn(0.060, 16, 1, [3], "c"), turn(0.061, 16, 1, [4], "d"))
    requests = trace(*requests.requests, turn(1.5, 16, 1, [5], "e"))
    drain = {"kind": "worker-drains", "worker": 0, "at_s": 0.050, "grace_s": 0.0, "back_after_s": 1.0}
    cluster = play(requests, drain)
    found = by_index(cluster)
    assert {row["status"] for row in found} == {"completed"}
    assert [row["worker"] for row in found[:4]] == [0, 1, 1, 1]
    assert found[0]["end_s"] == pytest.approx(0.070)
    # Looked at 100 ms after it began it has nothing left; then it takes a second.
    assert only(cluster)["down_s"] == pytest.approx(1.1)
    assert only(cluster)["lost_blocks"] == 1  # the prompt's; nothing else was full


def test_what_a_drained_worker_still_has_when_time_is_up_is_cut_off():
    drain = {"kind": "worker-drains", "worker": 0, "at_s": 0.010, "grace_s": 0.0, "timeout_s": 0.040}
    found = by_index(play(two(), drain))
    assert (found[0]["status"], found[0]["reason"], found[0]["end_s"]) == ("failed", "drain_timeout", 0.050)


def test_steps_of_a_slow_gpu_take_longer():
    """From 30 to 50 ms steps take twice as long: of steps that last 11 ms the one planned at 37 ms."""
    slow = {"kind": "slow-gpu", "worker": 0, "at_s": 0.030, "for_s": 0.020, "factor": 2.0}
    first, second = by_index(play(two(), slow))
    # 26, 37 (planned before), 59 (planned at 37), 70, 81
    assert (first["end_s"], second["end_s"]) == (pytest.approx(0.081), pytest.approx(0.070))


def test_a_client_that_gives_up_frees_blocks_and_bookings():
    cluster = play(two(), replay={"client": "open-loop", "timeout_s": 0.040})
    for row in by_index(cluster):
        assert (row["status"], row["reason"], row["end_s"]) == ("cancelled", "client_timeout", 0.040)
        assert row["output_tokens"] == 2
    assert [worker.engine.cache.pool.used_blocks for worker in cluster.workers] == [0, 0]
    assert cluster.frontend.pools[0].router.loads.requests == [0, 0]
    assert summary_of(cluster)["requests"]["cancelled"] == 2
    assert "faults" not in summary_of(cluster)


def test_clients_of_a_session_give_up():
    cancel = {"kind": "clients-cancel", "at_s": 0.0, "after_s": 0.040, "sessions": ["b"]}
    cluster = play(two(), cancel)
    assert [row["status"] for row in by_index(cluster)] == ["completed", "cancelled"]
    assert only(cluster)["requests_cancelled"] == 1


def test_the_slot_of_a_request_that_was_given_up_goes_to_the_next():
    requests = trace(turn(0, 16, 50, [1], "a"), turn(0, 16, 1, [2], "b"))
    replay = {"client": "max-concurrency", "max_concurrency": 1, "timeout_s": 0.040}
    assert [row["send_s"] for row in by_index(play(requests, replay=replay))] == [0.0, 0.040]


def _turns_of_one_prompt(*times_s):
    return trace(*(turn(at_s, 33, 1, [1, 2, 3], "a") for at_s in times_s))


def test_the_router_credits_nothing_of_which_it_has_not_heard():
    lost = {"kind": "kv-events-lost", "at_s": 0.0, "for_s": 0.5, "recovered": False}
    cluster = play(_turns_of_one_prompt(0, 1), lost, router={"policy": "kv"})
    assert [row["credit_tokens"] for row in by_index(cluster)] == [0, 0]
    assert only(cluster)["lost_event_blocks"] == 2


def test_the_next_event_that_arrives_brings_those_that_were_lost():
    lost = {"kind": "kv-events-lost", "at_s": 0.0, "for_s": 0.5}
    other = turn(1, 17, 1, [8, 9], "b")
    requests = trace(*_turns_of_one_prompt(0).requests, other, turn(2, 33, 1, [1, 2, 3], "a"))
    to_worker_0 = run_cluster(scenario(faults=[lost]), requests, LAW, policy=lambda terms, query, draw: 0)
    first, _, last = by_index(to_worker_0)
    assert (first["credit_tokens"], last["credit_tokens"]) == (0, 32)


def test_late_events_are_heard_later():
    late = {"kind": "kv-events-late", "at_s": 0.0, "for_s": 0.5, "delay_s": 1.5}
    cluster = play(_turns_of_one_prompt(0, 1, 2), late, router={"policy": "kv"})
    assert [row["credit_tokens"] for row in by_index(cluster)] == [0, 0, 32]


def test_a_front_end_that_restarts_fails_what_is_on_its_way_and_forgets_bookings():
    restart = {"kind": "frontend-restarts", "at_s": 0.050, "down_s": 0.020}
    requests = trace(*two().requests, turn(0.060, 16, 1, [3], "c"), turn(0.080, 16, 1, [4], "d"))
    cluster = play(requests, restart)
    assert [(row["status"], row["reason"]) for row in by_index(cluster)] == [
        ("failed", "frontend_restarted"),
        ("failed", "frontend_restarted"),
        ("rejected", "frontend_down"),
        ("completed", None),
    ]
    assert only(cluster)["requests_failed"] == 2


def test_a_router_that_restarts_alone_sees_idle_workers():
    """Worker 0 is busy with a long prompt; without its booking it is as cheap as the idle one."""
    requests = trace(turn(0, 640, 5, range(40), "a"), turn(0.060, 16, 1, [99], "b"))
    restart = {"kind": "frontend-restarts", "at_s": 0.050, "in_flight": "keep"}
    booked = [
        [
            row["active_prefill_tokens"]
            for row in rows(play(requests, *faults, router={"policy": "kv"}), "decisions")
        ]
        for faults in ((), (restart,))
    ]
    assert sorted(booked[0][2:]) == [0, 640]
    assert booked[1][2:] == [0, 0]


@pytest.mark.parametrize(("index", "credit"), [("recovered", 32), ("lost", 0)])
def test_the_index_comes_back_from_the_workers_or_not(index, credit):
    restart = {"kind": "frontend-restarts", "at_s": 0.5, "index": index}
    cluster = play(_turns_of_one_prompt(0, 1), restart, router={"policy": "kv"})
    assert by_index(cluster)[1]["credit_tokens"] == credit


def test_copies_to_the_host_stand_still_while_the_link_is_out():
    """One block of 1 KiB at 1 KiB/s: a second, of which half is done when the link is out for 2 s."""
    offload = {
        "cpu_bytes": 10 * HOST_BLOCK_BYTES,
        "link": {"bandwidth_bytes_per_s": 1024, "latency_s": 0, "per_piece_s": 0},
    }
    ends = []
    for faults in ((), ({"kind": "link-outage", "link": "pcie", "at_s": 0.526, "for_s": 2.0},)):
        cluster = play(trace(turn(0, 16, 1, [1])), *faults, offload=offload)
        ends.append(cluster.clock.now)
        assert max(worker.links.streams["host"].down.busy_s for worker in cluster.workers) == pytest.approx(
            1.0
        )
    assert ends[1] - ends[0] == pytest.approx(2.0)


def test_a_copy_that_is_due_while_the_link_is_out_begins_when_it_is_back():
    offload = {
        "cpu_bytes": 10 * HOST_BLOCK_BYTES,
        "link": {"bandwidth_bytes_per_s": 1024, "latency_s": 0, "per_piece_s": 0},
    }
    outage = {"kind": "link-outage", "link": "pcie", "at_s": 0.010, "for_s": 1.990}
    cluster = play(trace(turn(0, 16, 1, [1])), outage, offload=offload)
    assert max(worker.links.streams["host"].down.busy_until_s for worker in cluster.workers) == pytest.approx(
        3.0
    )


def test_preemptions_of_workers_that_were_lost_count():
    """Two answers outgrow eight blocks: the second request is preempted, and its worker dies after that."""
    requests = trace(turn(0, 48, 40, [1, 2, 3], "a"), turn(0, 48, 40, [4, 5, 6], "b"))
    pool = {"engine": {"kv_blocks": 9}, "workers": {"count": 1}, "frontend": {"migration_limit": 1}}
    death = {"kind": "worker-dies", "worker": 0, "at_s": 0.5, "back_after_s": 0.1, "detected_after_s": 0.0}
    before = sum(row["preemptions"] for row in rows(play(requests, **pool)))
    with_death = sum(row["preemptions"] for row in rows(play(requests, death, **pool)))
    assert before > 0
    assert with_death > 0


def test_a_fault_after_the_last_request_does_not_begin_and_costs_nothing():
    """The run lasts 70 ms."""
    late = [
        {"kind": "worker-drains", "worker": 0, "at_s": 0.1, "back_after_s": 1},
        {"kind": "worker-dies", "worker": 1, "at_s": 0.1},
        {"kind": "frontend-restarts", "at_s": 0.1, "down_s": 1},
        {"kind": "slow-gpu", "at_s": 0.1, "for_s": 1, "factor": 2},
        {"kind": "clients-cancel", "at_s": 0.1, "for_s": 1, "after_s": 1},
    ]
    summary = summary_of(play(two(), *late))
    assert summary["simulated_s"] == pytest.approx(0.070)
    for fault in summary["faults"]:
        assert (fault["began"], fault["down_s"], fault["lost_blocks"]) == (False, None, 0)


def test_a_fault_that_outlasts_the_run_has_no_end():
    slow = {"kind": "slow-gpu", "worker": 0, "at_s": 0.050, "for_s": 1, "factor": 1.5}
    assert (only(play(two(), slow))["began"], only(play(two(), slow))["down_s"]) == (True, None)


def test_a_fault_of_sessions_that_are_not_there_is_said():
    cancel = {"kind": "clients-cancel", "at_s": 0, "after_s": 0.01, "sessions": ["a", "nobody"]}
    notes = run(scenario(faults=[cancel]), trace=two(), step_time=LAW).notes
    assert "faults, entry 1, clients-cancel: no session is called 'nobody'" in notes


@pytest.mark.parametrize("tenths", range(1, 9))
def test_a_drain_is_over_in_time_whatever_a_warm_start_took(tenths):
    """Its end, less the start of the measured part, is not exactly what was asked for."""
    drains = {"kind": "worker-drains", "worker": 0, "at_s": 0.1 * tenths, "grace_s": 1.0, "timeout_s": 0.7}
    settings = scenario(workers={"count": 1}, replay={"warm_start": "first-contexts"}, faults=[drains])
    cluster = run_cluster(settings, trace(turn(0, 64, 50, range(4))), Pace(0.1, 1e-3 / 3))
    assert [row["reason"] for row in rows(cluster) if row["index"] == 0] == ["drain_timeout"]
