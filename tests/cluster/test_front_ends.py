"""Front ends: how requests are spread over idle workers, and what several know of each other."""

from random import Random

import pytest

from sim.scenario.scenario import Scenario
from tests.cluster.faults.random_faults import random_faults, random_limits
from tests.cluster.faults.test_whole_runs import same
from tests.cluster.test_disaggregated import pair, some_turns
from tests.clusters import NO_DELAYS, Pace, RandomCluster, rows, run_cluster, scenario, trace, turn

IN_TURN = NO_DELAYS | {"load_balancing": "round-robin"}


def play(requests, front_ends=1, workers=4, seed=0, **sections):
    """KV routing over idle workers; requests come to the front ends in turn."""
    front = IN_TURN | {"replicas": front_ends} | sections.pop("frontend", {})
    return run_cluster(
        scenario(workers={"count": workers}, frontend=front, seed=seed, **sections), requests, Pace(0.5)
    )


def chosen(cluster):
    """(request, cost) of every choice."""
    return [(row["request"], row["cost"]) for row in rows(cluster, "decisions") if row["chosen"]]


def shares(cluster, first=0):
    """How many of the requests from an index on each worker served, most first."""
    served = [row["worker"] for row in rows(cluster) if row["index"] >= first]
    return sorted((served.count(worker) for worker in set(served)), reverse=True)


# -- one front end -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("same_prompt", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_burst_of_equal_requests_is_dealt_evenly(same_prompt, seed):
    """Ten over four idle workers: each choice raises what its worker costs above all that had one less."""
    prompts = [range(4) if same_prompt else range(10 * k, 10 * k + 4) for k in range(10)]
    burst = trace(*(turn(0, 64, 3, chunks, str(k)) for k, chunks in enumerate(prompts)))
    assert shares(play(burst, seed=seed)) == [3, 3, 2, 2]


UNRELATED = trace(*(turn(10.0 * k, 16, 1, [k], str(k)) for k in range(64)))
CRITICAL = 18.475
"""What chi-square at 7 degrees of freedom exceeds once in a hundred."""


def spread(seed):
    """How many of 64 requests, each of which finds all idle, eight workers served."""
    settings = scenario(workers={"count": 8}, seed=seed, output={"tables": []})
    table = run_cluster(settings, UNRELATED, check=False).recorder.rows.tables["requests"]
    assert table.column("ties") == [8] * 64
    return table.column("worker")


def test_requests_that_find_all_idle_are_spread_evenly():
    """Equal costs are drawn among: of twenty seeds at most one is as uneven as one in a hundred would be."""
    uneven = 0
    for seed in range(20):
        served = spread(seed)
        uneven += sum((served.count(worker) - 8) ** 2 / 8 for worker in range(8)) > CRITICAL
    assert uneven <= 1
    assert spread(7) == spread(7) != spread(8)


# -- several -------------------------------------------------------------------------------------------------

HERD = trace(
    turn(0, 96, 2, range(6), "first"),
    *(turn(100, 128, 2, [*range(6), 10 + k, 20 + k], str(k)) for k in range(4)),
)
"""One worker has 6 blocks; at 100 s come four prompts that begin with them, 8 blocks each.

Idle, it costs 8 - 6 prefill and 8 decode blocks: 10, another 16. With one request booked (2 blocks of
prefill, 8 active, 6 of them shared), 4 + 10: 14. With two, 6 + 12: 18. An idle one that got the third still
has 16 for the fourth, on another.
"""
ALONE = [10, 14, 16, 16]
ALL_SEE_IT_IDLE = [10, 10, 10, 10]
SYNC = {"replica_sync": True, "replica_sync_delay_s": 0}


@pytest.mark.parametrize(
    ("front_ends", "router", "costs", "spread_over"),
    [
        (1, {}, ALONE, [2, 1, 1]),
        (4, {}, ALL_SEE_IT_IDLE, [4]),
        (2, {}, [10, 10, 14, 14], [4]),
        (4, SYNC, ALONE, [2, 1, 1]),
        (4, SYNC | {"replica_sync_delay_s": 0.25}, ALL_SEE_IT_IDLE, [4]),
        (4, SYNC | {"replica_sync_loss": 1}, ALL_SEE_IT_IDLE, [4]),
    ],
)
def test_front_ends_that_do_not_know_of_each_other_send_a_burst_to_one_worker(
    front_ends, router, costs, spread_over
):
    """The herd of https://github.com/ai-dynamo/dynamo/issues/589."""
    cluster = play(HERD, front_ends, router=router)
    assert [cost for request, cost in chosen(cluster) if request] == costs
    assert shares(cluster, first=1) == spread_over


@pytest.mark.parametrize(
    ("at_s", "load"),
    [
        (0.2, (0, 0, 0)),
        (0.25, (64, 4, 1)),
        (0.7, (64, 4, 1)),
        (0.75, (0, 4, 1)),
        (1.7, (0, 4, 1)),
        (1.75, (0, 0, 0)),
    ],
)
def test_others_hear_of_bookings_first_tokens_and_ends_a_while_later(at_s, load):
    """A prompt of 4 blocks is booked at 0, has its first token at 0.5 s, its third and last at 1.5 s."""
    requests = trace(turn(0, 64, 3, range(4), "a"), turn(at_s, 16, 1, [50], "b"))
    cluster = play(requests, 2, router=SYNC | {"replica_sync_delay_s": 0.25})
    (home,) = [row["worker"] for row in rows(cluster) if row["index"] == 0]
    (seen,) = [row for row in rows(cluster, "decisions") if (row["request"], row["worker"]) == (1, home)]
    assert seen["front_end"] == 1
    assert (seen["active_prefill_tokens"], seen["active_blocks"], seen["active_requests"]) == load


def test_a_session_keeps_its_front_end_and_only_runs_with_several_name_it():
    turns = trace(*(turn(10.0 * k, 32, 2, [100 + k, 200 + k], str(k % 8)) for k in range(32)))
    alone = play(turns)
    assert "front_end" not in rows(alone, "decisions")[0]
    found = rows(play(turns, 3, seed=3, frontend={"load_balancing": "session"}), "decisions")
    by_session = {}
    for row in found:
        by_session.setdefault(row["request"] % 8, set()).add(row["front_end"])
    assert all(len(front_ends) == 1 for front_ends in by_session.values())
    assert set.union(*by_session.values()) == {0, 1, 2}


def test_each_front_end_has_a_policy_of_its_own():
    """Two take turns over two workers: each begins with the first."""
    requests = trace(*(turn(10.0 * k, 16, 1, [k], str(k)) for k in range(6)))
    cluster = play(requests, 2, workers=2, router={"policy": "round-robin"})
    assert [row["worker"] for row in rows(cluster)] == [0, 0, 1, 1, 0, 0]


# -- restarts ------------------------------------------------------------------------------------------------


def restart(**more):
    return {"kind": "frontend-restarts", "at_s": 0.25, "down_s": 1.0, **more}


def test_while_one_front_end_restarts_the_other_serves():
    """Requests 0 and 2 came to the one that fails; 4 to 6 come while it is away, all to the other."""
    requests = trace(
        *(turn(0, 16, 5, [k], str(k)) for k in range(4)),
        *(turn(0.5, 16, 2, [10 + k], f"b{k}") for k in range(3)),
    )
    cluster = play(requests, 2, faults=[restart(front_end=0)])
    found = {row["index"]: (row["status"], row["reason"]) for row in rows(cluster)}
    failed = ("failed", "frontend_restarted")
    assert [found[index] for index in range(4)] == [failed, ("completed", None)] * 2
    assert {found[index] for index in range(4, 7)} == {("completed", None)}
    assert {row["front_end"] for row in rows(cluster, "decisions") if row["request"] >= 4} == {1}
    everywhere = play(requests, 2, faults=[restart()])
    assert {row["reason"] for row in rows(everywhere)} == {"frontend_restarted", "frontend_down"}


def test_one_that_is_killed_does_not_tell_others_of_the_ends_of_its_requests():
    """What it had booked stays on their books, until they let it go as unheard of."""
    requests = trace(turn(0, 64, 9, range(4), "a"), turn(1, 16, 1, [9], "b"))
    router = SYNC | {"policy": "round-robin"}
    killed = play(requests, 2, workers=1, router=router, faults=[restart(front_end=0)])
    (row,) = [row for row in rows(killed, "decisions") if row["request"] == 1]
    assert (row["front_end"], row["active_requests"], row["active_prefill_tokens"]) == (1, 1, 64)
    assert killed.frontend.pools[0].replicas[1].router.loads.requests == [1]


def test_a_fault_of_a_front_end_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="front_end = 2, but front ends go from 0 to 1"):
        scenario(frontend=NO_DELAYS | {"replicas": 2}, faults=[restart(front_end=2)])


# -- whole runs ----------------------------------------------------------------------------------------------


def several(settings, random):
    """The same with several front ends that hear of each other, and of caches, in random ways."""
    content = settings.to_dict()
    content["frontend"] |= {
        "replicas": random.randint(2, 4),
        "load_balancing": random.choice(["session", "round-robin", "random"]),
    }
    if random.random() < 0.4:
        content["frontend"] |= {
            "event_jitter_s": random.choice([0, 0.3]),
            "event_loss": random.choice([0, 0.3, 1]),
            "event_loss_recovered": random.random() < 0.5,
        }
    content["router"] |= {
        "replica_sync": random.random() < 0.7,
        "replica_sync_delay_s": random.choice([0, 0.01, 0.5]),
        "replica_sync_loss": random.choice([0, 0, 0.3]),
    }
    return Scenario.model_validate(content)


def broken(settings, random, until_s):
    """The same with random faults, a restart of one front end among them."""
    content = settings.to_dict()
    pairs = settings.workers.prefill is not None
    faults = random_faults(
        random,
        workers=settings.workers.gpus,
        disaggregated=pairs,
        offload=settings.offload is not None,
        until_s=until_s,
    )
    for fault in faults:
        if fault["kind"] == "frontend-restarts":
            fault["front_end"] = random.randrange(settings.frontend.replicas)
    content["faults"] = faults
    for section, keys in random_limits(random, until_s).items():
        content[section] |= {key: value for key, value in keys.items() if value is not None}
    return Scenario.model_validate(content)


def slowly(settings):
    return settings.model_copy(update={"engine": settings.engine.model_copy(update={"fast_forward": False})})


@pytest.mark.parametrize("seed", range(25))
def test_every_rule_holds_and_nothing_skipped_is_missed(seed):
    random = Random(seed)
    made = RandomCluster(random)
    settings = several(made.scenario, random)
    if seed % 2:
        settings = broken(settings, random, until_s=2.0)
    same(run_cluster(settings, made.trace, made.law), run_cluster(slowly(settings), made.trace, made.law))


@pytest.mark.parametrize("seed", range(10))
def test_every_rule_holds_of_pairs(seed):
    random = Random(seed)
    settings = several(pair(prefill=2, decode=2), random)
    if seed % 2:
        settings = broken(settings, random, until_s=20.0)
    requests = some_turns(seed)
    same(run_cluster(settings, requests), run_cluster(slowly(settings), requests))


# -- queues --------------------------------------------------------------------------------------------------

QUEUED = {"queue_threshold": 0.5, "policy": "round-robin"}
"""A worker with more than 32 booked prefill tokens is busy."""


@pytest.mark.parametrize(
    ("front_ends", "router", "routed_s"),
    [
        (1, {}, [0, 0.5]),
        (2, {}, [0, 0]),
        (2, SYNC, [0, 0.5]),
        (2, SYNC | {"replica_sync_delay_s": 0.25}, [0, 0]),
    ],
)
def test_requests_wait_at_a_front_end_for_what_it_knows_of(front_ends, router, routed_s):
    """Two prompts of 64 tokens for one worker: the second waits for the first one's first token, at 0.5 s."""
    requests = trace(turn(0, 64, 2, range(4), "a"), turn(0, 64, 2, range(10, 14), "b"))
    cluster = play(requests, front_ends, workers=1, router=QUEUED | router)
    assert [row["routed_s"] for row in sorted(rows(cluster), key=lambda row: row["index"])] == routed_s


def test_what_another_says_lets_go_who_waits():
    """It hears of the booking at 0.25 s, its request comes at 0.3 s, news of the first token at 0.75 s."""
    requests = trace(turn(0, 64, 2, range(4), "a"), turn(0.3, 64, 2, range(10, 14), "b"))
    router = QUEUED | SYNC | {"replica_sync_delay_s": 0.25}
    cluster = play(requests, 2, workers=1, router=router)
    assert [row["routed_s"] for row in sorted(rows(cluster), key=lambda row: row["index"])] == [0, 0.75]
