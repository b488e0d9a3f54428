"""One number over several runs: intervals narrow with their number, bands do not."""

from math import exp, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sim.runs.spread import Spread, band, interval, student_t


def test_an_interval_by_hand():
    # Mean 4, standard deviation 2, t(2) = 4.30265: half width 4.30265 * 2 / sqrt(3), 1.24207 of the mean.
    found = interval([2.0, 4.0, 6.0])

    assert (found.middle, found.least, found.most, found.n) == (4.0, 2.0, 6.0, 3)
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
    assert 0 <= found.low <= found.middle <= found.high < inf
    part = interval([value / 1e6 for value in values], "goodput.share")
    assert 0 <= part.low <= part.middle <= part.high <= 1


def test_one_value_has_no_interval_and_none_has_nothing():
    assert interval([3.0]) == (3.0, None, None, 3.0, 3.0, 1)
    assert interval([]) == (None, None, None, None, None, 0)


def test_equal_values_are_known_exactly():
    assert interval([0.1] * 7)[:3] == (0.1, 0.1, 0.1)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 10, 30, 101])
def test_students_t_is_scipys(freedom):
    assert student_t(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)


def test_a_band_by_hand() -> None:
    # Of 0 to 40 the 2.5th percentile is the second number.
    assert band([float(value) for value in reversed(range(41))]) == Spread(20.0, 1.0, 39.0, 0.0, 40.0, 41)
    assert band([3.0, 1.0]) == Spread(2.0, pytest.approx(1.05), pytest.approx(2.95), 1.0, 3.0, 2)
    assert band([3.0]) == Spread(3.0, None, None, 3.0, 3.0, 1)
    assert band([]) == Spread(None, None, None, None, None, 0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2))
def test_percentiles_are_those_of_numpy(values: list[float]) -> None:
    low, median, high = np.percentile(values, [2.5, 50, 97.5])
    assert band(values)[:3] == pytest.approx((median, low, high), rel=1e-9, abs=1e-6)


def test_more_of_the_same_draws_leave_a_band_as_it_is() -> None:
    values = [float(value) for value in range(201)]
    assert band(values * 10)[:3] == pytest.approx(band(values)[:3], abs=0.5)
