"""Makes what stands beside axes and above panels fit: measured on the figure as it will be drawn."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.text import Text

_TILTED: dict[str, Any] = {"rotation": 40, "rotation_mode": "anchor", "ha": "right"}
_UPRIGHT: dict[str, Any] = {"rotation": 90, "rotation_mode": "anchor", "ha": "right", "va": "center"}
_GAP = 0.04
"""Inches between two labels."""
_TILTED_LINE, _UPRIGHT_LINE = 2.0, 1.3
"""Of the size of letters, what a line of a turned label takes of the axis."""
_NAME_CHARACTERS = (60, 40, 28, 20)
"""Of a name in a legend, in a line: the widest that the figure has room for."""
_MARGIN_INCHES = 0.15


def fit_ticks(figure: "Figure") -> None:
    """Turn names that do not fit beside each other, and leave out numbers that do not fit."""
    figure.draw_without_rendering()
    fitted = [_fit(figure, axis) for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)]
    if any(fitted):
        figure.draw_without_rendering()


def fit_legend(
    figure: "Figure", handles: Sequence[Any], names: Sequence[str], *, title: str, most_columns: int
) -> "Legend":
    """Put a legend above all panels, with as many names in a line as there is room for."""
    room = (figure.get_figwidth() - _MARGIN_INCHES) * figure.dpi
    tries = [(columns, _NAME_CHARACTERS[0]) for columns in range(min(most_columns, len(names)), 1, -1)]
    tries += [(1, characters) for characters in _NAME_CHARACTERS]
    for columns, characters in tries:
        shown = [fill(name, characters) for name in names]
        legend = figure.legend(handles, shown, title=title, loc="outside upper center", ncols=columns)
        if legend.get_window_extent().width <= room:
            break
        if (columns, characters) != tries[-1]:
            legend.remove()
    return legend


def height_inches(figure: "Figure", of: "Legend | Text") -> float:
    """Return how high something above the panels is, with a margin."""
    return of.get_window_extent().height / figure.dpi + _MARGIN_INCHES


def _fit(figure: "Figure", axis: "Axis") -> bool:
    """Make the labels of an axis fit; returns whether anything had to be done."""
    vertical = axis is axis.axes.yaxis
    shown = _shown(axis)
    texts = [label.get_text() for _, label in shown]
    spans = [_span(label, vertical=vertical) for _, label in shown]
    gap = 0 if vertical else _GAP * figure.dpi
    if all(_apart(one, after, gap) for one, after in pairwise(spans)):
        return False
    look: dict[str, Any] = {}
    kept: Sequence[int]
    if vertical or all(map(_is_number, texts)):
        kept = _kept(spans, gap)
    else:
        look, every = _turned(figure, shown, spans)
        kept = range(0, len(texts), every)
    axis.set_ticks(
        [at for at, _ in shown], [text if i in kept else "" for i, text in enumerate(texts)], **look
    )
    return True


def _turned(
    figure: "Figure", shown: "Sequence[tuple[float, Text]]", spans: Sequence[tuple[float, float]]
) -> tuple[dict[str, Any], int]:
    """Return how names below an axis are turned, and the how manieth of them are there."""
    pitch = min(abs(sum(after) - sum(one)) / 2 for one, after in pairwise(spans)) / figure.dpi * 72
    lines = max(label.get_text().count("\n") + 1 for _, label in shown)
    line = lines * float(shown[0][1].get_fontsize())
    if pitch >= _TILTED_LINE * line:
        return _TILTED, 1
    return _UPRIGHT, ceil(_UPRIGHT_LINE * line / pitch)


def _kept(spans: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """Return which labels stay, so that none is near another: the first, the last, what fits between."""
    kept, last = [0], len(spans) - 1
    for place in range(1, last):
        if _apart(spans[kept[-1]], spans[place], gap) and _apart(spans[place], spans[last], gap):
            kept.append(place)
    return [*kept, last] if _apart(spans[kept[-1]], spans[last], gap) else kept


def _shown(axis: "Axis") -> "list[tuple[float, Text]]":
    """Return where the ticks are that have a label, and the labels."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-9 * (high - low)
    return [
        (float(tick.get_loc()), tick.label1)
        for tick in axis.get_major_ticks()
        if tick.label1.get_visible()
        and tick.label1.get_text()
        and low - slack <= tick.get_loc() <= high + slack
    ]


def _span(label: "Text", *, vertical: bool) -> tuple[float, float]:
    box = label.get_window_extent()
    return (box.y0, box.y1) if vertical else (box.x0, box.x1)


def _apart(one: tuple[float, float], other: tuple[float, float], gap: float) -> bool:
    return max(one[0], other[0]) >= min(one[1], other[1]) + gap


def _is_number(text: str) -> bool:
    bare = text.replace("\N{MINUS SIGN}", "").strip("$KMGT%\N{THIN SPACE}").replace(".", "", 1)
    return bare.replace("e", "").replace("+", "").replace("-", "").isdigit()
