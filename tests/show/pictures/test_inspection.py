"""Axes of the plots of `sim trace inspect`, where there is little to draw."""

from matplotlib.figure import Figure

from sim.show.pictures.inspection import _whole_ticks


def test_one_turn_has_one_tick() -> None:
    panel = Figure().add_subplot()
    panel.plot([1], [0.5], marker="o")
    _whole_ticks(panel)
    left, right = panel.get_xlim()
    assert [tick for tick in panel.get_xticks() if left <= tick <= right] == [1]
