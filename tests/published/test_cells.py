"""Where a row is looked at, and how its number is made of those of runs."""

import pytest

from sim.published.cells import Cell, Point, cells, points
from tests.published.files import target


def test_a_row_of_each_configuration() -> None:
    row = target(configurations="1p3d 2p6d", sessions_min="20", sessions_max="24", **{"except": "1p3d@24"})
    assert [(cell.label, cell.level) for cell in cells(row)] == [("1p3d", 20), ("2p6d", 20), ("2p6d", 24)]


def test_a_pair_is_a_cell_of_two_runs() -> None:
    row = target(configurations="agg4 1p3d", combine="difference", sessions_max="8")
    assert list(cells(row)) == [
        Cell(
            "1p3d-agg4",
            sessions,
            (Point("agg4", sessions, "max-concurrency"), Point("1p3d", sessions, "max-concurrency")),
        )
        for sessions in (4, 8)
    ]
    ratio = target(configurations="agg4 1p3d", combine="ratio")
    assert [cell.label for cell in cells(ratio)] == ["agg4/1p3d"]


def test_two_replays_of_one_configuration() -> None:
    row = target(combine="open-loop less turn-dependent", replay="open-loop")
    (cell,) = cells(row)
    assert [point.replay for point in cell.points] == ["open-loop", "turn-dependent"]


@pytest.mark.parametrize(
    ("columns", "numbers", "value"),
    [
        ({}, [1.5], 1.5),
        ({"unit": "ms"}, [0.0125], 12.5),
        ({"combine": "difference", "configurations": "agg4 1p3d", "unit": "ms"}, [0.020, 0.025], 5.0),
        ({"combine": "ratio", "configurations": "agg8 2p6d", "unit": "ratio"}, [6.0, 1.5], 4.0),
        ({"combine": "ratio", "configurations": "agg8 2p6d", "unit": "ratio"}, [6.0, 0.0], None),
        ({"combine": "open-loop less turn-dependent"}, [2.75, 0.5], 2.25),
        ({"combine": "difference", "configurations": "agg4 1p3d"}, [1.0, None], None),
    ],
)
def test_a_cells_number(columns: dict[str, str], numbers: list[float | None], value: float | None) -> None:
    row = target(**columns)
    (cell,) = cells(row)
    found = cell.value(row, [{"ttft_s.p50": number} for number in numbers])
    assert found == pytest.approx(value)


def test_rows_share_runs() -> None:
    rows = [
        target(id="one", configurations="agg4", sessions_max="8"),
        target(id="two", configurations="agg4 1p3d", combine="difference", sessions_max="8"),
    ]
    assert len(points(rows)) == 4
