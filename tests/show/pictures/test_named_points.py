"""Names on points."""

from itertools import combinations
from math import nan

from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sim.show.pictures.named_points import name_points

PLACE = st.tuples(st.floats(0, 1), st.floats(0, 1))


def panel() -> Axes:
    figure = Figure(figsize=(3, 3))
    axes = figure.subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    figure.draw_without_rendering()
    return axes


@settings(max_examples=15, deadline=None)
@given(st.lists(PLACE, max_size=12))
def test_no_name_lies_on_another_one_or_outside(places: list[tuple[float, float]]) -> None:
    axes = panel()
    name_points(axes, [(f"{number}P{number}D", place) for number, place in enumerate(places)])
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1 for box in boxes)


def test_the_first_has_room_and_what_has_no_place_has_no_name() -> None:
    axes = panel()
    name_points(axes, [("first", (0.5, 0.5)), ("nowhere", (nan, 0.5)), ("second", (0.1, 0.9))])
    assert [text.get_text() for text in axes.texts] == ["first", "second"]
    crowd = panel()
    name_points(crowd, [(f"number {number}", (0.5, 0.5)) for number in range(30)])
    assert 1 <= len(crowd.texts) < 30
