"""Draws lie in their range, are spread as the module says, and depend on their own name and number alone."""

from statistics import NormalDist, fmean, median, quantiles
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from sim.base.settings import Settings
from sim.base.uncertainty import Range, Uncertain, draw_defaults
from sim.base.uniform import uniform

times = st.floats(0, 1e3, allow_subnormal=False)
DRAWS = range(1, 2001)


@given(
    ends=st.tuples(times, times, times).map(sorted), sigma=st.none() | st.floats(1e-9, 1e3), k=st.integers(1)
)
def test_a_draw_lies_in_its_range(ends: list[float], sigma: float | None, k: int) -> None:
    low, value, high = ends
    assert low <= Uncertain(value, low, high, sigma).drawn("x", k) <= high


def test_the_value_is_the_median_and_each_half_is_even_by_factors() -> None:
    known = Uncertain(2.0, 1.0, 32.0)
    for k in range(1, 50):
        u = uniform(k, "uncertain x", 0)
        expected = 2 ** (2 * u) if u < 0.5 else 2 * 16 ** (2 * u - 1)
        assert known.drawn("x", k) == pytest.approx(expected, rel=1e-12)
    assert median(known.drawn("x", k) for k in DRAWS) == pytest.approx(2.0, rel=0.1)


def test_a_half_that_starts_at_nothing_is_even_by_amounts() -> None:
    known = Uncertain(2.0, 0.0, 32.0)
    low = [drawn for drawn in (known.drawn("x", k) for k in DRAWS) if drawn < 2]
    assert fmean(low) == pytest.approx(1.0, rel=0.05)
    at_the_edge = Uncertain(0.0, 0.0, 3.0)
    assert [at_the_edge.drawn("x", k) > 0 for k in DRAWS] == [
        uniform(k, "uncertain x", 0) > 0.5 for k in DRAWS
    ]


def test_with_a_standard_deviation_it_is_a_normal_cut_off_at_the_range() -> None:
    wide = [Uncertain(10.0, 0.0, 20.0, 1.0).drawn("x", k) for k in DRAWS]
    expected = NormalDist(10, 1).quantiles(20)
    assert quantiles(wide, n=20) == pytest.approx(expected, abs=0.12)
    # Above the mean only: half of a normal, whose mean is sqrt(2 / pi) standard deviations away.
    cut = [Uncertain(10.0, 10.0, 20.0, 1.0).drawn("x", k) for k in DRAWS]
    assert fmean(cut) == pytest.approx(10 + (2 / 3.14159) ** 0.5, abs=0.03)
    assert min(cut) >= 10


def test_draws_of_different_names_are_independent_and_of_one_name_the_same() -> None:
    known = Uncertain(1.0, 0.0, 2.0)
    left, right = ([known.drawn(name, k) for k in DRAWS] for name in ("left", "right"))
    assert left == [known.drawn("left", k) for k in DRAWS]
    above = [(a > 1, b > 1) for a, b in zip(left, right, strict=True)]
    for both in ((True, True), (True, False), (False, True), (False, False)):
        assert above.count(both) == pytest.approx(500, abs=80)


class Link(Settings):
    rate: Annotated[float, Range(5.0, 20.0)] = Field(default=10.0, gt=0)
    delay: Annotated[float, Range(1.0, 3.0, sigma=0.5)] = 2.0
    pieces: int = 3


def test_only_defaults_of_which_something_is_known_are_drawn() -> None:
    drawn = draw_defaults(Link(), "link", 7)
    assert drawn == Link(
        rate=Uncertain(10, 5, 20).drawn("link.rate", 7),
        delay=Uncertain(2, 1, 3, 0.5).drawn("link.delay", 7),
    )
    assert draw_defaults(Link(rate=11), "link", 7) == Link(rate=11, delay=drawn.delay)
