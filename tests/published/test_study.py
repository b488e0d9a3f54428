"""The runs of a study: made once, kept, and told apart."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.experiments.jobs.engine import local
from sim.published.cells import Point, cells, points
from sim.published.sets import Replicate, replicates
from sim.published.study import GENERATED, Made, Maker, Plans, Study, Workload, make, scenario_at
from sim.runs.journal import journal_in
from sim.runs.run import Run
from sim.scenario.load import load_scenario
from tests.published.files import target

ROW = target(configurations="agg4 1p3d", combine="difference")
FEW = ("workload.turns=1",)
SENT = Workload(GENERATED, replicates(2, 0))
PLANS = Plans([SENT], FEW)
POINT = Point("agg4", 4, "max-concurrency")


def test_every_point_is_run_once_for_each_seed() -> None:
    totals: list[int] = []

    def on_total(total: int) -> Callable[[], None]:
        totals.append(total)
        return lambda: totals.append(-1)

    study = make(points([ROW]), PLANS, Maker(local(1), on_total=on_total))
    (cell,) = cells(ROW)
    assert totals == [4, -1, -1, -1, -1]
    assert len(study.values(ROW, cell, SENT)) == 2
    assert len({*study.fingerprints(SENT, cell)}) == 4


def test_a_second_call_makes_no_run_again(tmp_path: Path) -> None:
    (cell,) = cells(ROW)

    def values() -> list[float]:
        with journal_in(tmp_path / "out") as journal:
            return make(points([ROW]), PLANS, Maker(local(1), journal)).values(ROW, cell, SENT)

    first = values()
    runs = (tmp_path / "out" / "runs.jsonl").read_bytes()
    assert values() == first
    assert (tmp_path / "out" / "runs.jsonl").read_bytes() == runs


def test_a_failed_run_names_itself(tmp_path: Path) -> None:
    short = tmp_path / "short.jsonl"
    short.write_text('{"timestamp": 0, "input_length": 64, "output_length": 1, "hash_ids": [1]}\n')
    settings = (f"workload.path={short}", "workload.chunk_tokens=64")
    plans = Plans([Workload("short", replicates(1, 0), settings)])
    with pytest.raises(InputError, match=r"agg4, seed 0: .*the file holds 1"):
        make([Point("agg4", 4, "max-concurrency")], plans, Maker(local(1)))


def test_a_draw_changes_coefficients() -> None:
    plain, drawn = (scenario_at(SENT, POINT, Replicate(0, k), PLANS) for k in (None, 1))
    assert plain.coefficients().step != drawn.coefficients().step


def test_offload_is_set_where_there_is_one() -> None:
    settings = ("offload.kv_events=self-describing",)
    with_tier, without = (
        scenario_at(SENT, Point(name, 8, "max-concurrency"), Replicate(0, None), Plans([SENT], settings))
        for name in ("1p3d", "1p3d-no-offload")
    )
    assert with_tier.offload is not None
    assert with_tier.offload.kv_events == "self-describing"
    assert without.offload is None


def test_links_between_workers_mean_nothing_to_aggregated_ones() -> None:
    settings = ("disaggregation.lease_s=1s",)
    apart, together = (
        scenario_at(SENT, Point(name, 4, "max-concurrency"), Replicate(0, None), Plans([SENT], settings))
        for name in ("1p3d", "agg4")
    )
    assert apart.disaggregation.lease_s == 1.0
    assert together.disaggregation.lease_s == 30.0


def test_a_run_that_hung_has_no_numbers() -> None:
    def made(seed: int, unfinished: int) -> Made:
        summary = {"requests": {"unfinished": unfinished}, "ttft_s": {"p50": 1.5}}
        run = Run("agg4", {}, {}, seed, summary)
        point = Point("agg4", 4, "max-concurrency")
        return Made(SENT.name, point, Replicate(seed, None), load_scenario("agg4"), run)

    row = target()
    (cell,) = cells(row)
    study = Study(PLANS, [made(0, 0), made(1, 3)])
    assert study.values(row, cell, SENT) == [1.5]
    assert [one.hung for one in study.made] == [False, True]
