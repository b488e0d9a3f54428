"""Workers over time: requests running and waiting, blocks in GPU and CPU memory; and the use of links."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sim.report.chart import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Chart, DataTable, Drawing
from sim.report.names import WorkerNames
from sim.report.scales import Scale, count_tick, percent_tick, time_tick
from sim.results import show

MOST_WORKERS = 16
_BINS = 150
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


class Room(NamedTuple):
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


class _Levels:
    """What a worker's levels were along a run, in bins of equal length."""

    def __init__(self, rows: pd.DataFrame, room: Room, end_s: float) -> None:
        self._start_s = rows["now_s"].to_numpy(dtype=np.float64)
        self._until_s = np.append(self._start_s[1:], max(end_s, float(self._start_s[-1])))
        self.values = {
            level.column: rows[level.column].to_numpy(dtype=np.float64, na_value=np.nan)
            for level in (*REQUESTS, *BLOCKS)
        }
        self.values["used_blocks"] /= room.gpu_blocks
        self.values["cpu_used_blocks"] /= room.cpu_blocks or 1
        self.end_s = end_s

    def has(self, level: Level) -> bool:
        """Whether it was measured at all."""
        return not np.isnan(self.values[level.column]).any()

    def mean(self, level: Level) -> float:
        """Return the mean over the time of the run; 0 until the first row."""
        lasted_s = self._until_s - self._start_s
        return float((self.values[level.column] * lasted_s).sum() / self.end_s)

    def highest(self, level: Level) -> float:
        """Return the highest value of the run."""
        return float(self.values[level.column].max())

    def highest_by_bin(self, level: Level) -> NDArray[np.float64]:
        """Return the highest value that held at some time of each bin."""
        edges_s = np.linspace(0.0, self.end_s, _BINS + 1)[:-1]
        values = self.values[level.column]
        held = np.searchsorted(self._start_s, edges_s, "right") - 1
        at_edge = np.where(held < 0, 0.0, values[np.maximum(held, 0)])
        times = np.concatenate([edges_s, self._start_s])
        order = np.argsort(times, kind="stable")
        starts = np.flatnonzero(order < _BINS)
        found: NDArray[np.float64] = np.maximum.reduceat(np.concatenate([at_edge, values])[order], starts)
        return found


def worker_charts(
    rows: pd.DataFrame, rooms: Sequence[Room], end_s: float, names: WorkerNames
) -> WorkerCharts:
    """Return what table `workers` says; `rooms` are those of all workers, by index."""
    levels = {
        int(str(worker)): _Levels(part, rooms[int(str(worker))], end_s)
        for worker, part in rows.groupby("worker")
    }
    load = {worker: sum(found.mean(level) for level in REQUESTS) for worker, found in levels.items()}
    shown = sorted(sorted(load, key=lambda worker: -load[worker])[:MOST_WORKERS])
    most = max((found.highest(level) for found in levels.values() for level in REQUESTS), default=1.0)
    charts = [_chart(names, worker, levels[worker], most) for worker in shown]
    bin_s = show.seconds(end_s / _BINS)
    return WorkerCharts(charts, _table(names, levels), len(levels) - len(shown), bin_s)


def _chart(names: WorkerNames, worker: int, levels: _Levels, most_requests: float) -> Chart:
    most = ", ".join(
        f"{_written(level, levels.highest(level))} {'of ' if level in BLOCKS else ''}{level.label}"
        for level in (*REQUESTS, *BLOCKS)
        if levels.has(level)
    )
    name = names.long(worker)
    drawing = Drawing(f"chart-worker-{worker}", name[0].upper() + name[1:], f"At most {most}.", _HEIGHT)
    x = Scale(0.0, levels.end_s, LEFT, WIDTH - RIGHT)
    middle = TOP + _PANEL
    panels = (
        (REQUESTS, Scale(0.0, most_requests or 1.0, middle, TOP), count_tick),
        (BLOCKS, Scale(0.0, 1.0, middle + _BETWEEN + _PANEL, middle + _BETWEEN), percent_tick),
    )
    for panel, y, written in panels:
        drawing.y_axis(y, written, most=2)
        for level in panel:
            if levels.has(level):
                _draw(drawing, x, y, levels, level)
    drawing.x_axis(x, time_tick, _HEIGHT - BOTTOM)
    return drawing.chart()


def _draw(drawing: Drawing, x: Scale, y: Scale, levels: _Levels, level: Level) -> None:
    highest = levels.highest_by_bin(level)
    width = (x.end - x.start) / _BINS
    points = [(x.start + width * place, y(float(value))) for place, value in enumerate(highest)]
    drawing.steps(points, x.end, f"level {level.style}")


def _table(names: WorkerNames, levels: Mapping[int, _Levels]) -> DataTable:
    columns = [f"{level.label}, {kind}" for level in (*REQUESTS, *BLOCKS) for kind in ("mean", "most")]
    rows = []
    for worker, found in levels.items():
        cells = [names.long(worker)]
        for level in (*REQUESTS, *BLOCKS):
            has = found.has(level)
            cells.append(_written(level, found.mean(level)) if has else show.MISSING)
            cells.append(_written(level, found.highest(level)) if has else show.MISSING)
        rows.append(cells)
    return DataTable(("worker", *columns), rows)


def _written(level: Level, value: float) -> str:
    if level in BLOCKS:
        return show.percent(value)
    return show.number(value) if value % 1 else show.count(value)
