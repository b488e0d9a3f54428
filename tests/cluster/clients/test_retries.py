"""Clients send refused requests again as real ones do, and nothing is lost on the way."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.cluster.clients.retries import backoff_s
from tests.clusters import Pace, rows, run_cluster, scenario, trace, turn


def by_index(cluster):
    return sorted(rows(cluster), key=lambda row: row["index"])


@pytest.mark.parametrize(
    ("retries", "draw", "wait_s"),
    [
        (0, 0.0, 0.5),
        (1, 0.0, 1.0),
        (3, 0.0, 4.0),
        (4, 0.0, 8.0),
        (9, 0.0, 8.0),
        (4000, 0.0, 8.0),
        (0, 0.8, 0.4),
    ],
)
def test_waits_double_up_to_8_s_less_up_to_a_quarter(retries, draw, wait_s):
    assert backoff_s(retries, 0.5, None, draw) == pytest.approx(wait_s)


@pytest.mark.parametrize(("asked_s", "wait_s"), [(3.0, 3.0), (60.0, 60.0), (60.1, 0.5), (0.0, 0.5)])
def test_what_a_refusal_asks_for_is_done_if_it_is_no_more_than_a_minute(asked_s, wait_s):
    assert backoff_s(0, 0.5, asked_s, 0.0) == wait_s


@given(st.integers(0, 100), st.floats(0, 30), st.floats(0, 1, exclude_max=True))
def test_no_wait_is_longer_than_the_longest(retries, first_s, draw):
    assert 0 <= backoff_s(retries, first_s, None, draw) <= max(first_s, 8.0)


LIMIT = {"active_prefill_tokens_threshold": 100, "report_delay_s": 0.01}
LONG = turn(0, 200, 1, range(13), "long")  # computed from 0 to 4 s


def run(turns, retries, **sections):
    replay = {"client": "open-loop", "retries": retries, "retry_backoff_s": 1.0} | sections.pop("replay", {})
    return run_cluster(scenario(replay=replay, router=LIMIT, **sections), trace(*turns))


@pytest.mark.parametrize(("retries", "served"), [(0, False), (1, False), (2, True)])
def test_a_request_is_sent_again_until_a_worker_is_free(retries, served):
    # Sent at 2.5 s, again at 3.25 s to 3.5 s, and again 1.5 s to 2 s later, which is after 4 s.
    cluster = run([LONG, turn(2.5, 9, 1, [50])], retries, workers={"count": 1})
    row = by_index(cluster)[1]
    assert (row["status"] == "completed") is served
    assert row["reason"] == (None if served else "workers_busy")
    assert cluster.recorder.resent == retries
    assert row["send_s"] == 2.5


def test_ttft_counts_from_the_first_sending():
    # A refusal that asks for 5 s: sent at 1 s and 6 s, routed and computed from 6 s to 7 s.
    cluster = run([LONG, turn(1, 9, 1, [50])], 1, workers={"count": 1}, replay={"retry_after_s": 5.0})
    row = by_index(cluster)[1]
    assert (row["send_s"], row["queued_s"], row["ttft_s"]) == (1.0, 6.0, 6.0)


def test_a_client_keeps_its_slot_while_it_waits():
    replay = {"client": "max-concurrency", "max_concurrency": 2, "retry_after_s": 5.0}
    third = turn(2, 9, 1, [60], "c")
    cluster = run([LONG, turn(1, 9, 1, [50]), third], 1, workers={"count": 1}, replay=replay)
    assert [row["send_s"] for row in by_index(cluster)] == [0.0, 1.0, 4.0]


def test_a_client_that_gives_up_does_not_send_again():
    replay = {"retry_after_s": 5.0, "timeout_s": 4.5}
    cluster = run([LONG, turn(1, 9, 1, [50])], 1, workers={"count": 1}, replay=replay)
    row = by_index(cluster)[1]
    assert (row["status"], row["reason"], row["end_s"]) == ("cancelled", "client_timeout", 5.5)


def test_a_front_end_that_is_down_is_tried_again():
    restart = {"kind": "frontend-restarts", "at_s": 1.0, "down_s": 2.0}
    turns = [turn(1.5, 9, 1, [50])]
    for retries, found in ((0, ("rejected", None)), (5, ("completed", 1.5))):
        cluster = run(turns, retries, faults=[restart])
        assert (
            rows(cluster)[0]["status"],
            rows(cluster)[0]["queued_s"] and rows(cluster)[0]["send_s"],
        ) == found


def test_a_request_that_no_decode_worker_takes_starts_from_the_beginning():
    # The first answer takes 8 blocks of the only decode worker until about 25 s. The second prompt, computed
    # by 7 s, is refused there, and computed again when it is sent again, 30 s later.
    sections = {
        "workers": {"count": None, "prefill": 1, "decode": 1},
        "router": {"active_decode_blocks_threshold": 0.05, "report_delay_s": 0.0},
        "replay": {"client": "open-loop", "retries": 3, "retry_after_s": 30.0},
        "engine": {"kv_blocks": 101, "max_num_batched_tokens": 256},
    }
    cluster = run_cluster(
        scenario(**sections), trace(turn(0, 120, 20, range(8)), turn(6, 40, 2, [60, 61, 62]))
    )
    row = by_index(cluster)[1]
    assert (row["status"], row["retries"], cluster.recorder.resent) == ("completed", 0, 1)
    assert row["decode_queued_s"] > 36


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    retries=st.integers(0, 3),
    client=st.sampled_from(["open-loop", "max-concurrency", "turn-dependent"]),
    pair=st.booleans(),
)
def test_every_request_ends_once_and_fast_forward_makes_no_difference(seed, retries, client, pair):
    random = Random(seed)
    times = sorted(random.randint(0, 40) * random.choice([1, 0.37]) for _ in range(14))
    turns = [
        turn(at_s, 60, random.randint(1, 40), range(n, n + 4), "abc"[n % 3]) for n, at_s in enumerate(times)
    ]
    dies = {"kind": "worker-dies", "worker": 0, "at_s": 7.0, "back_after_s": 6.0}
    tables = []
    for fast_forward in (True, False):
        cluster = run_cluster(
            scenario(
                router={"active_decode_blocks_threshold": 0.2, "active_prefill_tokens_threshold": 100},
                replay={"client": client, "retries": retries},
                engine={"fast_forward": fast_forward, "kv_blocks": 41},
                workers={"count": None, "prefill": 2, "decode": 2} if pair else {"count": 2},
                frontend={"migration_limit": 1},
                faults=[dies],
            ),
            trace(*turns),
            Pace(0.25, 0.001, 0.0001),
        )
        tables.append((rows(cluster), cluster.recorder.resent))
    assert tables[0] == tables[1]
    assert len(tables[0][0]) == len(turns)
    assert retries or not tables[0][1]
