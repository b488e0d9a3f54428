"""A cluster whose numbers are printed one by one: variants, levels, tolerances."""

from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.published.cells import Point, cells, points
from sim.published.cluster import read_cluster
from sim.published.measures import Tolerance, check_unit, number
from sim.published.sets import replicates
from sim.published.show_rows import band, quantity
from sim.published.study import GENERATED, Workload, scenario_at
from sim.published.targets import Band
from tests.published.example import EXAMPLE, write_example


def test_a_printed_number_is_of_one_place() -> None:
    cluster = read_cluster(str(EXAMPLE))
    rows = {row.id: row for row in cluster.targets.rows}
    row = rows["rr-ttft-4"]
    (cell,) = cells(row)
    assert cell.place == "rr@4"
    assert cell.points == (Point("rr", 4),)
    assert cell.value(row, [{"ttft_s.p50": 2.5}]) == 2500.0
    assert row.band == pytest.approx(Band(3520.0, 5280.0))
    assert band(row) == "4.40 s ± 20 %"
    assert rows["rr-hits-4"].band == Band(33.0, 39.0)
    assert band(rows["rr-hits-4"]) == "36.0 % ± 3 points"
    assert rows["kv-ttft-2"].fitted
    assert not row.fitted
    assert row.note == "one run"


def test_a_variant_is_a_scenario_under_settings() -> None:
    cluster = read_cluster(str(EXAMPLE))
    sent = Workload(GENERATED, replicates(1, 0))
    plans = cluster.plans([sent], ())
    made = {
        (point.configuration, point.level): scenario_at(sent, point, sent.replicates[0], plans)
        for point in points(cluster.dynamic_rows())
    }
    assert [*made] == [("rr", 2), ("rr", 4), ("kv", 2), ("kv", 4)]
    assert {place: (one.router.policy, one.workload.sessions) for place, one in made.items()} == {
        ("rr", 2): ("round-robin", 2),
        ("rr", 4): ("round-robin", 4),
        ("kv", 2): ("kv", 2),
        ("kv", 4): ("kv", 4),
    }
    assert cluster.settings.called("kv") == "KV router"
    assert cluster.settings.called("agg8") == "agg8"


def test_memory_of_a_variant_is_computed() -> None:
    (score,) = read_cluster(str(EXAMPLE)).static_scores()
    assert score.value == pytest.approx(39.93, abs=0.01)
    assert score.holds


def test_numbers_that_are_made_of_others() -> None:
    assert number({"prefill.computed_tokens": 25.0, "prefill.prompt_tokens": 100.0}, "hit_share") == 0.75
    assert number({"prefill.computed_tokens": 0.0, "prefill.prompt_tokens": 0.0}, "hit_share") is None
    assert number({"throughput.requests_per_s": 2.0, "e2e_s.mean": 3.0}, "in_flight.mean") == 6.0
    assert number({"requests.rejected": 1.0, "requests.total": 8.0}, "rejected_share") == 0.125
    assert number({}, "hit_share") is number({}, "in_flight.mean") is number({}, "rejected_share") is None


@pytest.mark.parametrize(
    ("tolerance", "unit", "around"),
    [
        (Tolerance(0.25, points=False), "s", (3.0, 5.0)),
        (Tolerance(3, points=True), "percent", (1.0, 7.0)),
        (Tolerance(3, points=True), "fraction", (3.97, 4.03)),
    ],
)
def test_tolerances(tolerance: Tolerance, unit: str, around: tuple[float, float]) -> None:
    assert tolerance.around(4.0, 4.0, unit) == pytest.approx(around)


def test_a_tolerance_of_a_number_below_zero_is_around_it() -> None:
    assert Tolerance(0.5, points=False).around(-4.0, -4.0, "s") == (-6.0, -2.0)


@pytest.mark.parametrize(
    ("metric", "unit"), [("ttft_s.p50", "percent"), ("hit_share", "s"), ("ttft_s.p50", "second")]
)
def test_a_unit_that_a_number_cannot_have_is_refused(metric: str, unit: str) -> None:
    with pytest.raises(InputError, match=f"unit = '?{unit}"):
        check_unit(metric, unit, "")


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("targets", "rr,2,4,0.2", "rr,2,4,", "line 3: printed needs a tolerance"),
        ("targets", "rr,2,4,0.2", "rr,2,4,0.2 s", "line 3: tolerance = '0.2 s': must be a part of the "),
        ("targets", "rr,2,4,0.2", "rr,2,4,2 points", "line 3: tolerance = ± 2 points: unit must be "),
        ("targets", "rr,2,4,0.2", "rr,-1,4,0.2", "line 3: level = '-1': must be a number above 0"),
        ("targets", "rr,2,4,0.2", "rr kv,2,4,0.2", "line 3: printed is of one configuration"),
        ("targets", "s,rr,2,4,", "ss,rr,2,4,", "line 3: unit = 'ss': is none; did you mean "),
        ("targets", "s,rr,2,4,", "s,r,2,4,", "line 3: configurations = r: no scenario"),
        ("targets", "static,pool", "static,pol", "metric = pol: is no number of a worker's memory"),
        ("study", 'level = "workload.sessions"', "", "level = 2: "),
        (
            "study",
            "workload.sessions",
            "workload.session",
            "variants.rr: --set workload.session=",
        ),
        (
            "study",
            '"router.policy=kv"',
            '"router.policy=k"',
            "variants.kv: --set router.policy=k",
        ),
        ("study", 'scenario = "scenario.toml"', "", "study.toml: variants: need a scenario"),
        ("study", 'scenario = "scenario.toml"', 'scenario = "none.toml"', "none.toml: No such file"),
        ("study", 'other = "kv"', 'other = "k"', "study.toml: ab.0.other = k: nothing is printed of it"),
        ("study", 'other = "kv"', 'other = "rr"', "ab.0.other = 'rr': is base itself"),
        ("study", "[variants.rr]", '[variants."r r"]', "study.toml: variants.r r"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, file: str, old: str, new: str, says: str) -> None:
    with pytest.raises(InputError) as raised:
        read_cluster(str(write_example(tmp_path, **{file: (old, new)})))
    assert says in str(raised.value)
    assert str(tmp_path) in str(raised.value)


def test_a_variant_cannot_hide_a_scenario_of_the_folder(tmp_path: Path) -> None:
    folder = write_example(tmp_path)
    (folder / "scenarios").mkdir()
    (folder / "scenarios" / "kv.toml").write_text((folder / "scenario.toml").read_text(encoding="utf-8"))
    with pytest.raises(InputError, match=r"variants\.kv: is a scenario of the folder already"):
        read_cluster(str(folder))


def test_a_folder_that_was_written_down_before_is_read(tmp_path: Path) -> None:
    folder = write_example(tmp_path)
    (folder / "study.toml").rename(folder / "cluster.toml")
    assert read_cluster(str(folder)).file == folder / "cluster.toml"


@pytest.mark.parametrize(
    ("value", "text"),
    [(10_049.6, "10,050 tokens/s"), (1663.2, "1663 tokens/s"), (-4.7381, "-4.738 tokens/s")],
)
def test_rates_are_shown_without_powers_of_ten(value: float, text: str) -> None:
    (row, *_) = read_cluster(str(EXAMPLE)).targets.rows
    assert quantity(row.model_copy(update={"unit": "tokens/s"}), value) == text
