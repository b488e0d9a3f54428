"""Workers that stand still when a run is over."""

from collections.abc import Container, Sequence

from sim.cluster.worker import Worker
from sim.engine.hang import Hang, hang_of


def hangs_of(workers: Sequence[Worker], left: Container[int]) -> dict[int, Hang]:
    """Return why workers that have requests `left` never end them, by worker."""
    return {
        index: hang_of(worker.engine)
        for index, worker in enumerate(workers)
        if any(request.request_id in left for request in worker.engine.requests)
    }
