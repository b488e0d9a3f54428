"""What a worker says of itself."""

from typing import NamedTuple


class WorkerReport(NamedTuple):
    """What a worker last said of itself: as old as the way and the interval of its reports make it."""

    waiting_requests: int
    running_requests: int
    used_kv_blocks: int
    total_kv_blocks: int
