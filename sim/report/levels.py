"""What the levels of a worker were along a run: every change where all were kept, how high else."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sim.results.levels import FIRST_ROWS

Numbers = NDArray[np.float64]


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


class Changes(NamedTuple):
    """The parts of a run in which a level changed: in order, all arrays alike long."""

    times_s: Numbers
    """When the part begins, or the change came where each has a part of its own."""
    lowest: Numbers
    highest: Numbers
    """Between these the level was, from its first change in the part on."""
    last: Numbers
    """What held at the part's end, and does until the next one."""


class LevelSeries:
    """What a worker's levels were along a run: requests as they are, blocks as a share of its room.

    `interval_s` is the scenario's `output.worker_interval_s`.
    """

    def __init__(self, rows: pd.DataFrame, room: Capacity, end_s: float, interval_s: float) -> None:
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
        self.has_all = interval_s == 0 or self._looks_whole(interval_s)
        """Whether the rows are all changes. If not, they are the last ones of each interval."""

    def _looks_whole(self, interval_s: float) -> bool:
        if len(self._start_s) > FIRST_ROWS + 1:
            return False
        intervals = self._start_s // interval_s
        if (intervals[1:] == intervals[:-1]).any():
            return True
        # One row an interval: either as thinned, after more than FIRST_ROWS changes, or there were no more.
        pairs = ((self.values[column], highest) for column, highest in self.highest_values.items())
        return all(np.array_equal(value, highest, equal_nan=True) for value, highest in pairs)

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

    def changes(self, level: Level, parts: int) -> Changes:
        """Return how a level changed, as exact as a drawing of so many parts shows it.

        Up to so many changes have each a part of their own. A value between two rows, of which only the
        height is known, counts where the later row stands.
        """
        values, highest = self.values[level.column], self.highest_values[level.column]
        if len(values) <= parts:
            return Changes(self._start_s, values, highest, values)
        places = np.minimum(self._start_s / self.end_s * parts, parts - 1).astype(np.int64)
        first = np.flatnonzero(np.diff(places, prepend=-1))
        ends = np.append(first[1:], len(places)) - 1
        return Changes(
            places[first] * (self.end_s / parts),
            np.minimum.reduceat(values, first),
            np.maximum.reduceat(highest, first),
            values[ends],
        )
