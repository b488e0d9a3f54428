"""Little's law for the table of levels: what it says, integrated over time, is what was counted."""

from collections.abc import Container, Mapping, Sequence

import numpy as np

from sim.cluster.checks.queues import compare
from sim.results.rows import Table


def check_levels(
    table: Table,
    queues: Sequence[tuple[float, float]],
    used: Sequence[float],
    leave_out: Container[int],
    now_s: float,
) -> None:
    """Compare the levels of a `workers` table that has every change with what was counted, by worker.

    `queues` are the integrals of how many waited and ran, `used` those of blocks in use.
    """
    for worker, (waiting, running) in enumerate(queues):
        if worker not in leave_out:
            areas = {"waiting": waiting, "running": running, "used_blocks": used[worker]}
            _check_worker(table, worker, areas, now_s)


def _check_worker(table: Table, worker: int, areas: Mapping[str, float], now_s: float) -> None:
    """Compare the integrals of columns of a `workers` table that has every change of a worker's levels."""
    of_worker = table.values("worker").values == worker
    times_s = table.values("now_s").values[of_worker]
    until_s = np.append(times_s[1:], now_s) if times_s.size else times_s
    for name, area in areas.items():
        levels = table.values(name).values[of_worker]
        compare(f"{name} in its table", float((levels * (until_s - times_s)).sum()), area, now_s, worker)
