"""Columns that few rows have a value for."""

from math import isnan, nan

from sim.workload.columns import Shared, Sparse


def test_rows_without_a_value_have_the_default() -> None:
    column = Sparse(nan)
    assert len(column) == 0
    assert isnan(column.get(7))
    column.put(2, 5)
    assert [isnan(column.get(row)) for row in range(4)] == [True, True, False, True]
    assert (column.get(2), len(column)) == (5.0, 3)
    column.put(0, 1)
    assert column.get(0) == 1.0


def test_names_are_kept_once() -> None:
    column: Shared[str] = Shared()
    for row, name in ((1, "a"), (2, "b"), (4, "a")):
        column.put(row, name)
    assert [column.get(row) for row in range(6)] == [None, "a", "b", None, "a", None]
