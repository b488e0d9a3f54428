"""Dense layers by a table: by hand, between and beyond its knots, and as any other law."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sim.hardware.dense_table import DenseCurve, DenseTable
from sim.hardware.step_time import StepCoefficients, StepLaw, smooth_max
from tests.hardware.step_law_contract import StepLawContract

FLAT = StepCoefficients(
    t_floor_s=2.0, c_tok_s_per_token=0.0, smooth_max_p=2, a_pair_s=0.25, c_kv_s_per_token=0.125
)
TABLE = DenseTable(tokens=(1, 2, 10), prefill=(2.0, 2.5, 5.0), decode=(1.0, 1.5, 4.0))


def test_times_lie_on_straight_lines_between_knots() -> None:
    law = StepLaw(FLAT, TABLE)
    # Decodes alone: 2 s at 1, 3 at 2, 8 at 10 tokens; with prefill 4, 5 and 10.
    assert [law.step_s([], batch, 0) for batch in (1, 2, 6, 10)] == [2.0, 3.0, 5.5, 8.0]
    # 6 tokens (4 + 2 decodes), pairs 4 x (10 + 2), contexts 40.
    assert law.step_s([(4, 10)], 2, 40) == 7.5 + 48 * 0.25 + 40 * 0.125
    assert law.decode_s(6, 8, 3).tolist() == [5.5 + 0.125 * context for context in (8, 14, 20)]


def test_beyond_the_last_knot_its_factor_holds() -> None:
    of = FLAT.model_copy(update={"c_tok_s_per_token": 1.0})
    law = StepLaw(of, TABLE)
    assert law.step_s([], 100, 0) == pytest.approx(4.0 * smooth_max(2.0, 100.0, 2), rel=1e-15)
    assert law.step_s([(100, 0)], 0, 0) == pytest.approx(
        5.0 * smooth_max(2.0, 100.0, 2) + 0.25 * 5000, rel=1e-15
    )


def test_a_coefficient_moves_the_table_with_it() -> None:
    twice = FLAT.model_copy(update={"t_floor_s": 4.0})
    for batch in (1, 3, 10, 50):
        assert StepLaw(twice, TABLE).step_s([], batch, 0) == 2 * StepLaw(FLAT, TABLE).step_s([], batch, 0)


def test_a_table_that_falls_is_raised() -> None:
    """Measured times wobble, and a step with prefill does all that one without does."""
    law = StepLaw(FLAT, DenseTable(tokens=(1, 2, 4), prefill=(1.0, 3.0, 2.0), decode=(2.0, 1.5, 1.0)))
    assert [law.step_s([], batch, 0) for batch in (1, 2, 4)] == [4.0, 4.0, 4.0]
    no_pairs = law.step_s([(1, 0)], 0, 0) - 0.125
    assert no_pairs == 4.0
    assert law.step_s([(4, 0)], 0, 0) - 2.0 == 6.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": (2, 3, 10)}, "ascend from 1"),
        ({"tokens": (1, 3, 3)}, "ascend from 1"),
        ({"decode": (1.0, 2.0)}, "3 tokens need as many factors, not 3 of prefill and 2 of decode"),
        ({"prefill": (1.0, 0.0, 2.0)}, "greater than 0"),
        ({"tokens": (), "prefill": (), "decode": ()}, "at least 1"),
    ],
)
def test_tables_that_cannot_be_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        DenseTable.model_validate(TABLE.model_dump() | change)


factors = st.floats(0.1, 10)
tables = st.integers(1, 6).flatmap(
    lambda n: st.builds(
        lambda knots, prefill, decode: DenseTable(
            tokens=(1, *sorted(knots)), prefill=tuple(prefill), decode=tuple(decode)
        ),
        st.sets(st.integers(2, 20_000), min_size=n - 1, max_size=n - 1),
        st.lists(factors, min_size=n, max_size=n),
        st.lists(factors, min_size=n, max_size=n),
    )
)


@given(table=tables)
def test_knots_are_met_and_nothing_falls(table: DenseTable) -> None:
    curve = DenseCurve(table.tokens, table.prefill, lambda tokens: 1.0 + tokens)
    highest = 0.0
    for tokens, factor in zip(table.tokens, table.prefill, strict=True):
        highest = max(highest, factor * (1.0 + tokens))
        assert curve.time_s(tokens) == highest
    times = [curve.time_s(tokens) for tokens in range(1, 200)]
    assert all(low <= high * (1 + 1e-12) for low, high in pairwise(times))


class TestContract(StepLawContract):
    laws = st.builds(
        lambda values, table: StepLaw(
            StepCoefficients(**dict(zip(StepCoefficients.model_fields, values, strict=True))), table
        ),
        st.tuples(
            st.floats(1e-4, 0.1),
            st.floats(1e-7, 1e-3),
            st.integers(1, 256),
            st.floats(1, 6),
            *[st.floats(0, 1e-8)] * 3,
            *[st.floats(0, 0.01)] * 4,
        ),
        tables,
    )
