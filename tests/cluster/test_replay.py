"""Warm starts, lanes, first requests and cancelled ones on small clusters, with times worked out by hand."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.ledger.account import CAUSES
from sim.results.metrics import to_json
from sim.scenario.scenario import Scenario
from sim.simulation.run import summary_of
from sim.workload.groups import session_groups
from tests.cluster.faults.random_faults import random_faults
from tests.cluster.test_disaggregated import pair, some_turns
from tests.clusters import (
    BLOCK_BYTES,
    HOST_BLOCK_BYTES,
    Pace,
    RandomCluster,
    rows,
    run_cluster,
    scenario,
    trace,
    turn,
)

seeds = st.integers(0, 2**32)

ONE = trace(turn(0, 64, 1, [1, 2, 3, 4], "a"), turn(5, 80, 1, [1, 2, 3, 4, 5], "a"))
"""A step of 1 s each, of 64 tokens at most."""


def play(requests, law=None, *, workers=1, **sections):
    settings = {"workers": {"count": workers}, "engine": {"async_scheduling": False}, **sections}
    return run_cluster(scenario(**settings), requests, law or Pace())


def by_index(cluster, *names):
    found = sorted(rows(cluster), key=lambda row: row["index"])
    return [tuple(row[name] for name in names) for row in found]


# -- warm starts --------------------------------------------------------------------------------------------


def test_first_contexts_are_cached_when_the_clock_starts():
    """The warm-up takes a step; 10 s later the clock starts. Of the first prompt 48 tokens are hit then."""
    cluster = play(ONE, replay={"warm_start": "first-contexts"})
    names = ("index", "phase", "send_s", "end_s", "computed_prompt_tokens", "required_tokens")
    assert by_index(cluster, *names) == [
        (0, "measured", 11.0, 12.0, 16, 0),
        (1, "measured", 16.0, 17.0, 16, 16),
        (2, "warm-up", 0.0, 1.0, 64, 64),
    ]
    found = summary_of(cluster)
    assert found["left_out"] == {
        "warm_up": {
            "requests": 1,
            "completed": 1,
            "prompt_tokens": 64,
            "computed_tokens": 64,
            "took_s": 1.0,
        },
        "first": None,
        "from_s": 11.0,
        "until_s": 17.0,
    }
    assert (found["requests"]["total"], found["requests"]["completed"]) == (2, 2)
    assert found["prefill"]["required_tokens"] == 16
    assert found["prefill"]["computed_tokens"] == 32
    assert found["prefill"]["by_cause"] == {cause: 16 if cause == "bound" else 0 for cause in CAUSES}
    assert found["ttft_s"]["n"] == 2
    assert found["throughput"]["requests_per_s"] == 2 / 6
    assert (found["gpu_hours"], found["simulated_s"]) == (6 / 3600, 17.0)
    assert cluster.replay.notes == [
        "warm start: 1 first context of sessions, sent at once, where the router chose"
    ]


def test_pool_and_links_are_those_of_the_measured_part():
    """The warm-up fills 4 of 100 blocks for a second, and copies them to the host; turns fill 4 and 5."""
    found = summary_of(play(ONE, replay={"warm_start": "first-contexts"}))
    assert found["occupancy"]["pool"] == {"mean": pytest.approx((4 + 5) / 100 / 6), "max": 0.05}
    offload = {"cpu_bytes": 50 * HOST_BLOCK_BYTES}
    cluster = play(ONE, replay={"warm_start": "first-contexts"}, offload=offload)
    alone = play(ONE, offload=offload)
    # The warm-up's last block comes back for the first turn; the second turn has one block more.
    assert copied(cluster) == {"to_host": BLOCK_BYTES, "to_gpu": BLOCK_BYTES}
    assert copied(alone) == {"to_host": 5 * BLOCK_BYTES, "to_gpu": 0}


def copied(cluster):
    return {row["direction"]: row["n_bytes"] for row in rows(cluster, "links")}


TWO = trace(turn(0, 32, 1, [1, 2], "a"), turn(0, 32, 1, [1, 3], "b"), turn(0, 32, 1, [1, 3], "b"))


def test_contexts_are_spread_over_workers_in_turn():
    three = trace(*(turn(0, 32, 1, [9, number], name) for number, name in enumerate("abc")))
    replayed = {"warm_start": "first-contexts", "warm_placement": "spread"}
    cluster = play(three, workers=2, replay=replayed)
    assert by_index(cluster, "session", "worker")[3:] == [
        ("a (warm-up)", 0),
        ("b (warm-up)", 1),
        ("c (warm-up)", 0),
    ]
    assert cluster.replay.notes == [
        "warm start: 3 first contexts of sessions, each on the next worker in turn"
    ]


def test_prefixes_that_two_sessions_share_are_cached():
    """[1] is of a and b; [1, 3] twice of b alone. What is shared is hit: 16 tokens of each prompt."""
    cluster = play(TWO, replay={"warm_start": "shared-prefixes"})
    assert by_index(cluster, "session", "prompt_tokens")[3:] == [("prefix 0 (warm-up)", 16)]
    assert [required for (required,) in by_index(cluster, "required_tokens")] == [16, 16, 0, 16]
    assert by_index(cluster, "local_hit_tokens")[:2] == [(16,), (16,)]
    assert cluster.replay.notes[0].startswith("warm start: 1 prefix that two sessions share, ")


def test_nothing_shared_leaves_nothing_out():
    cluster = play(ONE, replay={"warm_start": "shared-prefixes"})
    assert summary_of(cluster)["left_out"] == {
        "warm_up": None,
        "first": None,
        "from_s": 0.0,
        "until_s": 6.0,
    }
    assert not cluster.recorder.rows.tables["requests"].has("phase")


def test_smaller_runs_leave_their_caches_one_after_another():
    """Runs of one and of two sessions: each starts 10 s after the one before, as does the measured one."""
    three = trace(
        *(
            turn(at, 32, 1, [number], name)
            for number, (name, at) in enumerate(zip("abc", [0, 3, 4], strict=True))
        )
    )
    three = trace(
        *(replace(request, chunks=(number, 50 + number)) for number, request in enumerate(three.requests))
    )
    cluster = play(three, replay={"warm_sessions": [1, 2]})
    assert by_index(cluster, "session", "phase", "send_s", "required_tokens") == [
        ("a", "measured", 25.0, 0),
        ("b", "measured", 28.0, 0),
        ("c", "measured", 29.0, 32),
        ("a (run 1)", "warm-up", 0.0, 32),
        ("a (run 2)", "warm-up", 11.0, 0),
        ("b (run 2)", "warm-up", 14.0, 32),
    ]
    assert cluster.replay.notes == [
        "warm start: a run of the first 1 session, 1 request",
        "warm start: a run of the first 2 sessions, 2 requests",
    ]


def test_a_smaller_run_has_the_sub_agents_of_its_sessions():
    first, second, join = (
        turn(0, 16, 1, [1], "a"),
        turn(None, 16, 1, [2], "sub", delay_s=1.0),
        turn(None, 32, 1, [1, 3], "a", delay_s=1.0),
    )
    other = turn(100, 16, 1, [9], "z")
    requests = list(trace(first, second, join, other).requests)
    requests[1] = replace(requests[1], waits_for=(0,))
    requests[2] = replace(requests[2], waits_for=(1,))
    whole = replace(trace(first), requests=tuple(requests))
    cluster = play(whole, replay={"client": "turn-dependent", "warm_sessions": 1})
    assert by_index(cluster, "session", "send_s")[4:] == [
        ("a (run 1)", 0.0),
        ("sub (run 1)", 2.0),
        ("a (run 1)", 4.0),
    ]
    assert by_index(cluster, "send_s")[:4] == [(15.0,), (17.0,), (19.0,), (115.0,)]
    both = play(whole, replay={"client": "turn-dependent", "warm_sessions": 2})
    assert [name for (name,) in by_index(both, "session")[4:]] == [
        "a (run 1)",
        "sub (run 1)",
        "a (run 1)",
        "z (run 1)",
    ]


def test_a_smaller_run_of_more_sessions_than_there_are_is_refused():
    with pytest.raises(InputError, match=r"replay.warm_sessions = 3: .* has 1 session$"):
        play(ONE, replay={"warm_sessions": [1, 3]})


def test_a_warm_up_that_never_ends_says_so():
    """The prompt of a fits, its answer does not: nobody is measured."""
    stuck = trace(turn(0, 64, 90, [1, 2, 3, 4], "a"), turn(0, 64, 90, [5, 6, 7, 8], "b"))
    engine = {"kv_blocks": 7, "async_scheduling": False}
    cluster = play(stuck, engine=engine, replay={"warm_sessions": 2})
    assert {status for (status,) in by_index(cluster, "status")} <= {"unfinished", "rejected", "completed"}
    assert summary_of(cluster)["left_out"]["warm_up"]["requests"] == 2


def test_faults_count_from_the_measured_part_on():
    """The worker dies half a second after the clock starts, at 11 s, and is back half a second later."""
    death = {"kind": "worker-dies", "worker": 0, "at_s": 0.5, "back_after_s": 0.5}
    cluster = play(ONE, replay={"warm_start": "first-contexts"}, faults=[death])
    assert by_index(cluster, "status", "end_s") == [("failed", 11.5), ("completed", 18.0), ("completed", 1.0)]
    (fault,) = summary_of(cluster)["faults"]
    assert (fault["at_s"], fault["down_s"], fault["requests_failed"]) == (0.5, 0.5, 1)


def test_clients_wait_for_warm_up_prompts_as_long_as_it_takes():
    cluster = play(ONE, replay={"warm_start": "first-contexts", "timeout_s": 0.5})
    assert by_index(cluster, "status", "end_s") == [
        ("cancelled", 11.5),
        ("cancelled", 16.5),
        ("completed", 1.0),
    ]


# -- the first requests -------------------------------------------------------------------------------------

FOUR = trace(*(turn(2 * number, 16, 2, [number], name) for number, name in enumerate("abcd")))
"""Each is served alone: its first token after a second, its second after two."""


def test_the_first_requests_sent_count_in_nothing():
    cluster = play(FOUR, replay={"warm_up_requests": 3})
    assert by_index(cluster, "phase", "send_s") == [
        ("first", 0.0),
        ("first", 2.0),
        ("first", 4.0),
        ("measured", 6.0),
    ]
    found = summary_of(cluster)
    assert found["left_out"] == {
        "warm_up": None,
        "first": {
            "requests": 3,
            "completed": 3,
            "prompt_tokens": 48,
            "computed_tokens": 48,
            "took_s": 6.0,
        },
        "from_s": 6.0,
        "until_s": 8.0,
    }
    assert [found[name]["n"] for name in ("ttft_s", "itl_s", "e2e_s", "late_s")] == [1, 1, 1, 1]
    assert found["prefill"]["prompt_tokens"] == 16
    assert found["throughput"] == {"requests_per_s": 0.5, "output_tokens_per_s": 1.0}
    assert [row["n"] for row in rows(cluster, "itl")] == [1]


def test_requests_of_the_first_seconds_count_in_nothing():
    """The one that is sent at 4 s exactly counts; the pool is looked at from then on: a block of 100 for
    the prompt, two with the second token."""
    cluster = play(FOUR, replay={"warm_up_s": 4})
    assert by_index(cluster, "phase") == [("first",), ("first",), ("measured",), ("measured",)]
    found = summary_of(cluster)
    assert (found["left_out"]["from_s"], found["left_out"]["until_s"]) == (4.0, 8.0)
    assert found["throughput"]["requests_per_s"] == 0.5
    assert found["occupancy"]["pool"] == {"mean": pytest.approx(0.015), "max": 0.02}


def test_more_first_requests_than_there_are_leave_nothing_to_count():
    found = summary_of(play(FOUR, replay={"warm_up_requests": 9}))
    assert found["requests"]["total"] == 0
    assert found["throughput"] == {"requests_per_s": None, "output_tokens_per_s": None}
    assert found["ttft_s"]["mean"] is None
    assert found["left_out"]["first"]["requests"] == 4


# -- lanes --------------------------------------------------------------------------------------------------

LANES = {"client": "turn-dependent", "lanes": 1, "duration_s": 7.0}


def test_lanes_begin_anew_with_other_content_and_count_over_their_time():
    """a and b take 2 s each: a, b, a #2, and b #2 from 6 s on, which ends at 8 s, a second after the time."""
    two = trace(turn(50, 16, 2, [1], "a"), turn(60, 16, 2, [2], "b"))
    cluster = play(two, replay=LANES)
    assert by_index(cluster, "index", "session", "send_s", "end_s", "required_tokens") == [
        (0, "a", 0.0, 2.0, 16),
        (1, "b", 2.0, 4.0, 16),
        (2, "a #2", 4.0, 6.0, 16),
        (3, "b #2", 6.0, 8.0, 16),
    ]
    found = summary_of(cluster)
    assert found["requests"]["completed"] == 4
    assert found["ttft_s"]["n"] == 4
    assert (found["left_out"]["from_s"], found["left_out"]["until_s"]) == (0.0, 7.0)
    assert found["throughput"]["requests_per_s"] == 3 / 7
    # A block for the first second of each, two for the next, up to 7 s.
    assert found["occupancy"]["pool"]["mean"] == pytest.approx((3 * 3 + 1) / 100 / 7)


def test_what_is_in_flight_at_the_end_may_be_cut():
    two = trace(turn(50, 16, 2, [1], "a"), turn(60, 16, 2, [2], "b"))
    cluster = play(two, replay={**LANES, "at_end": "cut"})
    assert by_index(cluster, "status", "reason", "end_s")[3:] == [("cancelled", "cut_at_end", 7.0)]
    assert summary_of(cluster)["requests"]["cancelled"] == 1


def test_what_sessions_share_is_hit_when_a_trace_begins_anew():
    two = trace(turn(0, 32, 1, [7, 1], "a"), turn(0, 32, 1, [7, 2], "b"))
    cluster = play(two, replay={**LANES, "duration_s": 4.0})
    assert by_index(cluster, "required_tokens", "local_hit_tokens") == [(32, 0), (16, 16), (16, 16), (16, 16)]


# -- requests that the trace cancels ------------------------------------------------------------------------


def test_a_client_gives_up_when_the_trace_says_so():
    """It would take 4 s, and is given up after 2.5: the next turn thinks from then on."""
    requests = trace(turn(0, 16, 4, [1], "a"), turn(None, 32, 1, [1, 2], "a", delay_s=1.0)).requests
    cancelled = replace(
        trace(turn(0, 16, 1, [1])), requests=(replace(requests[0], cancel_after_s=2.5), requests[1])
    )
    cluster = play(cancelled, replay={"client": "turn-dependent"})
    assert by_index(cluster, "status", "reason", "send_s", "end_s") == [
        ("cancelled", "cancelled_in_trace", 0.0, 2.5),
        ("completed", None, 3.5, 4.5),
    ]
    found = summary_of(cluster)
    assert found["requests"]["cancelled"] == 1
    assert found["requests"]["cancelled_by_reason"] == {"cancelled_in_trace": 1}


def test_a_request_that_ended_before_is_not_cancelled():
    request = replace(trace(turn(0, 16, 1, [1])).requests[0], cancel_after_s=2.5)
    cluster = play(replace(trace(turn(0, 16, 1, [1])), requests=(request,)))
    assert by_index(cluster, "status", "end_s") == [("completed", 1.0)]


# -- whatever is asked for ----------------------------------------------------------------------------------


def any_replay(random: Random, requests) -> dict:
    """Return settings of a replay of a trace, at random."""
    chosen = {"client": random.choice(["open-loop", "max-concurrency", "turn-dependent"])}
    sessions = len(session_groups(requests))
    warm = random.choice([None, "first-contexts", "shared-prefixes", "smaller-run"])
    if warm is not None:
        chosen["warm_start"] = warm
    if warm == "smaller-run":
        chosen["warm_sessions"] = [random.randint(1, sessions) for _ in range(random.randint(1, 2))]
    elif warm is not None:
        chosen["warm_placement"] = random.choice(["router", "spread"])
    if random.random() < 0.4:
        chosen["warm_up_requests"] = random.randint(0, 5)
    if random.random() < 0.3:
        chosen["warm_up_s"] = random.choice([0, 0.1, 2.0])
    if chosen["client"] == "turn-dependent":
        if random.random() < 0.6:
            chosen["lanes"] = random.randint(1, 4)
            if random.random() < 0.7:
                chosen["duration_s"] = random.choice([0.2, 1.0])
                if chosen.get("warm_up_s", 0) >= chosen["duration_s"]:
                    chosen["warm_up_s"] = 0.1
                chosen["at_end"] = random.choice(["finish", "cut"])
        if random.random() < 0.4:
            chosen |= {"think_factor": random.choice([0.5, 3.0]), "max_think_s": random.choice([0, 0.02, 1])}
    if random.random() < 0.2:
        chosen["timeout_s"] = random.choice([0.05, 3.0])
    return chosen


def with_waits(random: Random, requests):
    """Let some wait for earlier ones, and some be cancelled."""
    found = []
    for request in requests.requests:
        waits = random.sample(range(request.index), min(request.index, 2)) if random.random() < 0.2 else ()
        cancel_s = random.choice([0.0, 0.02, 1.5]) if random.random() < 0.1 else None
        found.append(replace(request, waits_for=tuple(waits), cancel_after_s=cancel_s))
    return replace(requests, requests=tuple(found))


def check(cluster) -> None:
    found, requests = summary_of(cluster), rows(cluster)
    counted = [row for row in requests if row.get("phase", "measured") == "measured"]
    assert found["requests"]["total"] == len(counted)
    assert found["prefill"]["computed_tokens"] == sum(row["computed_prompt_tokens"] or 0 for row in counted)
    prefill, recomputed = found["prefill"], sum(row["recomputed_tokens"] or 0 for row in counted)
    assert sum(prefill["by_cause"].values()) == recomputed
    first = prefill["required_tokens"] - prefill["returned_tokens"]
    assert prefill["computed_tokens"] - first == recomputed
    assert found["itl_s"]["n"] == sum(row["n"] for row in rows(cluster, "itl"))
    for part in (found.get("left_out") or {}).get("warm_up"), (found.get("left_out") or {}).get("first"):
        assert part is None or part["requests"] > 0


def same(first, second) -> None:
    assert to_json(summary_of(first)) == to_json(summary_of(second))
    for table in first.recorder.rows.tables:
        assert rows(first, table) == rows(second, table)


def both_ways(chosen: Scenario, requests, law) -> None:
    quick = run_cluster(chosen, requests, law)
    check(quick)
    engine = chosen.engine.model_copy(update={"fast_forward": False})
    same(quick, run_cluster(chosen.model_copy(update={"engine": engine}), requests, law))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(seeds)
def test_any_replay_of_aggregated_workers(seed):
    random = RandomCluster(Random(seed))
    requests = with_waits(Random(seed), random.trace)
    content = random.scenario.to_dict()
    content["replay"] = {**content["replay"], **any_replay(Random(seed), requests)}
    if Random(seed).random() < 0.3:
        content["faults"] = random_faults(
            Random(seed),
            workers=random.scenario.workers.gpus,
            disaggregated=False,
            offload=random.scenario.offload is not None,
            until_s=3.0,
        )
    both_ways(Scenario.model_validate(content), requests, random.law)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(seeds)
def test_any_replay_of_split_workers(seed):
    random = Random(seed)
    requests = with_waits(random, some_turns(seed))
    chosen = pair(random.choice([0, 2]), prefill=random.randint(1, 2), decode=random.randint(1, 2))
    content = chosen.to_dict()
    content["replay"] = {**content["replay"], **any_replay(random, requests)}
    if random.random() < 0.3:
        content["faults"] = random_faults(
            random, workers=chosen.workers.gpus, disaggregated=True, offload=False, until_s=30.0
        )
    both_ways(Scenario.model_validate(content), requests, Pace(0.1, 0.01))


# -- answers ------------------------------------------------------------------------------------------------


def test_answers_of_smaller_runs_and_of_sessions_that_begin_anew_return_too():
    """A prompt of 16, an answer of 16, then both and 16 more: 31 tokens of the second prompt are known."""
    first = turn(0, 16, 16, [1], "a")
    second = turn(None, 48, 1, [1, 2, 3], "a", delay_s=0.0)
    chat = replace(trace(first, second), answers="returned")
    answered = {"client": "turn-dependent", "answers": "returned"}
    plain = play(chat, replay=answered)
    once = {row["turn"]: row["returned_tokens"] for row in rows(plain)}
    assert once[1] > 0
    for more in ({"warm_sessions": 1}, {"lanes": 1, "duration_s": 40.0}):
        cluster = play(chat, replay={**answered, **more})
        of_first_time = {row["index"]: row["returned_tokens"] for row in rows(cluster) if row["turn"] == 1}
        assert len(of_first_time) == 2
        if "lanes" in more:
            assert set(of_first_time.values()) == {once[1]}


# -- tags ---------------------------------------------------------------------------------------------------


def test_requests_have_the_tags_of_the_trace_also_those_that_begin_anew_and_warm_ups_have_none():
    tagged = [replace(request, tag=tag) for request, tag in zip(ONE.requests, ["a", "b"], strict=True)]
    requests = replace(ONE, requests=tuple(tagged), has_tags=True)
    cluster = play(
        requests,
        replay={"client": "turn-dependent", "lanes": 1, "duration_s": 30, "warm_start": "first-contexts"},
    )
    found = by_index(cluster, "phase", "tag")
    assert found[:3] == [("measured", "a"), ("measured", "b"), ("warm-up", None)]
    assert len(found) > 4
    assert found[3:5] == [("measured", "a"), ("measured", "b")]
    assert [*summary_of(cluster)["by_tag"]] == ["a", "b"]


def test_a_trace_without_tags_gives_a_table_without_them():
    cluster = play(ONE)
    assert not cluster.recorder.rows.tables["requests"].has("tag")
    assert "by_tag" not in summary_of(cluster)
