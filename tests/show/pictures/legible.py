"""What every picture keeps: no text on another, none beyond the edge, none too small, at 1x and 2x."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

from sim.show.pictures.style import style

LEAST_POINTS = 8
_TOUCH = 0.015
"""Inches by which boxes may run into each other: they are a little larger than the letters in them."""


def problems(figure: Figure, dpi: float = 100) -> list[str]:
    """Return what cannot be read, in words."""
    with style():
        before = figure.dpi
        figure.dpi = dpi
        found = [f"at {dpi:g} dpi: {one}" for one in _problems(figure, dpi)]
        figure.dpi = before
    return found


def assert_legible(figure: Figure, dpi: float = 100) -> None:
    """Fail with all that cannot be read."""
    assert not (found := problems(figure, dpi)), "\n".join(found)


def _problems(figure: Figure, dpi: float) -> Iterator[str]:
    canvas = FigureCanvasAgg(figure)
    with _drawn() as texts:
        figure.draw_without_rendering()
    boxes = {text: _box(text, canvas.get_renderer(), _TOUCH * dpi) for text in dict.fromkeys(texts)}
    size = np.array([figure.bbox.width, figure.bbox.height])
    for text, box in boxes.items():
        if (box < 0).any() or (box > size).any():
            yield f"{text.get_text()!r} leaves the figure"
        if text.get_fontsize() < LEAST_POINTS:
            yield f"{text.get_text()!r} has {text.get_fontsize():g} points"
    for (one, its), (other, others) in combinations(boxes.items(), 2):
        if _overlap(its, others):
            yield f"{one.get_text()!r} lies on {other.get_text()!r}"


@contextmanager
def _drawn() -> Iterator[list[Text]]:
    """Collect the texts that a figure draws: those of hidden ticks are none of them."""
    texts: list[Text] = []
    draw = Text.draw

    def noted(text: Text, *args: Any, **options: Any) -> None:
        if text.get_visible() and text.get_text().strip("\u200b \n"):
            texts.append(text)
        draw(text, *args, **options)

    Text.draw = noted  # type: ignore[method-assign]
    try:
        yield texts
    finally:
        Text.draw = draw  # type: ignore[method-assign]


def _box(text: Text, renderer: Any, touch: float) -> NDArray[np.float64]:
    """Return the corners of a text, turned as it is; an annotation's arrow is not part of it."""
    turned = Text.get_window_extent(text, renderer)
    angle = text.get_rotation()
    flat = turned
    if angle % 90:
        text.set_rotation(0)
        flat = Text.get_window_extent(text, renderer)
        text.set_rotation(angle)
    centre = np.array([turned.x0 + turned.x1, turned.y0 + turned.y1]) / 2
    half = np.maximum(np.array([flat.width, flat.height]) / 2 - touch, 0)
    radians = np.deg2rad(angle if angle % 90 else 0)
    turn = np.array([[np.cos(radians), -np.sin(radians)], [np.sin(radians), np.cos(radians)]])
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
    box: NDArray[np.float64] = centre + corners @ turn.T
    return box


def _overlap(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Whether two rectangles have points in common: unless a side of either parts them."""
    for box in (one, other):
        for side in (box[1] - box[0], box[3] - box[0]):
            along = np.array([-side[1], side[0]])
            for axis in (side, along):
                if not axis.any():
                    continue
                its, others = one @ axis, other @ axis
                if its.max() <= others.min() or others.max() <= its.min():
                    return False
    return True
