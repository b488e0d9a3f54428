"""Rows that wait for several others."""

from array import array
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.workload.row import Row
from sim.workload.rows import Rows
from sim.workload.waits import check_waits, ranks_of_waits


def rows(*sessions: str, waits: dict[int, tuple[int, ...]]) -> Rows:
    made = Rows()
    for line, session in enumerate(sessions, start=1):
        made.append(Row(line, session, None, 0, None, 16, 1, array("Q", [1])))
    for row, others in waits.items():
        made.wait(row, others)
    return made


def test_without_waits_there_are_no_ranks() -> None:
    made = rows("a", "a", "b", waits={})
    assert ranks_of_waits(made) is None
    check_waits(made, Path("t"))


def test_who_waits_comes_behind_whatever_the_order_of_the_file() -> None:
    made = rows("child", "root", "root", "root", waits={0: (1,), 2: (0,)})
    ranks = ranks_of_waits(made)
    assert ranks is not None
    assert sorted(range(4), key=ranks.__getitem__) == [1, 0, 2, 3]
    check_waits(made, Path("t"))


def test_a_circle_is_named_by_its_lines() -> None:
    made = rows("a", "b", "b", "c", waits={1: (2,), 3: (1,)})
    with pytest.raises(
        InputError, match=r"^t: rows wait for each other in a circle: line 2 -> line 3 -> line 2$"
    ):
        check_waits(made, Path("t"))
