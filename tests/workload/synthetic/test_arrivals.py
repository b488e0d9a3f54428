from itertools import pairwise
from statistics import fmean

import pytest

from sim.workload.synthetic.arrivals import arrivals
from sim.workload.synthetic.draws import Draws, SecondShares, TokenShares

DRAWS = Draws("test", 0)


def test_even_gaps_are_all_the_same_and_the_first_comes_after_one() -> None:
    assert arrivals(DRAWS, 4, 2.0, "even") == [0.5, 1.0, 1.5, 2.0]


def test_poisson_gaps_have_mean_and_variance_of_an_exponential() -> None:
    times = arrivals(DRAWS, 20_000, 4.0, "poisson")
    gaps = [after - before for before, after in pairwise([0.0, *times])]
    assert fmean(gaps) == pytest.approx(0.25, rel=0.02)
    assert fmean(gap**2 for gap in gaps) == pytest.approx(2 * 0.25**2, rel=0.05)


def test_scaled_gaps_are_the_same_but_for_a_factor_and_end_where_the_rate_says() -> None:
    plain, scaled = (arrivals(DRAWS, 50, 4.0, how) for how in ("poisson", "scaled-poisson"))
    assert scaled[-1] == pytest.approx(12.5, abs=1e-12)
    assert scaled == pytest.approx([time * 12.5 / plain[-1] for time in plain])


def test_a_later_stage_has_gaps_of_its_own() -> None:
    assert arrivals(DRAWS, 5, 1.0, "poisson", first=5) != arrivals(DRAWS, 5, 1.0, "poisson")


def test_lengths_are_one_number_evenly_drawn_or_by_shares() -> None:
    assert DRAWS.tokens(7, "a", 0) == 7
    assert DRAWS.tokens(0, "a", 0) == 1
    assert {DRAWS.tokens((3, 5), "a", n) for n in range(100)} == {3, 4, 5}
    shares = TokenShares(shares=(0, 0.5, 1), tokens=(10, 100, 1000))
    drawn = sorted(DRAWS.tokens(shares, "a", n) for n in range(1001))
    assert drawn[500] == pytest.approx(100, rel=0.15)
    assert drawn[250] == pytest.approx(10**1.5, rel=0.15)


def test_times_likewise() -> None:
    assert DRAWS.seconds(0.5, "a", 0) == 0.5
    assert all(2.0 <= DRAWS.seconds((3.0, 2.0), "a", n) <= 3.0 for n in range(50))
    assert 1 <= DRAWS.seconds(SecondShares(shares=(0, 1), seconds=(1, 9)), "a", 0) <= 9


@pytest.mark.parametrize(
    ("shares", "tokens", "why"),
    [
        ((0, 0.5), (1, 2), "rise from 0 to 1"),
        ((0, 0.7, 0.6, 1), (1, 2, 3, 4), "rise from 0 to 1"),
        ((0, 1), (1, 2, 3), "as many numbers as shares"),
        ((0, 1), (0, 2), "above 0"),
        ((0, 1), (3, 2), "none below"),
    ],
)
def test_shares_that_make_no_sense_are_refused(
    shares: tuple[float, ...], tokens: tuple[int, ...], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        TokenShares(shares=shares, tokens=tokens)


def test_an_order_is_a_permutation_that_hangs_on_purpose() -> None:
    assert sorted(DRAWS.order(20, "a")) == list(range(20))
    assert DRAWS.order(20, "a") != DRAWS.order(20, "b")
