"""What a replay's index says that each candidate holds of a prompt, at the choice of its recorded worker."""

from collections.abc import Mapping

from sim.measured.formats.router_log import LoggedDecision
from sim.measured.request import MeasuredRequest
from sim.validation.replay.recording import pools
from sim.validation.replay.replay import Replay
from sim.validation.router_log.bookings import Rank


class ReplayedOverlap:
    """An `Overlaps` of a replay that kept its decisions; nothing of a request that it did not send."""

    def __init__(self, replayed: Replay) -> None:
        recorded, router = replayed.recording, replayed.scenario.router
        first_decode = replayed.scenario.workers.first_decode
        self._workers = {
            worker.worker_id: first + rank
            for pool, first in zip(pools(recorded.run), (0, first_decode), strict=True)
            for rank, worker in enumerate(pool)
        }
        self._blocks: dict[tuple[int, str, int], float] = {}
        """By row of the client's input, stage and number of the worker."""
        table = replayed.rows.tables["decisions"]
        names = ("request", "leg", "worker", "device_blocks", "host_blocks", "disk_blocks")
        for index, stage, worker, device, host, disk in zip(*map(table.column, names), strict=True):
            row = recorded.requests[index].row
            lower = router.host_cache_hit_weight * host + router.disk_cache_hit_weight * disk
            self._blocks[row, stage, worker] = device + lower

    def __call__(self, request: MeasuredRequest, decision: LoggedDecision) -> Mapping[Rank, float]:
        """Return blocks by candidate, tiers weighted."""
        ranks = [(candidate.worker_id, candidate.dp_rank) for candidate in decision.candidates]
        workers = {rank: self._workers.get(rank[0], -1) for rank in ranks}
        return {
            rank: self._blocks.get((request.row, decision.stage, worker), 0.0)
            for rank, worker in workers.items()
        }
