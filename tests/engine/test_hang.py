"""Who waits for what on an engine that does not move any more: blocks needed, free, and held, by hand."""

from pathlib import Path

from sim.engine.active import Status
from sim.engine.engine import Engine
from sim.engine.hang import hang_of
from sim.engine.settings import EngineSettings
from sim.kv.group_spec import even_groups
from sim.kv.hit import NO_HIT
from sim.kv.hybrid import KvCache
from sim.simulation.run import run
from tests.clusters import rows, run_cluster, scenario, trace, turn
from tests.engine.helpers import Prompts

DATA = Path(__file__).parents[1] / "data"
LIVELOCK = "zero-progress preemption: requests preempt each other for ever"


def parked():
    """A finished load behind a request that does not fit.

    Of 19 blocks, 6 are loaded for each of two prompts of 96 cached tokens and 14 more (7 blocks). Between
    them stands a prompt of 260 tokens (17 blocks), passed over while what it would load is loaded for the
    first. That one is served when its load has ended; the other's end is not noticed behind the 17 blocks.
    """
    settings = scenario(
        workers={"count": 1},
        engine={"kv_blocks": 20, "max_num_batched_tokens": 2048, "async_scheduling": False},
        offload={
            "cpu_bytes": 100 * 4096,
            "link": {"bandwidth_bytes_per_s": 1024.0, "latency_s": 0, "per_piece_s": 0},
        },
    )
    first, second = range(6), range(100, 106)
    requests = trace(
        turn(0.0, 96, 1, first),
        turn(100.0, 96, 1, second),
        turn(200.0, 288, 1, range(200, 218)),  # takes 18 blocks: the GPU forgets the first two
        turn(500.0, 110, 40, [*first, 50]),
        turn(500.0, 260, 2, [*first, *range(300, 311)]),
        turn(500.0, 110, 40, [*second, 150]),
    )
    return run_cluster(settings, requests)


def test_a_load_parked_behind_a_request_that_does_not_fit():
    cluster = parked()
    left = {row["index"]: row["reason"] for row in rows(cluster) if row["status"] == "unfinished"}
    lacks = "needs 17 KV blocks, 13 of 19 are free, 6 held by request 5 (loaded, but behind it)"
    assert left == {
        4: f"waiting on worker 0: does not fit, {lacks}",
        5: "waiting_for_remote_kvs on worker 0: loaded, but behind a request that does not fit; "
        "holds 6 KV blocks, needs 1 KV block more, request 4 is before it",
    }
    assert {index: hang.why for index, hang in cluster.hangs.items()} == {
        0: f"hangs, and vLLM 0.28.0 hangs there too: request 4, the first in its queue, {lacks}; "
        "nothing runs that could free any"
    }


def test_requests_that_preempt_each_other_for_ever():
    """Blocks of 16: the four that take turns know 272, 287, 375 and 154 tokens, which fill a pool of 69."""
    found = run(DATA / "livelock.toml")
    left = found.requests[found.requests["status"] == "unfinished"]
    needs = dict(zip(left["index"], left["reason"], strict=True))
    blocks = {1: 17, 2: 18, 3: 24, 4: 10, 5: 9, 6: 25, 7: 9}
    assert needs == {
        index: f"{'preempted' if index < 5 else 'waiting'} on worker 1: {LIVELOCK}; "
        f"needs {need} KV blocks, the pool has 69"
        for index, need in blocks.items()
    }
    assert found.to_dict()["requests"]["unfinished_by_reason"] == {
        f"preempted on worker 1: {LIVELOCK}": 4,
        f"waiting on worker 1: {LIVELOCK}": 3,
    }
    # Of those that never gave a token no prompt counts, as in vLLM's own counters.
    assert found.to_dict()["prefill"]["prompt_tokens"] == 1274
    assert found.notes[0].startswith(
        "worker 1 hangs, and vLLM 0.28.0 hangs there too (kv_both and asynchronous scheduling; kv_consumer "
        "does not): requests 1, 2, 3, 4 preempt each other for ever. Together they need 69 KV blocks of a "
        "pool of 69;"
    )


def test_a_prefill_worker_full_of_what_a_decode_worker_that_hangs_does_not_read():
    """The decode worker hangs as above; what it does not read, prompts of 9 and 25 blocks, is kept for it."""
    found = run(DATA / "livelock.toml", {"engine.kv_blocks": 40, "disaggregation.decode_kv_blocks": 70})
    lacks = "needs 9 KV blocks, 5 of 39 are free, 34 held by requests 5, 6 (kept for decode workers to read)"
    assert found.requests["reason"].iloc[-1] == f"waiting on worker 0: does not fit, {lacks}"
    # Not said of vLLM: it is the decode worker that hangs.
    assert found.notes[0] == f"worker 0 hangs: request 7, the first in its queue, {lacks}"


def blocked_engine(*, arrived):
    """A pool of 19 blocks, 6 of them for a load that will take 6 more, and behind it a prompt of 13."""
    engine, prompts = Engine(KvCache(20, even_groups(16)), EngineSettings()), Prompts()
    loading, head = prompts.request(("a", 192)), prompts.request(("b", 208))
    engine.cache.admit(loading.tables, NO_HIT, 96)
    loading.status, loading.computed = Status.LOADING, 96
    engine.scheduler.loading[loading.request_id] = loading
    engine.scheduler.skipped += (head, loading)
    if arrived:
        engine.scheduler.arrived.add(loading.request_id)
    return engine, loading.request_id, head.request_id


def test_blocks_may_be_free_and_yet_reserved():
    engine, loading, head = blocked_engine(arrived=True)
    lacks = (
        "needs 13 KV blocks, 13 of 19 are free, 6 of them reserved for prefills and loads that were admitted "
        f"before, 6 held by request {loading} (loaded, but behind it)"
    )
    hang = hang_of(engine)
    assert hang.waits[head] == f"does not fit, {lacks}"
    assert hang.why.startswith(f"hangs, and vLLM 0.28.0 hangs there too: request {head}, ")


def test_of_a_load_that_has_not_ended_vllm_is_not_to_blame():
    engine, loading, head = blocked_engine(arrived=False)
    hang = hang_of(engine)
    assert hang.waits[loading] == "its load has not ended; holds 6 KV blocks"
    assert hang.waits[head].endswith(f", 6 held by request {loading} (being loaded)")
    assert hang.why.startswith(f"hangs: request {head}, ")


def test_blocks_that_requests_share_are_counted_once():
    engine, loading, _ = blocked_engine(arrived=True)
    other = Prompts().request(("c", 200))
    first = next(request for request in engine.scheduler.skipped if request.request_id == loading)
    other.tables = first.tables
    other.request_id, other.status = 99, Status.LOADING
    engine.scheduler.skipped.append(other)
    engine.scheduler.arrived.add(99)
    assert f"6 held by requests {loading}, 99 (loaded, but behind it)" in hang_of(engine).why
