import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.workload.distributions import Quantiles

shares = st.floats(1e-9, 1 - 1e-9)
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
