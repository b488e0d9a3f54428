"""Rows that need no run."""

import pytest

from sim.published.static import score_static
from sim.published.targets import Target, read_targets, shipped_targets
from tests.published.files import target

STATIC = read_targets(shipped_targets()).of_kind("static")


@pytest.mark.parametrize("row", STATIC, ids=[row.id for row in STATIC])
@pytest.mark.slow
def test_every_static_row_of_the_talk_holds(row: Target) -> None:
    found = score_static(row)
    assert found.holds, found


def test_the_costs_of_the_slide() -> None:
    # A: 20 + 100 - 70 to prefill, 15 + 5 active. B: 0 + 100 - 20, 8 + 2.
    costs = {row.id: score_static(row).value for row in STATIC}
    assert costs["cost_a"] == 50 + 20
    assert costs["cost_b"] == 80 + 10


def test_one_set_of_sessions_is_not_the_next() -> None:
    (row,) = (row for row in STATIC if row.id == "ctx")
    found = score_static(row)
    assert found.value is not None
    assert found.interval is not None
    low, high = found.interval
    assert low < found.value < high


def test_a_number_that_nobody_knows_does_not_hold() -> None:
    found = score_static(target(kind="static", metric="price"))
    assert found.value is None
    assert not found.holds
