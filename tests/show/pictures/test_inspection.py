"""Axes of the plots of `sim trace inspect`, where there is little to draw."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sim.show.pictures.inspection import _by_turn
from sim.show.pictures.ticks import whole


def test_one_turn_has_one_tick() -> None:
    panel = Figure().add_subplot()
    panel.plot([1], [0.5], marker="o")
    whole(panel.xaxis)
    left, right = panel.get_xlim()
    assert [tick for tick in panel.get_xticks() if left <= tick <= right] == [1]


def turns_drawn(*turns_of_sessions: int) -> list[float]:
    walked: Any = SimpleNamespace(turn=np.concatenate([np.arange(n) for n in turns_of_sessions]))
    return _by_turn(walked, len)[0]


def test_turns_that_few_sessions_come_to_are_drawn_where_they_are_most_of_the_requests() -> None:
    """Five sessions are enough for a turn; of 6 + 5 x 3 requests 3 lie beyond, of 30 + 5 x 2 there are 28."""
    assert turns_drawn(6, 3, 3, 3, 3, 3) == [1, 2, 3]
    assert turns_drawn(30, 2, 2, 2, 2, 2) == [*range(1, 31)]
