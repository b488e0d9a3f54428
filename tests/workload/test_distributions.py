import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sim.workload.distributions import Below, Burr12, Distribution, Fisk, Lognorm, Quantiles, Weibull

PAIRS = [
    (Lognorm(0.6, 112_000), stats.lognorm(0.6, scale=112_000)),
    (Weibull(0.52, 640), stats.weibull_min(0.52, scale=640)),
    (Burr12(4.24, 0.2785, 122.4), stats.burr12(4.24, 0.2785, scale=122.4)),
    (Fisk(2.39, 137_500), stats.fisk(2.39, scale=137_500)),
]
BELOW = Below(Fisk(2.39, 137_500), 890_000)
shares = st.floats(1e-9, 1 - 1e-9)


@pytest.mark.parametrize(("ours", "scipys"), PAIRS)
@given(u=shares)
def test_quantiles_and_shares_are_scipys(ours: Distribution, scipys: stats.rv_continuous, u: float) -> None:
    x = ours.quantile(u)
    assert x == pytest.approx(scipys.ppf(u), rel=1e-6)
    assert ours.cdf(x) == pytest.approx(scipys.cdf(x), rel=1e-6)


@given(u=shares)
def test_below_is_the_distribution_given_that_it_is_below(u: float) -> None:
    x = BELOW.quantile(u)
    assert 0 < x <= 890_000
    assert BELOW.cdf(x) == pytest.approx(u, rel=1e-6)
    assert x == pytest.approx(stats.fisk(2.39, scale=137_500).ppf(u * BELOW.whole.cdf(890_000)), rel=1e-6)


def test_below_reaches_its_limit_and_no_further() -> None:
    assert BELOW.cdf(890_000) == 1.0
    assert BELOW.cdf(2e6) == 1.0


MEASURED = Quantiles((0.0, 0.5, 0.9, 1.0), (1.0, 100.0, 100.0, 10_000.0))


def test_quantiles_are_straight_lines_in_the_logarithm() -> None:
    assert [MEASURED.quantile(u) for u in (0.0, 0.25, 0.5, 0.7, 0.95, 1.0)] == pytest.approx(
        [1.0, 10.0, 100.0, 100.0, 1_000.0, 10_000.0]
    )
    assert [MEASURED.cdf(x) for x in (0.5, 1.0, 10.0, 100.0, 1_000.0, 10_000.0, 1e6)] == pytest.approx(
        [0.0, 0.0, 0.25, 0.9, 0.95, 1.0, 1.0]
    )


@given(u=shares)
def test_the_share_below_a_measured_quantile_is_its_own_where_values_rise(u: float) -> None:
    rising = Quantiles((0.0, 0.3, 1.0), (2.0, 5.0, 70.0))
    assert rising.cdf(rising.quantile(u)) == pytest.approx(u, rel=1e-9, abs=1e-12)
