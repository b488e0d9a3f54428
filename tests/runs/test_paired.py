"""Differences and ratios of runs with the same seeds."""

from math import exp, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.runs.paired import (
    Estimate,
    bootstrap_difference,
    difference,
    drawn_difference,
    drawn_ratio,
    ratio,
)

positive = st.floats(0.01, 1000)
pairs = st.lists(st.tuples(positive, positive), min_size=3, max_size=8)
T2 = 4.302652729696142  # Student's t for two degrees of freedom


def columns(pairs):
    return [a for a, _ in pairs], [b for _, b in pairs]


def test_a_difference_by_hand():
    # Differences 1, 2, 3: mean 2, standard deviation 1.
    found = difference([10.0, 20.0, 30.0], [11.0, 22.0, 33.0])

    assert (found.value, found.n) == (2.0, 3)
    assert found.low == pytest.approx(2 - T2 / sqrt(3))
    assert found.high == pytest.approx(2 + T2 / sqrt(3))


@pytest.mark.parametrize("away", [difference, drawn_difference, bootstrap_difference])
def test_what_rounding_leaves_is_no_difference(away):
    first = [0.0185, 0.0192, 0.0201]
    assert away(first, [value * (1 + 4e-13) for value in first]) == Estimate(0.0, 0.0, 0.0, 3)
    assert away(first, [value * (1 + 1e-6) for value in first]).value == pytest.approx(1.92e-8, rel=0.01)


@pytest.mark.parametrize("over", [ratio, drawn_ratio])
def test_what_rounding_leaves_is_a_ratio_of_one(over):
    first = [0.0185, 0.0192, 0.0201]
    assert over(first, [value * (1 + 4e-13) for value in first]) == Estimate(1.0, 1.0, 1.0, 3)


def test_a_ratio_by_hand():
    # r = 33 / 30; other - r first is -0.5, 1, -0.5: variance 0.75, that of its mean 0.25; mean(first) is 10.
    found = ratio([5.0, 10.0, 15.0], [5.0, 12.0, 16.0])
    width = exp(T2 * 0.5 / 10 / 1.1)

    assert (found.value, found.n) == (pytest.approx(1.1), 3)
    assert found.high == pytest.approx(1.1 * width)
    assert found.low == pytest.approx(1.1 / width)


@given(pairs)
def test_a_ratio_of_positive_numbers_is_positive(pairs):
    found = ratio(*columns(pairs))
    assert 0 < found.low <= found.value <= found.high


def test_a_ratio_of_numbers_of_either_sign_can_be_negative():
    assert ratio([1.0, 2.0, 3.0], [-1.0, 5.0, 1.0]).low < 0


@given(pairs, st.floats(0.1, 10))
def test_pairs_of_one_ratio_leave_no_doubt_about_it(pairs, factor):
    first, _ = columns(pairs)
    found = ratio(first, [factor * value for value in first])

    assert found.value == pytest.approx(factor)
    assert found.high - found.low == pytest.approx(0, abs=1e-9 * factor)


@given(pairs)
def test_the_other_way_round(pairs):
    first, other = columns(pairs)
    there, back = difference(first, other), difference(other, first)

    assert back.value == -there.value
    assert (back.low, back.high) == (-there.high, -there.low)
    assert ratio(other, first).value == pytest.approx(1 / ratio(first, other).value)


@given(pairs, st.floats(-1000, 1000))
def test_what_all_seeds_share_cancels_out(pairs, shift):
    first, other = columns(pairs)
    found = difference(first, other)
    shifted = difference([a + shift for a in first], [b + shift for b in other])

    assert shifted.value == pytest.approx(found.value, abs=1e-6)
    assert shifted.high == pytest.approx(found.high, abs=1e-6)


def test_two_pairs_have_no_interval_and_none_have_nothing():
    assert difference([1.0, 2.0], [2.0, 4.0]) == (1.5, None, None, 2)
    assert ratio([1.0, 2.0], [2.0, 4.0]) == (2.0, None, None, 2)
    assert difference([], []) == ratio([], []) == (None, None, None, 0)


def test_there_is_no_ratio_to_nothing():
    assert ratio([0.0, 0.0, 0.0], [1.0, 2.0, 3.0]) == (None, None, None, 3)
    assert ratio([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]) == (0.0, 0.0, 0.0, 3)


@pytest.mark.parametrize(
    ("low", "high", "outside"), [(1.0, 2.0, True), (-1.0, 2.0, False), (0.0, 2.0, False), (None, None, False)]
)
def test_an_interval_that_leaves_zero_out(low, high, outside):
    assert Estimate(1.5, low, high, 3).excludes(0.0) is outside


def test_differences_and_ratios_of_draws_are_those_of_the_pairs() -> None:
    first, other = [1.0, 2.0, 4.0], [2.0, 5.0, 4.0]
    assert drawn_difference(first, other)[0] == 1.0  # of 1, 3, 0
    assert drawn_ratio(first, other)[0] == 2.0  # of 2, 2.5, 1
    assert drawn_ratio([0.0, 1.0], [1.0, 1.0]) == Estimate(None, None, None, 2)
    slower = drawn_difference([10.0, 50.0], [11.0, 51.0])
    assert (slower[:3], slower.excludes(0.0)) == ((1.0, 1.0, 1.0), True)
