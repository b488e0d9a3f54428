"""Workers of several GPUs, and data-parallel ranks: what changes with them and what must not."""

from random import Random

import pytest

from sim.hardware.parallel import Parallel
from sim.scenario.scenario import Scenario
from tests.clusters import Pace, RandomCluster, rows, run_cluster, scenario, trace, turn


def spread(settings: Scenario, **workers: object) -> Scenario:
    """The same scenario with other sizes of its engines, and heads that can be divided."""
    model = settings.model.model_copy(update={"attention_heads": 4, "kv_heads": 4, "intermediate_size": 4})
    gpu = settings.gpu.model_copy(update={"gpus_per_node": 8})
    changed = settings.workers.model_copy(update=workers)
    return settings.model_copy(update={"workers": changed, "model": model, "gpu": gpu})


@pytest.mark.parametrize("seed", range(25))
def test_tensor_parallel_changes_no_decision_where_pool_and_times_are_the_same(seed: int) -> None:
    random = RandomCluster(Random(seed))
    without = random.scenario.model_copy(update={"offload": None})
    one, four = (
        run_cluster(spread(without, tensor_parallel=size), random.trace, random.law) for size in (1, 4)
    )
    assert four.capacity.engine.parallel == Parallel(tensor=4)
    assert rows(one) == rows(four)
    assert rows(one, "decisions") == rows(four, "decisions")


@pytest.mark.parametrize("seed", range(25))
def test_data_parallel_ranks_are_workers_to_the_router(seed: int) -> None:
    """Two engines of two ranks do what four engines do: each rank has a scheduler and a pool of its own."""
    random = RandomCluster(Random(seed))
    ranks, alone = (
        run_cluster(spread(random.scenario, **workers), random.trace, random.law)
        for workers in ({"count": 2, "data_parallel": 2}, {"count": 4, "data_parallel": 1})
    )
    assert rows(ranks) == rows(alone)
    assert rows(ranks, "decisions") == rows(alone, "decisions")
    assert rows(ranks, "links") == rows(alone, "links")


def test_the_gpus_of_a_worker_copy_to_the_host_side_by_side() -> None:
    """Five blocks of 1,024 bytes at 1,024 bytes a second: 5 s over one GPU's link, 1.25 s over four."""
    offload = {
        "cpu_bytes": 4096 * 50,
        "link": {"bandwidth_bytes_per_s": 1024, "latency_s": 0, "per_piece_s": 0},
    }
    base = scenario(workers={"count": 1}, offload=offload)
    requests = trace(turn(0, 80, 1, range(5)))
    took = {}
    for size in (1, 4):
        settings = spread(base, tensor_parallel=size)
        cluster = run_cluster(settings, requests)
        row = next(row for row in rows(cluster, "links") if row["direction"] == "to_host")
        took[size] = (row["n_bytes"], row["busy_s"])
    n_bytes = 5 * 4 * 1024  # four KV heads
    assert took == {1: (n_bytes, 20.0), 4: (n_bytes, 5.0)}


def test_a_pull_goes_over_the_links_of_every_gpu() -> None:
    node = {"placement": {"gpus_per_node": 8}}
    alone = scenario(workers={"count": None, "prefill": 1, "decode": 1}, disaggregation=node)
    settings = spread(alone, tensor_parallel=2, decode_tensor_parallel=4)
    assert (settings.workers.gpus, settings.workers.ranks) == (2 * 1 + 4 * 1, 2)
    cluster = run_cluster(settings, trace(turn(0, 64, 3, range(4))), Pace())
    links = {(row["kind"], row["owner"], row["direction"]): row for row in rows(cluster, "links")}
    wire = settings.network().nvlink.bandwidth_bytes_per_s
    out, into = links["nvlink", 0, "out"], links["nvlink", 1, "in"]
    assert (out["bandwidth_bytes_per_s"], into["bandwidth_bytes_per_s"]) == (2 * wire, 4 * wire)
    assert out["n_bytes"] == into["n_bytes"] == rows(cluster)[0]["pulled_bytes"] > 0
