"""Straight lines through what runs gave."""

from math import log

import pytest

from sim.published.surface import line
from tests.published.files import target


def test_what_was_seen_above_0_is_taken_by_factors() -> None:
    # One coefficient doubles the number with every standard deviation, the other does nothing.
    found = line(target(), 4.0, [(-1.0, 1.0, 2.0, 8.0), (-1.0, 1.0, 4.0, 4.0)])
    assert found.slopes == pytest.approx((log(2), 0.0))
    # The band ends at 2: 4 is ln 2 above, 8 ln 4, and 2 is on the edge.
    assert [found.off((move, 5.0)) for move in (0.0, 1.0, -1.0)] == pytest.approx([log(2), log(4), 0.0])


def test_what_changes_its_sign_is_taken_by_amounts() -> None:
    row = target(combine="difference", configurations="agg4 1p3d", low="-1.5", high="1.5")
    found = line(row, 1.0, [(-1.0, 1.0, -1.0, 3.0)])
    # 1 + 2 at one, 1 - 4 at minus two: 3 either way, by its size.
    assert found.off((1.0,)) == found.off((-2.0,)) == pytest.approx(1.0)


def test_a_coefficient_at_the_end_of_its_range_has_one_side() -> None:
    assert line(target(), 4.0, [(0.0, 1.0, 4.0, 8.0)]).slopes == pytest.approx((log(2),))
    assert line(target(), 4.0, [(0.0, 0.0, 4.0, 4.0)]).slopes == (0.0,)
