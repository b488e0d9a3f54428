"""Faults of prefill and decode workers, with times by hand: a step takes 1 s, a pull 0.25 s."""

import pytest

from tests.cluster.faults.by_hand import ROUND_ROBIN, only, pair
from tests.clusters import rows, trace, turn

ONE = trace(turn(0.0, 33, 3, (1, 2, 3)))  # a step of 1 s, a pull of 0.25 s, a step of 1 s for each token


def test_a_pull_stands_still_while_its_link_is_out():
    outage = {"kind": "link-outage", "link": "nvlink", "at_s": 1.1, "for_s": 5.0}
    (row,) = rows(pair(ONE, outage))
    assert row["pull_end_s"] == pytest.approx(6.1, abs=1e-4)


def test_a_request_fails_whose_prompt_cannot_be_read_any_more():
    death = {"kind": "worker-dies", "worker": 0, "at_s": 1.1}
    cluster = pair(ONE, death)
    (row,) = rows(cluster)
    assert (row["status"], row["reason"], row["end_s"]) == ("failed", "kv_transfer_failed", 1.1)
    assert only(cluster)["requests_failed"] == 1
    assert [worker.engine.cache.pool.used_blocks for worker in cluster.workers] == [0, 0]


def test_or_its_decode_worker_computes_the_prompt():
    death = {"kind": "worker-dies", "worker": 0, "at_s": 1.1}
    (row,) = rows(pair(ONE, death, disaggregation={"kv_load_failure_policy": "recompute"}))
    assert (row["status"], row["end_s"]) == ("completed", pytest.approx(4.1))
    assert (row["computed_prompt_tokens"], row["gone_tokens"]) == (66, 32)


def test_after_its_decode_worker_died_a_request_takes_both_legs_again():
    """Tokens at 2.25 and 3.25 s; at 3.5 s it starts over with 35: a step, a pull, a step for the last."""
    death = {"kind": "worker-dies", "worker": 1, "at_s": 3.5}
    cluster = pair(ONE, death, decode=2, router=ROUND_ROBIN, frontend={"migration_limit": 1})
    (row,) = rows(cluster)
    assert (row["status"], row["decode_worker"], row["retries"]) == ("completed", 2, 1)
    assert row["end_s"] == pytest.approx(3.5 + 1 + 0.25 + 1, abs=1e-3)
    assert row["output_tokens"] == 3
    assert row["local_hit_tokens"] == 32  # two blocks of the prompt are on the prefill worker


def test_blocks_that_nobody_reads_any_more_are_kept_until_their_lease_ends():
    death = {"kind": "worker-dies", "worker": 1, "at_s": 1.1}
    cluster = pair(ONE, death)
    (row,) = rows(cluster)
    assert (row["status"], row["reason"]) == ("failed", "worker_died")
    assert cluster.recorder.pulls.leases_expired == 1
    used = [(row["now_s"], row["used_blocks"]) for row in rows(cluster, "workers") if row["worker"] == 0]
    assert used[-1][1] == 0
    assert used[-1][0] == pytest.approx(31.0)


def test_without_prefill_workers_decode_workers_serve_alone():
    death = {"kind": "worker-dies", "worker": 0, "at_s": 0.0, "detected_after_s": 0.0}
    (row,) = rows(pair(trace(turn(0.5, 33, 3, (1, 2, 3))), death))
    assert (row["status"], row["worker"], row["decode_worker"]) == ("completed", 1, 1)
    assert row["end_s"] == pytest.approx(3.5)


def test_blocks_into_which_a_pull_writes_return_when_it_has_ended():
    cluster = pair(ONE, replay={"client": "open-loop", "timeout_s": 1.1})
    (row,) = rows(cluster)
    assert (row["status"], row["end_s"], row["pull_end_s"]) == ("cancelled", 1.1, None)
    used = [(row["now_s"], row["used_blocks"]) for row in rows(cluster, "workers") if row["worker"] == 1]
    assert used[-2:] == [(1.1, 3), (pytest.approx(1.25, abs=1e-3), 0)]


def test_the_times_of_legs_are_those_of_the_last_try():
    """The decode worker dies while it generates, and the prefill worker before it has answered again."""
    deaths = [
        {"kind": "worker-dies", "worker": 1, "at_s": 3.5},
        {"kind": "worker-dies", "worker": 0, "at_s": 4.0},
    ]
    (row,) = rows(pair(ONE, *deaths, frontend={"migration_limit": 1}))
    assert (row["status"], row["retries"], row["output_tokens"]) == ("failed", 1, 2)
    columns = ("prefilled_s", "decode_queued_s", "pull_start_s", "pull_end_s", "pulled_bytes")
    assert [row[name] for name in columns] == [None] * 5
