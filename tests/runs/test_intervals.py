from math import exp, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sim.results.metrics import to_json
from sim.runs.intervals import combine, interval, student_t


def test_an_interval_by_hand():
    # Mean 4, standard deviation 2, t(2) = 4.30265: half width 4.30265 * 2 / sqrt(3), 1.24207 of the mean.
    found = interval([2.0, 4.0, 6.0])

    assert (found.mean, found.least, found.most, found.n) == (4.0, 2.0, 6.0, 3)
    assert found.low == pytest.approx(4 / exp(4.968275 / 4), abs=1e-5)
    assert found.high == pytest.approx(4 * exp(4.968275 / 4), abs=1e-5)


def test_what_can_be_negative_has_an_interval_on_a_linear_scale():
    found = interval([-1.0, 1.0, 3.0])
    assert (found.low, found.high) == (pytest.approx(1 - 4.968275), pytest.approx(1 + 4.968275))


def test_a_part_of_a_whole_has_an_interval_within_it():
    # Mean 0.5: half width 4.30265 * 0.4 / sqrt(3) = 0.993655, so 3.97462 on the scale of log odds.
    found = interval([0.1, 0.5, 0.9], "occupancy.pool.mean")
    assert (found.low, found.high) == (
        pytest.approx(1 / (1 + exp(3.97462))),
        pytest.approx(1 / (1 + exp(-3.97462))),
    )
    assert interval([0.1, 0.5, 0.9], "prefill.recomputation").high > 1
    assert interval([1.0, 1.0, 1.0], "goodput.share")[:3] == (1.0, 1.0, 1.0)
    assert interval([0.0, 0.0, 0.0], "goodput.share")[:3] == (0.0, 0.0, 0.0)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=9))
def test_an_interval_of_numbers_that_are_never_negative_is_not_either(values):
    found = interval(values)
    assert 0 <= found.low <= found.mean <= found.high < inf
    part = interval([value / 1e6 for value in values], "goodput.share")
    assert 0 <= part.low <= part.mean <= part.high <= 1


def test_one_value_has_no_interval_and_none_has_nothing():
    assert interval([3.0]) == (3.0, None, None, 3.0, 3.0, 1)
    assert interval([]) == (None, None, None, None, None, 0)


def test_equal_values_are_known_exactly():
    assert interval([0.1] * 7)[:3] == (0.1, 0.1, 0.1)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 10, 30, 101])
def test_students_t_is_scipys(freedom):
    assert student_t(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)


def run(p50, thin, tier=None):
    return {
        "schema_version": 1,
        "ttft_s": {"n": 2, "p50": p50},
        "thin_percentiles": thin,
        "occupancy": {"cpu_tier": tier},
        "slo": {"ttft_s": 2.0},
        "gpu_hours": 4,
    }


def test_every_number_is_combined_in_its_place():
    runs = [run(1.0, ["ttft_s.p50"]), run(3.0, ["ttft_s.p50", "e2e_s.p99"]), run(None, [])]
    combined = combine([7, 8, 9], runs)

    assert combined["seeds"] == [7, 8, 9]
    assert combined["runs"] == runs
    assert combined["thin_percentiles"] == ["ttft_s.p50", "e2e_s.p99"]
    assert combined["intervals"].keys() == {"ttft_s", "occupancy", "gpu_hours"}
    p50 = combined["intervals"]["ttft_s"]["p50"]
    assert (p50["mean"], p50["n"]) == (2.0, 2)
    assert combined["intervals"]["gpu_hours"]["n"] == 3
    assert combined["intervals"]["occupancy"]["cpu_tier"]["n"] == 0


def test_a_part_that_only_some_runs_have_is_combined_over_those():
    combined = combine([0, 1], [run(1.0, []), run(1.0, [], tier={"mean": 0.5})])

    assert combined["intervals"]["occupancy"]["cpu_tier"]["mean"]["n"] == 1


def test_it_goes_to_json():
    assert '"confidence": 0.95' in to_json(combine([0], [run(1.0, [])]))
