"""Whole clusters under pressure: what has to hold whatever happens, in whatever order SimPy keeps events."""

from collections import Counter
from math import inf
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.cluster.build import Cluster
from sim.events.clock import Phase
from sim.ledger.account import CAUSES
from sim.results.metrics import to_json
from sim.router import Query
from sim.simulation.run import summary_of
from tests.clusters import RandomCluster, build_cluster, rows, run_cluster, scenario, trace, turn

TIMES = ("due_s", "send_s", "routed_s", "queued_s", "first_scheduled_s", "first_token_s", "end_s")

seeds = st.integers(0, 2**32)


def build(random: RandomCluster) -> Cluster:
    settings = random.scenario
    return build_cluster(settings, random.trace, random.law)


class CountingObserver:
    """Counts the prompt tokens of every plan, by request, on their way to another observer."""

    def __init__(self, observer):
        self._observer = observer
        self.prompt_tokens: Counter = Counter()

    def __getattr__(self, name):
        return getattr(self._observer, name)

    def planned(self, worker, plan, events, now_s):
        for request, tokens in plan.scheduled:
            start = request.computed - tokens
            self.prompt_tokens[request.request_id] += max(
                0, min(request.computed, request.prompt_tokens) - start
            )
        self._observer.planned(worker, plan, events, now_s)


def count_scheduled_prompt_tokens(cluster: Cluster) -> Counter:
    """Let every worker count the prompt tokens that it schedules, by request."""
    observer = CountingObserver(cluster.workers[0]._observer)
    for worker in cluster.workers:
        worker._observer = observer
    return observer.prompt_tokens


@settings(max_examples=120, deadline=None)
@given(seeds)
@pytest.mark.slow
def test_everything_is_accounted_for(seed):
    random = RandomCluster(Random(seed))
    cluster = build(random)
    scheduled = count_scheduled_prompt_tokens(cluster)
    cluster.run()
    requests, summary = rows(cluster), summary_of(cluster)
    trace_requests = random.trace.requests

    assert sorted(row["index"] for row in requests) == list(range(len(trace_requests)))
    counts = Counter(row["status"] for row in requests)
    assert {name: summary["requests"][name] for name in ("completed", "rejected", "unfinished")} == {
        name: counts[name] for name in ("completed", "rejected", "unfinished")
    }
    for row in requests:
        reached = [row[name] for name in TIMES if row[name] is not None]
        assert reached == sorted(reached)
        if row["status"] == "completed":
            assert None not in [row[name] for name in TIMES]
            assert row["output_tokens"] == trace_requests[row["index"]].output_tokens
        assert (row["reason"] is None) == (row["status"] == "completed")
        if row["send_s"] is None:
            continue
        assert row["computed_prompt_tokens"] == scheduled[row["index"]]
        assert row["recomputed_tokens"] == sum(row[f"{cause}_tokens"] for cause in CAUSES)
        assert row["computed_prompt_tokens"] == row["first_tokens"] + row["recomputed_tokens"]
    if counts["completed"] == len(requests):
        assert summary["prefill"]["required_tokens"] == sum(row["required_tokens"] for row in requests)
    by_source = summary["prefill"]["by_source"]
    assert min(by_source.values()) >= 0
    assert sum(by_source.values()) == sum(
        row["prompt_tokens"] for row in requests if row["first_token_s"] is not None
    )
    assert summary["itl_s"]["n"] == sum(max(0, (row["output_tokens"] or 0) - 1) for row in requests)


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_nothing_is_left_behind(seed):
    cluster = RandomCluster(Random(seed)).run()
    requests = rows(cluster)
    if any(row["status"] == "unfinished" for row in requests):
        return
    assert not cluster.recorder.records
    for worker in cluster.workers:
        engine = worker.engine
        assert engine.cache.pool.used_blocks == 0
        assert len(engine.cache.pool.free_queue()) == engine.cache.pool.num_blocks - 1
        assert not engine.needs_step
        assert not engine.steps
    loads = cluster.frontend.pools[0].router.loads
    assert not any(loads.prefill_tokens + loads.active_blocks + loads.requests)


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_the_router_credits_no_more_than_the_attention_blocks_that_are_there(seed):
    random = RandomCluster(Random(seed))
    cluster = random.run()
    cluster.frontend.pools[0].replicas[0].undelivered.open(inf)
    for record in rows(cluster):
        request = random.trace.requests[record["index"]]
        blocks = cluster.frontend.blocks_of(request)
        query = Query(request.index, request.prompt_tokens, blocks)
        for terms, worker in zip(
            cluster.frontend.pools[0].router.terms(query, cluster.clock.now), cluster.workers, strict=True
        ):
            cache = worker.engine.cache
            present = cache.lookup(blocks, request.prompt_tokens + cache.block_tokens).attention_tokens
            assert terms.device_blocks * cache.block_tokens <= present


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_every_decision_shows_every_worker(seed):
    random = RandomCluster(Random(seed))
    cluster = random.run()
    routed = {row["index"]: row for row in rows(cluster) if row["routed_s"] is not None}
    decisions = rows(cluster, "decisions")
    assert len(decisions) == len(routed) * random.scenario.workers.count
    chosen = [row for row in decisions if row["chosen"]]
    assert {row["request"]: row["worker"] for row in chosen} == {
        index: row["worker"] for index, row in routed.items()
    }


@settings(max_examples=60, deadline=None)
@given(seeds)
@pytest.mark.slow
def test_events_of_others_at_the_same_instants_change_nothing(seed):
    random = RandomCluster(Random(seed))
    alone = random.run()
    times = {row[name] for row in rows(alone) for name in TIMES} - {None}
    times |= {row["now_s"] for row in rows(alone, "workers")}
    crowded, dice = build(random), Random(seed)
    for time_s in times:
        for _ in range(2):
            crowded.clock.at(time_s, dice.choice(list(Phase)), dice.randint(0, 9), lambda: None)
    crowded.run()
    assert to_json(summary_of(crowded)) == to_json(summary_of(alone))
    for table in alone.recorder.rows.tables:
        assert rows(crowded, table) == rows(alone, table)


def test_a_policy_of_ones_own():
    requests = trace(*(turn(index, 16, 1, [index]) for index in range(6)))
    cluster = run_cluster(scenario(), requests, policy=lambda terms, query, draw: query.request % 2)
    assert [row["worker"] for row in rows(cluster)] == [0, 1] * 3


def test_a_hybrid_model_s_prompt_needs_room_for_two_states_a_group():
    requests = trace(turn(0, 64, 1, range(4)))
    found = [rows(run_cluster(scenario(2, engine={"kv_blocks": blocks}), requests)) for blocks in (8, 9)]
    assert [row["reason"] for (row,) in found] == ["prompt_exceeds_pool", None]


def test_the_watermark_keeps_blocks_free_while_others_run():
    requests = trace(turn(0, 16, 9, [1], "a"), turn(1, 64, 1, range(10, 14), "b"))
    ends = []
    for watermark in (0, 0.5):
        settings = scenario(workers={"count": 1}, engine={"kv_blocks": 11, "watermark": watermark})
        ends.append([row["end_s"] for row in rows(run_cluster(settings, requests))])
    assert ends == [[4.0, 9.0], [9.0, 10.0]]


def test_blocks_of_answers_are_offloaded_only_if_asked_for():
    requests = trace(turn(0, 16, 40, [1]))
    used = []
    for prompt_only in (True, False):
        settings = scenario(offload={"cpu_bytes": 40_960, "offload_prompt_only": prompt_only})
        cluster = run_cluster(settings, requests)
        used.append(sum(worker.engine.offload.tier.used_blocks for worker in cluster.workers))
    assert used == [1, 3]


def test_progress_is_told_of_every_request_that_ends():
    seen = []
    cluster = build_two_turns()
    cluster.run(lambda now_s, ended, total: seen.append((now_s, ended, total)))
    assert seen == [(2.0, 1, 2), (6.0, 2, 2)]


def build_two_turns() -> Cluster:
    settings, requests = scenario(), trace(turn(0, 16, 2, [1]), turn(5, 16, 1, [2]))
    return build_cluster(settings, requests)
