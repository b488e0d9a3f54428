"""Runs arranged by scenario, point and seed."""

import pytest

from sim.runs.comparison import Comparison
from tests.runs.comparisons import drawn, made, swept, two_points


def rows(comparison, metric="ttft_s.p50"):
    return {row.point: row for row in comparison.rows([metric])}


def test_runs_find_their_point_and_seed():
    comparison = two_points()

    assert comparison.keys == ("workload.sessions",)
    assert comparison.points == ((12,), (20,))
    assert comparison.seeds == (0, 1, 2)
    assert comparison.failed == ()
    assert [run.seed for run in comparison.runs_at("slow", (20,))] == [0, 1, 2]
    assert comparison.values_of("workload.sessions") == [12, 20]


def test_a_row_has_means_and_distances_from_the_first():
    row = rows(two_points())[(12,)]

    assert (row.spreads["fast"].middle, row.spreads["slow"].middle) == (2.0, 4.0)
    assert row.differences.keys() == row.ratios.keys() == {"slow"}
    assert row.differences["slow"].value == 2.0
    assert row.ratios["slow"][:3] == (2.0, 2.0, 2.0)


def test_only_seeds_that_both_have_are_paired():
    fast = [made("fast", value, seed) for seed, value in ((0, 1.0), (1, 1.0), (2, 100.0))]
    slow = [made("slow", value, seed) for seed, value in ((0, 3.0), (1, 3.0), (7, 5.0))]
    row = rows(Comparison(["fast", "slow"], [*fast, *slow]))[()]

    # The mean of all three of the fast one's, 34, has nothing to do with a difference of 2.
    assert (row.spreads["fast"].middle, row.spreads["fast"].n) == (1.0, 2)
    assert (row.spreads["slow"].middle, row.spreads["slow"].n) == (3.0, 2)
    assert (row.differences["slow"].value, row.differences["slow"].n) == (2.0, 2)


def test_a_single_run_beside_repeats_is_compared_with_its_own_seed():
    comparison = Comparison(
        ["default", "mine"], [*(made("default", 1.0 + n, n) for n in range(3)), made("mine", 9.0)]
    )
    row = rows(comparison)[()]
    assert (row.spreads["default"].middle, row.spreads["mine"].middle) == (1.0, 9.0)
    assert (row.differences["mine"].value, row.ratios["mine"].value) == (8.0, 9.0)
    assert (comparison.seeds, comparison.cases, comparison.has_pairs) == ((0,), 1, True)
    assert [comparison.is_compared(run) for run in comparison.runs] == [True, False, False, True]
    assert {(one.scenario, one.value) for one in comparison.compared_records(["ttft_s.p50"])} == {
        ("default", 1.0),
        ("mine", 9.0),
    }


def test_without_a_common_seed_each_keeps_its_own():
    comparison = Comparison(["fast", "slow"], [made("fast", 1.0), made("slow", 4.0, 1)])
    row = rows(comparison)[()]
    assert (row.spreads["fast"].middle, row.spreads["slow"].middle) == (1.0, 4.0)
    assert (row.differences["slow"].n, comparison.has_pairs, comparison.seeds) == (0, False, (0, 1))


def test_a_failed_run_is_missing_not_zero():
    runs = [made("fast", 1.0), made("slow", None, error="no room"), made("slow", 4.0, 1)]
    comparison = Comparison(["fast", "slow"], runs)
    row = rows(comparison)[()]

    assert [run.error for run in comparison.failed] == ["no room"]
    assert row.spreads["slow"][0] == 4.0
    assert row.differences["slow"].n == 0
    assert len(list(comparison.records())) == 2 * 4


def test_a_run_that_was_not_swept_stands_where_its_settings_say():
    saved = made("old", 9.0, workload={"sessions": 20})
    comparison = Comparison(["fast", "old"], [*swept("fast", {12: [1.0], 20: [2.0]}), saved])

    assert comparison.points == ((12,), (20,))
    assert rows(comparison)[(20,)].ratios["old"].value == 4.5
    assert rows(comparison)[(12,)].spreads["old"].n == 0


def test_values_are_shown_as_they_were_written():
    run = made("a", 1.0, workload={"bytes": 2**36}, written={"workload.bytes": "64GiB", "offload": "none"})
    comparison = Comparison(["a"], [run])

    assert comparison.points == ((2**36, None),)
    assert comparison.written("workload.bytes", 2**36) == "64GiB"
    assert comparison.written("offload", None) == "none"
    assert comparison.written("workload.bytes", 5) == "5"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("workload.sessions", 3),
        ("workload", '{"sessions": 3, "tables": ["a"]}'),
        ("workload.tables", '["a"]'),
        ("model", "llama"),
        ("workload.sessions.x", None),
        ("offload.cpu_bytes", None),
    ],
)
def test_the_value_of_a_key(key, value):
    run = made("a", 1.0, workload={"sessions": 3, "tables": ["a"]})
    run.settings["model"] = {"name": "llama", "layers": 1}

    assert run.value(key) == value


def test_thin_percentiles_are_told_by_scenario():
    runs = [made("fast", 1.0), made("slow", 2.0, thin=True), made("slow", 2.0, 1)]
    row = rows(Comparison(["fast", "slow"], runs))[()]

    assert row.thin == ["slow"]


def test_every_number_is_a_record():
    records = list(two_points().records())

    assert len(records) == 12 * 4
    assert ("slow", (12,), 2, 0, "prefill.by_cause.elsewhere", 6000) in records


def test_settings_files_have_a_name_that_is_a_file_name_and_their_own():
    runs = [
        made(name, 1.0, workload={"path": path}, written={"workload.path": path})
        for name in ("a b/c", "a b.c")
        for path in ("x/y z.gz", "x/y*z.gz")
    ]
    comparison = Comparison(["a b/c", "a b.c"], runs)
    files = [comparison.settings_file(run) for run in runs]

    assert files[0] == "1_a-b-c_workload.path=x-y-z.gz.toml"
    assert len(set(files)) == 4
    assert not set("".join(files)) & set("/* ")


def test_to_dict_names_points_and_keeps_the_summaries():
    comparison = two_points()
    content = comparison.to_dict(["ttft_s.p50"])

    assert content["scenarios"] == ["fast", "slow"]
    assert content["seeds"] == [0, 1, 2]
    assert len(content["rows"]) == 2
    first = content["rows"][0]
    assert (first["metric"], first["point"], first["thin"]) == ("ttft_s.p50", {"workload.sessions": 12}, [])
    assert first["scenarios"]["slow"]["mean"] == 4.0
    assert first["against_first"]["slow"]["difference"]["value"] == 2.0
    assert [run["summary"] for run in content["runs"]] == [run.summary for run in comparison.runs]


def test_draws_give_bands_and_pairs_of_equal_draws():
    comparison = drawn()
    row = rows(comparison)[()]

    assert comparison.has_bands
    assert comparison.draws == tuple(range(1, 42))
    assert row.spreads["fast"][:5] == pytest.approx((3.0, 1.1, 4.9, 1.0, 5.0))
    assert row.differences["slow"][:3] == pytest.approx((3.0, 1.1, 4.9))
    assert row.ratios["slow"][:3] == pytest.approx((2.0, 2.0, 2.0))
    content = comparison.to_dict(["ttft_s.p50"])
    assert (content["coverage"], content["rows"][0]["scenarios"]["slow"]["median"]) == (0.95, 6.0)
    assert [run["draw"] for run in content["runs"][:2]] == [1, 2]


def test_every_seed_has_every_draw():
    runs = [made("a", seed + draw / 10, seed, draw=draw) for seed in (0, 1) for draw in (1, 2, 3)]
    row = rows(Comparison(["a"], runs))[()]
    assert (row.spreads["a"].n, row.spreads["a"].least, row.spreads["a"].most) == (6, 0.1, 1.3)


def test_requests_of_a_kind_that_a_run_has_none_of_are_0() -> None:
    """As of one in which nothing could fail, beside one in which something could."""
    broken, whole = made("broken", 1.0), made("whole", 1.0)
    assert broken.summary is not None
    broken.summary["requests"] |= {"failed": 2, "failed_by_reason": {"worker_died": 2}}
    comparison = Comparison(["broken", "whole"], [broken, whole])
    for metric in ("requests.failed", "requests.failed_by_reason.worker_died"):
        (row,) = comparison.rows([metric])
        assert [row.spreads[name].middle for name in ("broken", "whole")] == [2, 0], metric
