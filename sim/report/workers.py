"""Workers over time: requests running and waiting, blocks in GPU and CPU memory; and the use of links."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sim.base import words
from sim.base.sums import added
from sim.report.chart import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Chart, DataTable, Drawing
from sim.report.names import WorkerNames
from sim.report.scales import Scale, count_tick, percent_tick, time_tick

MOST_WORKERS = 16
BINS = 150
"""Parts of the run in each of which a line shows the highest value."""
_PANEL, _BETWEEN = 64.0, 20.0
_HEIGHT = TOP + _PANEL + _BETWEEN + _PANEL + BOTTOM


class Level(NamedTuple):
    """One of the levels that table `workers` has."""

    column: str
    label: str
    style: str


REQUESTS = (Level("running", "running", "first"), Level("waiting", "waiting", "second"))
BLOCKS = (
    Level("used_blocks", "GPU blocks in use", "first"),
    Level("cpu_used_blocks", "CPU blocks filled", "second"),
)


class Capacity(NamedTuple):
    """How many blocks a worker has."""

    gpu_blocks: int
    cpu_blocks: int | None


class WorkerCharts(NamedTuple):
    """The workers of a run."""

    shown: list[Chart]
    """Those with most requests on average; their scales are the same."""
    table: DataTable
    """All of them."""
    more: int
    """Workers without a chart."""
    bin: str
    """The time over which a line shows the highest value."""


class LevelSeries:
    """What a worker's levels were along a run: requests as they are, blocks as a share of its room."""

    def __init__(self, rows: pd.DataFrame, room: Capacity, end_s: float) -> None:
        self.end_s = end_s
        self._start_s = np.minimum(rows["now_s"].to_numpy(dtype=np.float64), end_s)
        one = {"used_blocks": room.gpu_blocks, "cpu_used_blocks": room.cpu_blocks or 1}
        self.values, self.highest_values = (
            {
                level.column: rows[kind + level.column].to_numpy(np.float64, na_value=np.nan)
                / one.get(level.column, 1)
                for level in (*REQUESTS, *BLOCKS)
            }
            for kind in ("", "most_")
        )
        for column, highest in self.highest_values.items():
            np.fmax(highest, self.values[column], out=highest)  # those of earlier versions are not known

    def has(self, level: Level) -> bool:
        """Whether it was measured at all."""
        return not np.isnan(self.values[level.column]).any()

    def mean(self, level: Level) -> float:
        """Return the mean over the time of the run; 0 until the first row."""
        lasted_s = np.diff(self._start_s, append=self.end_s)
        return float((self.values[level.column] * lasted_s).sum() / self.end_s)

    def highest(self, level: Level) -> float:
        """Return the highest value of the run, between the rows included."""
        return float(self.highest_values[level.column].max())

    def highest_by_bin(self, level: Level) -> NDArray[np.float64]:
        """Return the highest value that held at some time of each of `BINS` equal parts of the run.

        One between two rows counts where the later one stands.
        """
        edges_s = np.linspace(0.0, self.end_s, BINS + 1)[:-1]
        values = self.values[level.column]
        held = np.searchsorted(self._start_s, edges_s, "right") - 1
        at_edge = np.where(held < 0, 0.0, values[np.maximum(held, 0)])
        times = np.concatenate([edges_s, self._start_s])
        order = np.argsort(times, kind="stable")
        starts = np.flatnonzero(order < BINS)
        found: NDArray[np.float64] = np.maximum.reduceat(
            np.concatenate([at_edge, self.highest_values[level.column]])[order], starts
        )
        return found


def worker_charts(
    rows: pd.DataFrame, rooms: Sequence[Capacity], end_s: float, names: WorkerNames
) -> WorkerCharts:
    """Return what table `workers` says; `rooms` are those of all workers, by index."""
    parts: dict[Any, pd.DataFrame] = dict(iter(rows.groupby("worker"))) if end_s else {}
    courses = {worker: LevelSeries(part, rooms[worker], end_s) for worker, part in parts.items()}
    load = {worker: added(course.mean(level) for level in REQUESTS) for worker, course in courses.items()}
    shown = sorted(sorted(load, key=lambda worker: -load[worker])[:MOST_WORKERS])
    most = max((course.highest(level) for course in courses.values() for level in REQUESTS), default=0.0)
    return WorkerCharts(
        [_chart(names, worker, courses[worker], most) for worker in shown],
        _table(names, courses),
        len(courses) - len(shown),
        words.seconds(end_s / BINS),
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
    highest = course.highest_by_bin(level)
    width = (x.end - x.start) / BINS
    points = [(x.start + width * place, y(float(value))) for place, value in enumerate(highest)]
    drawing.steps(points, x.end, f"level {level.style}")


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
