"""Sessions that are bound to workers, workers that are over a limit, and what becomes of the requests."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clusters import Pace, rows, run_cluster, scenario, trace, turn

HARD = {"session_affinity_ttl_secs": 60, "policy": "round-robin"}
SOFT = HARD | {"session_affinity_mode": "soft"}


def served(turns, law=None, **sections):
    """Return (worker, status, reason) of each request."""
    cluster = run_cluster(scenario(**sections), trace(*turns), law)
    found = sorted(rows(cluster), key=lambda row: row["index"])
    return [(row["worker"], row["status"], row["reason"]) for row in found]


def workers(turns, **sections):
    return [worker for worker, _, _ in served(turns, **sections)]


def test_a_session_stays_where_it_began():
    turns = [turn(n * 5.0, 20, 1, [n, n + 1], "ab"[n % 2]) for n in range(6)]
    assert workers(turns, router={"policy": "round-robin"}, workers={"count": 3}) == [0, 1, 2, 0, 1, 2]
    assert workers(turns, router=HARD, workers={"count": 3}) == [0, 1, 0, 1, 0, 1]


def test_a_binding_ends_with_its_time_after_the_last_answer():
    # Answers end at 1 s and at 61 s; the binding at 61 s and at 121 s.
    turns = [turn(at_s, 20, 1, [n, n + 1]) for n, at_s in enumerate((0.0, 60.0, 122.0))]
    assert workers(turns, router=HARD, workers={"count": 3}) == [0, 0, 2], "the next in turn"


def test_a_session_is_bound_by_its_first_turn_though_loads_say_otherwise():
    # The second session computes a long prompt on 0 when the third turn comes.
    turns = [turn(0, 20, 1, [1, 2]), turn(2, 600, 1, range(10, 48), "b"), turn(2.5, 20, 1, [3, 4])]
    kv = HARD | {"policy": "kv"}
    kv_hard = workers(turns, router=kv, workers={"count": 1})
    assert kv_hard == [0, 0, 0]
    chosen = workers(turns, router=kv)
    assert chosen[0] == chosen[2]


@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_a_dead_worker_drops_its_bindings(mode):
    # 0 dies at 2 s, known at once (its request fails), and is back at 30 s: the session has moved to 1.
    turns = [turn(at_s, 20, 4, [n, n + 1]) for n, at_s in enumerate((0.0, 5.0, 40.0))]
    died = {"kind": "worker-dies", "worker": 0, "at_s": 2.0, "back_after_s": 28.0}
    found = served(turns, router=HARD | {"session_affinity_mode": mode}, faults=[died])
    assert found == [(0, "failed", "worker_died"), (1, "completed", None), (1, "completed", None)]


def test_a_request_that_does_not_reach_its_worker_lets_its_session_go():
    # 0 dies idle at 2 s, and the router will know at 12 s: the next turn is sent there, and fails.
    turns = [turn(at_s, 20, 1, [n, n + 1]) for n, at_s in enumerate((0.0, 5.0, 6.0, 7.0))]
    died = {"kind": "worker-dies", "worker": 0, "at_s": 2.0}
    found = served(turns, router=HARD, faults=[died])
    assert found[1] == (0, "failed", "cannot_connect")
    assert [worker for worker, _, _ in found[2:]] == [1, 1]


def test_a_front_end_that_restarts_knows_no_binding():
    turns = [
        turn(at_s, 20, 1, [n, n + 1], name) for n, (at_s, name) in enumerate([(0, "a"), (1, "b"), (9, "a")])
    ]
    restart = {"kind": "frontend-restarts", "at_s": 5.0, "down_s": 1.0}
    assert workers(turns, router=HARD, workers={"count": 3}) == [0, 1, 0]
    assert workers(turns, router=HARD, workers={"count": 3}, faults=[restart]) == [0, 1, 2]


def test_of_a_pair_each_pool_has_bindings_of_its_own():
    sections = {
        "workers": {"count": None, "prefill": 2, "decode": 3},
        "router": HARD,
    }
    turns = [turn(n * 20.0, 20, 2, [n, n + 1], "abab"[n]) for n in range(4)]
    cluster = run_cluster(scenario(**sections), trace(*turns))
    assert [row["worker"] for row in rows(cluster)] == [0, 1, 0, 1]
    assert [row["decode_worker"] for row in rows(cluster)] == [2, 3, 2, 3]


LIMIT = {"active_prefill_tokens_threshold": 100, "report_delay_s": 0.01}


def test_a_worker_over_the_limit_is_left_out_until_its_prompt_is_computed():
    # 200 tokens at 64 a step of 1 s: computed at 4 s.
    turns = [turn(0, 200, 1, range(13)), *(turn(at_s, 9, 1, [90], f"{at_s}") for at_s in (0.5, 1, 4.5, 5))]
    found = workers(turns, router={"policy": "round-robin"} | LIMIT)
    assert found == [0, 1, 1, 1, 0], "0 would have been next in turn at 1 s"


def test_a_burst_comes_before_its_reports():
    turns = [turn(at_s, 200, 1, range(13), f"{n}") for n, at_s in enumerate((0.0, 0.005, 0.009, 0.02))]
    found = served(turns, router={"policy": "round-robin"} | LIMIT, workers={"count": 1})
    assert [reason for _, _, reason in found] == [None, None, None, "workers_busy"]


def test_a_request_is_refused_when_all_workers_are_busy():
    turns = [turn(0, 200, 1, range(13)), turn(0.5, 200, 1, range(20, 33), "b"), turn(1, 9, 1, [50], "c")]
    found = served(turns, router={"policy": "kv"} | LIMIT)
    assert found[2] == (None, "rejected", "workers_busy")


def test_blocks_that_workers_report_count_with_every_policy():
    # 7 of 101 blocks are above 5 %: reported at 1 s, when the second step is planned.
    turns = [turn(0, 100, 30, range(7)), turn(0.5, 9, 1, [50], "b"), turn(2.5, 9, 1, [51], "c")]
    for policy in ("kv", "round-robin", "random"):
        router = {"policy": policy, "active_decode_blocks_threshold": 0.05}
        found = served(turns, router=router, workers={"count": 1})
        assert [status for _, status, _ in found] == ["completed", "completed", "rejected"]


def test_a_bound_session_is_refused_while_its_worker_is_busy():
    # Bound to 0, on which a prompt of another session is being computed.
    turns = [turn(0, 20, 1, [1, 2], "a"), turn(2, 20, 1, [3, 4], "b"), turn(4, 200, 1, range(10, 23), "a")]
    turns += [turn(5, 20, 1, [5, 6], "a"), turn(20, 20, 1, [7, 8], "a")]
    hard = served(turns, router=HARD | LIMIT)
    assert hard[3:] == [(None, "rejected", "workers_busy"), (0, "completed", None)]
    soft = served(turns, router=SOFT | LIMIT)
    assert soft[3:] == [(1, "completed", None), (1, "completed", None)], "the session has moved"


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    mode=st.sampled_from(["hard", "soft"]),
    policy=st.sampled_from(["kv", "round-robin", "least-loaded"]),
    ttl=st.sampled_from([None, 1, 60]),
)
def test_fast_forward_makes_no_difference(seed, mode, policy, ttl):
    random = Random(seed)
    times = sorted(random.choice([1, 0.37]) * random.randint(0, 60) for _ in range(14))
    router = {
        "policy": policy,
        "session_affinity_mode": mode,
        "active_decode_blocks_threshold": 0.2,
        "active_prefill_tokens_threshold_frac": 2.0,
    }
    if ttl is not None:
        router["session_affinity_ttl_secs"] = ttl
    tables = []
    lengths = [random.randint(1, 60) for _ in times]
    turns = [turn(at_s, 60, n, range(4), "abc"[n % 3]) for at_s, n in zip(times, lengths, strict=True)]
    for fast_forward in (True, False):
        cluster = run_cluster(
            scenario(router=router, engine={"fast_forward": fast_forward, "kv_blocks": 41}),
            trace(*turns),
            Pace(0.25, 0.001, 0.0001),
        )
        tables.append(rows(cluster))
    assert tables[0] == tables[1]
