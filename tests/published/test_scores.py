"""Whether rows hold."""

from math import inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.published.cells import Cell
from sim.published.scores import distance, score_values
from sim.published.targets import Band, Target
from tests.published.files import target


def scored(row: Target, by_sessions: dict[int, list[float]]) -> tuple[bool, int, float | None]:
    """Whether a row holds, and the place and number that decide."""
    found = score_values(row, lambda cell: by_sessions[cell.level], "made")
    return found.holds, found.deciding.cell.level, found.deciding.median


def test_the_median_run_decides() -> None:
    assert scored(target(), {4: [0.1, 1.5, 99.0]}) == (True, 4, 1.5)
    assert scored(target(), {4: [1.5, 2.5, 2.6]}) == (False, 4, 2.5)


def test_a_range_holds_if_every_place_does() -> None:
    row = target(sessions_max="12")
    assert scored(row, {4: [1.0], 8: [1.5], 12: [2.0]})[0]
    assert scored(row, {4: [1.0], 8: [2.1], 12: [4.0]}) == (False, 12, 4.0)


def test_one_place_is_enough_where_the_row_says_so() -> None:
    row = target(sessions_max="12", holds="any")
    assert scored(row, {4: [9.0], 8: [1.5], 12: [9.0]}) == (True, 8, 1.5)
    assert scored(row, {4: [9.0], 8: [3.0], 12: [9.0]}) == (False, 8, 3.0)


def test_the_size_of_a_difference_counts() -> None:
    row = target(configurations="agg4 1p3d", combine="difference", low="0.1", high="0.4")
    assert scored(row, {4: [-0.3, -0.2, -0.1]}) == (True, 4, -0.2)
    # Runs that differ in sign cancel out: the size is that of the typical difference.
    assert scored(row, {4: [-0.3, 0.0, 0.3]}) == (False, 4, 0.0)


def test_nothing_measured_does_not_hold() -> None:
    found = score_values(target(holds="any"), lambda cell: [], "made")
    assert not found.holds
    assert found.deciding.median is None
    assert found.deciding.share is None
    assert found.deciding.off == inf


def test_shares_and_interval_are_of_single_runs() -> None:
    def values(cell: Cell) -> list[float]:
        return [1.0, 2.0, 3.0, 4.0, 5.0]

    (cell,) = score_values(target(low="2", high="4"), values, "made").cells
    assert cell.share == 0.6
    # 2.5 % and 97.5 % of four steps from 1 to 5.
    assert cell.interval == pytest.approx((1.1, 4.9))


@pytest.mark.parametrize(
    ("value", "band", "expected"),
    [
        (20.0, Band(5.0, 10.0), log(2)),
        (2.5, Band(5.0, 10.0), log(2)),
        (5.0, Band(5.0, 10.0), 0.0),
        (20.0, Band(10.0, None), -log(2)),
        (0.0, Band(5.0, 10.0), 0.5),
        (3.0, Band(-1.5, 1.5), 1.0),
        (0.0, Band(-1.5, 1.5), -1.0),
    ],
)
def test_distance(value: float, band: Band, expected: float) -> None:
    assert distance(value, band) == pytest.approx(expected)


@given(
    st.floats(-100, 100),
    st.floats(0.1, 10),
    st.floats(0, 10),
)
def test_a_number_is_in_a_band_exactly_if_it_is_not_off(value: float, low: float, wider: float) -> None:
    band = Band(low, low + wider)
    assert band.holds(value) == (distance(value, band) <= 0)
