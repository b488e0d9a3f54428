"""A search for cluster sizes, on clusters whose latency is known."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.experiments.jobs.job import Job
from sim.experiments.size import size, with_sessions
from sim.runs.floor import COLD_NAME, WARM_NAME
from sim.runs.run import Run
from sim.runs.sizing import Sized
from tests.experiments.jobs.fakes import fake_runner

GIB = 2**30


def cluster(job: Job) -> dict[str, Any]:
    """Latency falls with the prefill side and host RAM, and rises with the seed; alone it is 0.2 or 1."""
    if job.name in (WARM_NAME, COLD_NAME):
        alone_s = 0.2 if job.name == WARM_NAME else 1.0
        return {"ttft_s": {"p95": alone_s}, "requests": {"total": 10, "completed": 10}}
    workers, offload = job.scenario.workers, job.scenario.offload
    strength = (workers.count or 2 * (workers.prefill or 0)) * (2 if offload else 1)
    unfinished = int(workers.count == 5)
    return {
        "ttft_s": {"p95": 24 / strength * (1 + job.scenario.seed / 100)},
        "requests": {"total": 10, "completed": 10 - unfinished},
        "prefill": {"recomputation": 0.5},
        "gpu_hours": float(workers.gpus),
    }


def find(*slo: str, ran: list[Job] | None = None, **options: Any) -> Sized:
    return size("agg8", slo, fake_runner(cluster, ran), **options)


def rows(sized: Sized) -> list[tuple[str, int]]:
    return [
        (str(tried.configuration.layout), tried.configuration.host_bytes // GIB) for tried in sized.smallest
    ]


def test_the_smallest_of_each_layout_and_host_ram() -> None:
    # 24 / strength x 1.02 <= 6: a strength of 5 or more; with host RAM 3 workers, 2 prefill without.
    sized = find("ttft_s.p95<6", host_ram="0,64GiB")
    assert rows(sized) == [("2P1D", 64), ("3", 64), ("3P1D", 0), ("6", 0)]
    assert sized.sessions == 12


def test_margin_is_that_of_the_worst_seed_and_limit() -> None:
    sized = find("ttft_s.p95<6", "gpu_hours<20", host_ram="64GiB", repeat=3)
    best = sized.smallest[0]
    # 2P1D: 24 / 8 x 1.02 = 3.06 of 6, and 3 of 20 hours.
    assert best.margin == pytest.approx(min(1 - 3.06 / 6, 1 - 3 / 20))
    assert best.mean("ttft_s.p95") == pytest.approx(3.03)


def test_what_leaves_requests_unfinished_does_not_hold() -> None:
    sized = find("ttft_s.p95<5", host_ram="0")
    # 5 workers would do if they finished.
    assert ("6", 0) in rows(sized)


def test_what_does_not_hold_with_the_first_seed_is_not_run_with_the_others() -> None:
    ran: list[Job] = []
    sized = find("ttft_s.p95<6", ran=ran, repeat=3)
    for tried in sized.tried:
        holds_first = replace(tried, runs=tried.runs[:1]).holds
        assert len(tried.runs) == (3 if holds_first else 1)
    ran = [job for job in ran if not job.name.startswith("alone")]
    assert len(ran) == sum(len(tried.runs) for tried in sized.tried)
    names = [(job.name, job.scenario.seed) for job in ran]
    assert len(names) == len(set(names))


def test_the_last_seed_counts() -> None:
    # 4 workers: 6.0 with seed 0, 6.06 with seed 1.
    one, two = (find("ttft_s.p95<6", host_ram="0", repeat=repeat) for repeat in (1, 2))
    assert (("4", 0) in rows(one), ("4", 0) in rows(two)) == (True, False)


def test_searches_run_side_by_side() -> None:
    batches: list[Sequence[Job]] = []

    def run(jobs: Sequence[Job]) -> Sequence[Run]:
        batches.append(jobs)
        return fake_runner(cluster)(jobs)

    size("agg8", ["ttft_s.p95<6"], run, repeat=1)
    assert [job.name for job in batches[0]] == [WARM_NAME, COLD_NAME]
    assert len(batches[1]) == 4


def test_none_holds() -> None:
    sized = find("ttft_s.p95<0.3", most_gpus=4)
    assert not sized.smallest
    assert sized.to_dict()["smallest"] == []


def test_a_limit_below_the_floor_ends_the_search_unless_it_goes_on_anyway() -> None:
    ran: list[Job] = []
    stopped = find("ttft_s.p95<0.1", ran=ran)
    assert (stopped.in_vain, list(stopped.tried)) == (True, [])
    assert [job.name for job in ran] == [WARM_NAME, COLD_NAME]
    gone_on = find("ttft_s.p95<0.1", most_gpus=4, anyway=True)
    assert gone_on.tried
    assert not gone_on.smallest


def test_each_request_is_alone_on_one_idle_engine_of_each_size() -> None:
    ran: list[Job] = []
    find("ttft_s.p95<0.1", ran=ran, tensor_parallel="1,2", fixed=["replay.warm_start=first-contexts"])
    warm, cold, *_ = [job.scenario for job in ran]
    assert [job.scenario.workers.gpus for job in ran] == [1, 1, 2, 2]
    assert (warm.replay.client, warm.replay.max_concurrency, warm.offload) == ("max-concurrency", 1, None)
    assert (warm.workload.fresh_prompts, cold.workload.fresh_prompts) == (None, True)
    assert (warm.replay.warm_start, cold.replay.warm_start) == ("first-contexts", None)


@pytest.mark.parametrize(
    ("fixed", "exact"),
    [
        (["replay.warm_up_requests=3"], True),
        (["replay.warm_up_s=3"], False),
        (["replay.client=turn-dependent"], True),
        (["replay.client=turn-dependent", "replay.warm_up_requests=3"], False),
        (["replay.client=turn-dependent", "replay.lanes=2", "replay.duration_s=60"], False),
    ],
)
def test_a_floor_of_other_requests_than_count_ends_no_search(fixed: list[str], exact: bool) -> None:
    sized = find("ttft_s.p95<0.1", fixed=fixed, most_gpus=2)
    assert sized.floor is not None
    assert (sized.floor.exact, sized.in_vain) == (exact, exact)
    assert bool(sized.tried) is not exact


def test_shares_of_requests_are_asked_for_in_every_run() -> None:
    ran: list[Job] = []

    def shares(job: Job) -> dict[str, Any]:
        return cluster(job) | {"within": {"by_turn.later.ttft_s<3.0": 0.96}}

    sized = size("agg8", ["95% of by_turn.later.ttft_s<3"], fake_runner(shares, ran), most_gpus=2, repeat=1)
    assert {job.scenario.output.within for job in ran} == {("by_turn.later.ttft_s<3.0",)}
    assert rows(sized) == [("1", 0), ("1P1D", 0)]


def test_a_share_of_requests_that_there_are_none_of_is_refused() -> None:
    def shares(job: Job) -> dict[str, Any]:
        return cluster(job) | {"within": {"by_tag.x.ttft_s<3.0": None}}

    with pytest.raises(InputError, match=r"no request of the workload is of by_tag\.x"):
        size("agg8", ["95% of by_tag.x.ttft_s<3"], fake_runner(shares), most_gpus=2, repeat=1)


def test_more_sessions_of_a_file_are_asked_for_only_of_a_file() -> None:
    assert with_sessions("agg8", [], 40) == ["workload.sessions=40"]
    fixed = ["workload.profile=none", "workload.path=x.jsonl"]
    assert with_sessions("agg8", fixed, 40)[2:] == ["workload.sessions=40", "workload.resample=true"]


def test_the_frontier_gets_better_with_cost() -> None:
    sized = find("ttft_s.p95<6", host_ram="0,64GiB")
    (limit,) = sized.limits
    points = [(tried.mean("gpu_hours"), tried.worst(limit)) for tried in sized.frontier("ttft_s.p95")]
    assert points == sorted(points)
    assert [value for _, value in points] == sorted((value for _, value in points), reverse=True)


def test_host_ram_is_none_and_the_scenarios_own_unless_given() -> None:
    assert {tried.configuration.host_bytes // GIB for tried in find("ttft_s.p95<6").tried} == {0, 64}


@pytest.mark.parametrize(
    ("slo", "options", "message"),
    [
        (["ttft_s.p95"], {}, "--slo ttft_s.p95: write NUMBER<LIMIT"),
        (["ttft_s<3"], {}, "--slo ttft_s: is a table; give one of its numbers: ttft_s.n"),
        (["95% of itl_s<3"], {}, "--slo itl_s<3.0: write TIME<LIMIT"),
        (["120% of ttft_s<3"], {}, "--slo 120% of ttft_s<3: write SHARE% of TIME<LIMIT"),
        (["ttft_s.p95<3"], {"price": "much"}, "--price-per-gpu-hour much: write a number"),
        (["goodput.per_s>3"], {}, "--slo goodput.per_s: no number of the summary"),
        (["ttft_s.p95<3"], {"host_ram": "64GiB,much"}, "--host-ram 64GiB,much: 'much' is not a size"),
        (["ttft_s.p95<3"], {"host_ram": "1"}, "offload.cpu_bytes=1: does not hold one KV block"),
        (["ttft_s.p95<3"], {"fixed": ["seed=x"]}, "--set seed=x"),
        (
            ["ttft_s.p95<3"],
            {"most_gpus": 4, "tensor_parallel": "8"},
            "--max-gpus 4: one engine has 8 GPUs; give more, or smaller engines",
        ),
    ],
)
def test_wrong_input_is_refused(slo: list[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find(*slo, **options)


def test_a_misspelt_number_is_refused_before_any_run() -> None:
    with pytest.raises(InputError, match=r"--slo ttft_s\.p96: .*did you mean ttft_s\."):
        size("agg8", ["ttft_s.p96<3"], lambda jobs: pytest.fail("must not come to this"))


def test_a_scenario_that_cannot_be_run_is_refused() -> None:
    with pytest.raises(InputError, match="no room"):
        size("agg8", ["ttft_s.p95<3"], lambda jobs: [job.done(None, error="no room") for job in jobs])
