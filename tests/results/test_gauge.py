import pytest

from sim.results.gauge import Gauge, occupancy


def test_mean_over_time_and_maximum_by_hand():
    first, second = Gauge(), Gauge()
    first.set(6, 2.0)
    first.set(2, 3.0)
    second.set(10, 9.0)

    # Blocks times seconds: 6 + 2 * 7, and 10 * 1; two workers of 10 blocks for 10 s.
    assert occupancy([first, second], 10, 10.0) == ((20 + 10) / 200, 1.0)


def test_a_level_told_again_changes_no_bit():
    often, once = Gauge(), Gauge()
    for step in range(1, 1000):
        often.set(3 if step < 500 else 7, step * 0.1)
    once.set(3, 0.1)
    once.set(7, 500 * 0.1)

    assert often.area(123.4) == once.area(123.4)


def test_a_level_that_was_there_for_no_time_counts_for_the_maximum_only():
    gauge = Gauge()
    gauge.set(8, 1.0)
    gauge.set(0, 1.0)

    assert occupancy([gauge], 16, 2.0) == (0.0, 0.5)


def test_without_time_there_is_no_mean():
    assert occupancy([Gauge(4)], 8, 0.0) == (None, 0.5)


def test_a_gauge_may_start_later_and_above_zero():
    assert Gauge(4, now_s=5.0).area(7.0) == pytest.approx(8.0)
