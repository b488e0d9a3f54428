import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sim.workload.distributions import Below, Burr12, Distribution, Fisk, Lognorm, Weibull

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
