"""Bands of draws: percentiles of what was drawn, which do not narrow with the number of draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.runs.bands import Band, band
from sim.runs.intervals import combine
from sim.runs.paired import Estimate, drawn_difference, drawn_ratio


def test_a_band_by_hand() -> None:
    # Of 0 to 40 the 2.5th percentile is the second number.
    assert band([float(value) for value in reversed(range(41))]) == Band(20.0, 1.0, 39.0, 0.0, 40.0, 41)
    assert band([3.0, 1.0]) == Band(2.0, pytest.approx(1.05), pytest.approx(2.95), 1.0, 3.0, 2)
    assert band([3.0]) == Band(3.0, None, None, 3.0, 3.0, 1)
    assert band([]) == Band(None, None, None, None, None, 0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2))
def test_percentiles_are_those_of_numpy(values: list[float]) -> None:
    low, median, high = np.percentile(values, [2.5, 50, 97.5])
    assert band(values)[:3] == pytest.approx((median, low, high), rel=1e-9, abs=1e-6)


def test_more_of_the_same_draws_leave_a_band_as_it_is() -> None:
    values = [float(value) for value in range(201)]
    assert band(values * 10)[:3] == pytest.approx(band(values)[:3], abs=0.5)


def test_differences_and_ratios_are_those_of_the_pairs() -> None:
    first, other = [1.0, 2.0, 4.0], [2.0, 5.0, 4.0]
    assert drawn_difference(first, other)[0] == 1.0  # of 1, 3, 0
    assert drawn_ratio(first, other)[0] == 2.0  # of 2, 2.5, 1
    assert drawn_ratio([0.0, 1.0], [1.0, 1.0]) == Estimate(None, None, None, 2)
    slower = drawn_difference([10.0, 50.0], [11.0, 51.0])
    assert (slower[:3], slower.excludes(0.0)) == ((1.0, 1.0, 1.0), True)


def test_summaries_of_draws_are_combined_to_bands() -> None:
    runs = [
        {"schema_version": 1, "ttft_s": {"p50": value}, "thin_percentiles": []} for value in (1.0, 3.0, 2.0)
    ]
    combined = combine([0], runs, [1, 2, 3])
    assert combined["bands"]["ttft_s"]["p50"] == band([1.0, 2.0, 3.0])._asdict()
    assert (combined["draws"], combined["coverage"]) == ([1, 2, 3], 0.95)
    assert "intervals" not in combined
    assert "confidence" not in combined
