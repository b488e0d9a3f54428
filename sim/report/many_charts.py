"""A chart a number: over a swept key where that is a number, else a line a point."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from sim.report.chart import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Chart, Drawing
from sim.report.many import Many, Shown
from sim.report.scales import Scale, Written, count_tick, percent_tick, spanning, time_tick
from sim.results.quantities import SECONDS, SHARE, label, unit
from sim.runs.paired import LEAST_PAIRS

MOST_LINES = 24
_HEIGHT = 190.0
_PITCH = 16.0
_FEWEST_VALUES = 3
_STYLES = ("level first", "level second", "level third", "level fourth")


class Series(NamedTuple):
    """Rows that differ in one key alone, joined by a line where there are few such lines."""

    name: str
    """What they have in common: "workload.sessions=4"."""
    style: str
    rows: list[int]
    """By their numbers, along the key."""


def number_charts(found: Many) -> list[Chart]:
    """Return a chart for each number that any point has."""
    key = numeric_key(found)
    charts = []
    for place, metric in enumerate(found.metrics):
        points = [point for point in found.points if point.values[place].middle is not None]
        if points and key is None:
            charts.append(_lines(place, metric, points))
        elif points and key is not None:
            charts.append(_over(place, metric, points, key, found))
    return charts


def series(found: Many) -> list[Series]:
    """Return the lines of charts over a key; none if rows would make more lines than there are styles."""
    key = numeric_key(found)
    if key is None:
        return []
    column = found.settings.index(key)
    rows: dict[str, list[int]] = {}
    for point in sorted(found.points, key=lambda point: float(point.cells[column])):
        rest = [(name, point.cells[place]) for place, name in enumerate(found.settings) if place != column]
        name = ", ".join(text if name == "scenario" else f"{name}={text}" for name, text in rest)
        rows.setdefault(name, []).append(point.number)
    if len(rows) > len(_STYLES):
        return []
    return [Series(name, style, rows[name]) for name, style in zip(rows, _STYLES, strict=False)]


def numeric_key(found: Many) -> str | None:
    """Return the swept key with the most values, if it has three or more and all are numbers."""
    counts = {}
    for place, key in enumerate(found.settings):
        values = {point.cells[place] for point in found.points}
        if len(values) >= _FEWEST_VALUES and all(map(_is_number, values)):
            counts[key] = len(values)
    return max(counts, key=lambda key: counts[key]) if counts else None


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False


def _written(metric: str) -> Written:
    return {SECONDS: time_tick, SHARE: percent_tick}.get(unit(metric), count_tick)


def _lines(place: int, metric: str, points: Sequence[Shown]) -> Chart:
    """Draw a line a point: its middle, and between what it lies."""
    shown = points[:MOST_LINES]
    says = "A line a row of the table, by its number."
    if len(points) > len(shown):
        says += f" Shown are the first {len(shown)} of {len(points)}."
    height = TOP + len(shown) * _PITCH + BOTTOM
    values = [_value(value) for point in shown for value in _ends(point, place)]
    x = spanning(min(values), max(values), LEFT, WIDTH - RIGHT)
    drawing = Drawing(f"chart-{place}", label(metric), says, height)
    for tick in x.ticks():
        drawing.line(x(tick), TOP, x(tick), height - BOTTOM, "rule")
    for row, point in enumerate(shown):
        y = TOP + (row + 0.5) * _PITCH
        low, high = (x(_value(value)) for value in _ends(point, place))
        drawing.text(LEFT - 6, y + 4, str(point.number), anchor="end")
        drawing.line(low, y, high, y, "axis")
        drawing.dot(
            x(_value(point.values[place].middle)), y, _says(point, place, metric), f"#run-{point.number}"
        )
    drawing.x_axis(x, _written(metric), height - BOTTOM)
    return drawing.chart()


def _over(place: int, metric: str, points: Sequence[Shown], key: str, found: Many) -> Chart:
    """Draw points over the values of a key, and lines through those that differ in nothing else."""
    column = found.settings.index(key)
    at = [float(point.cells[column]) for point in points]
    x = spanning(min(at), max(at), LEFT, WIDTH - RIGHT)
    if not x.logarithmic:
        x = Scale(min(at), max(at), LEFT + 6, WIDTH - RIGHT)
    values = [_value(value) for point in points for value in _ends(point, place)]
    y = spanning(min(values), max(values), _HEIGHT - BOTTOM, TOP)
    drawing = Drawing(f"chart-{place}", f"{label(metric)} over {key}", "A dot a row of the table.", _HEIGHT)
    drawing.y_axis(y, _written(metric))
    dots = {
        point.number: (x(value), y(_value(point.values[place].middle)))
        for value, point in zip(at, points, strict=True)
    }
    for line in series(found):
        for first, second in pairwise(dots[row] for row in line.rows if row in dots):
            drawing.line(*first, *second, line.style)
    for value, point in zip(at, points, strict=True):
        low, high = (y(_value(end)) for end in _ends(point, place))
        drawing.line(x(value), low, x(value), high, "axis")
        drawing.dot(*dots[point.number], _says(point, place, metric), f"#run-{point.number}")
    drawing.x_axis(x, lambda value: f"{value:g}", _HEIGHT - BOTTOM)
    return drawing.chart()


def _ends(point: Shown, place: int) -> tuple[float | None, float | None]:
    """Return between what a number lies, as a comparison says it: of few runs, from the least to the most."""
    spread = point.values[place]
    return (spread.least, spread.most) if spread.n < LEAST_PAIRS else (spread.low, spread.high)


def _value(value: float | None) -> float:
    return 0.0 if value is None else value


def _says(point: Shown, place: int, metric: str) -> str:
    return f"Row {point.number}, {point.name}: {unit(metric).show(point.values[place].middle)}"
