"""Workers over time: requests running and waiting, blocks in GPU and CPU memory; and the use of links."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from sim.base import words
from sim.base.sums import added
from sim.report.chart import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Chart, DataTable, Drawing
from sim.report.levels import BLOCKS, REQUESTS, Capacity, Level, LevelSeries
from sim.report.names import WorkerNames
from sim.report.scales import Scale, count_tick, percent_tick, time_tick

MOST_WORKERS = 16
_PARTS = int(WIDTH - LEFT - RIGHT)
"""Parts of the run in which a line is drawn: a unit each, finer than which none can be seen."""
_PANEL, _BETWEEN = 64.0, 20.0
_HEIGHT = TOP + _PANEL + _BETWEEN + _PANEL + BOTTOM


class WorkerCharts(NamedTuple):
    """The workers of a run."""

    shown: list[Chart]
    """Those with most requests on average; their scales are the same."""
    table: DataTable
    """All of them."""
    more: int
    """Workers without a chart."""
    thinned: int
    """How many of all, table or chart, kept not every change."""
    interval: str
    """How far apart what those kept stands."""


def worker_charts(
    rows: pd.DataFrame, rooms: Sequence[Capacity], end_s: float, interval_s: float, names: WorkerNames
) -> WorkerCharts:
    """Return what table `workers` says, of which long runs keep a row each `interval_s`.

    `rooms` are those of all workers, by index.
    """
    parts: dict[Any, pd.DataFrame] = dict(iter(rows.groupby("worker"))) if end_s else {}
    courses = {worker: LevelSeries(part, rooms[worker], end_s, interval_s) for worker, part in parts.items()}
    load = {worker: added(course.mean(level) for level in REQUESTS) for worker, course in courses.items()}
    shown = sorted(sorted(load, key=lambda worker: -load[worker])[:MOST_WORKERS])
    most = max((course.highest(level) for course in courses.values() for level in REQUESTS), default=0.0)
    return WorkerCharts(
        [_chart(names, worker, courses[worker], most) for worker in shown],
        _table(names, courses),
        len(courses) - len(shown),
        sum(not course.has_all for course in courses.values()),
        words.seconds(interval_s),
    )


def _chart(names: WorkerNames, worker: int, course: LevelSeries, most_requests: float) -> Chart:
    most = ", ".join(
        f"{_written(level, course.highest(level))} {'of ' if level in BLOCKS else ''}{level.label}"
        for level in (*REQUESTS, *BLOCKS)
        if course.has(level)
    )
    name = names.long(worker)
    drawing = Drawing(f"chart-worker-{worker}", name[0].upper() + name[1:], f"At most {most}.", _HEIGHT)
    x = Scale(0.0, course.end_s, LEFT, WIDTH - RIGHT)
    middle = TOP + _PANEL
    panels = (
        (REQUESTS, Scale(0.0, most_requests or 1.0, middle, TOP), count_tick),
        (BLOCKS, Scale(0.0, 1.0, middle + _BETWEEN + _PANEL, middle + _BETWEEN), percent_tick),
    )
    for panel, y, written in panels:
        drawing.y_axis(y, written, most=2)
        for level in panel:
            if course.has(level):
                _draw(drawing, x, y, course, level)
    drawing.x_axis(x, time_tick, _HEIGHT - BOTTOM)
    return drawing.chart()


def _draw(drawing: Drawing, x: Scale, y: Scale, course: LevelSeries, level: Level) -> None:
    """Draw where a level stood; it is 0 until its first change."""
    changes = course.changes(level, _PARTS)
    places = [
        (x(float(time)), y(lowest), y(highest), y(last))
        for time, lowest, highest, last in zip(*changes, strict=True)
    ]
    drawing.steps(x.start, y(0.0), places, x.end, f"level {level.style}")


def _table(names: WorkerNames, courses: Mapping[int, LevelSeries]) -> DataTable:
    columns = [f"{level.label}, {kind}" for level in (*REQUESTS, *BLOCKS) for kind in ("mean", "most")]
    rows = []
    for worker, course in courses.items():
        cells = [names.long(worker)]
        for level in (*REQUESTS, *BLOCKS):
            has = course.has(level)
            cells.append(_written(level, course.mean(level)) if has else words.MISSING)
            cells.append(_written(level, course.highest(level)) if has else words.MISSING)
        rows.append(cells)
    return DataTable(("worker", *columns), rows)


def _written(level: Level, value: float) -> str:
    if level in BLOCKS:
        return words.percent(value)
    return words.number(value) if value % 1 else words.count(value)
