"""How long the queues of workers are and how full their caches, over a run."""

from collections.abc import Sequence
from itertools import chain

from sim.cluster.tiers import HOST
from sim.engine.engine import Engine
from sim.results.gauge import Gauge
from sim.results.levels import Levels
from sim.results.rows import Table


class LevelBooks:
    """Of so many workers, whose tiers below GPU memory have these names.

    `table` is that of all changes, thinned, where it gets long, to one row a worker and `interval_s`; None:
    nobody asks for it.
    """

    __slots__ = ("_rows", "_table", "pool", "tiers")

    def __init__(self, workers: int, tiers: Sequence[str], table: Table | None, interval_s: float) -> None:
        self.pool = [Gauge() for _ in range(workers)]
        """Blocks of the pool in use, by worker."""
        self.tiers = {tier: [Gauge() for _ in range(workers)] for tier in tiers}
        """Blocks filled in each tier below, by worker."""
        self._rows = Levels(workers, interval_s)
        self._table = table

    def look_only(self, from_s: float, until_s: float) -> None:
        """Count levels between these times only."""
        for gauge in chain(self.pool, *self.tiers.values()):
            gauge.look_only(from_s, until_s)

    def allocated(self, worker: int, used_blocks: int, now_s: float) -> None:
        """So many blocks of a pool are in use from now on; nothing else changed."""
        self.pool[worker].set(used_blocks, now_s)
        if self._table is not None:
            for row in self._rows.allocated(worker, now_s, used_blocks):
                self._table.append(row)

    def stand(self, worker: int, engine: Engine, now_s: float) -> None:
        """Queues and caches stand as the engine says from now on."""
        used, cpu = engine.cache.pool.used_blocks, None
        self.pool[worker].set(used, now_s)
        if engine.offload is not None:
            for tier in engine.offload.tiers:
                if tier.name not in self.tiers:
                    continue  # other workers' memory
                filled = tier.used_blocks
                self.tiers[tier.name][worker].set(filled, now_s)
                if tier.name == HOST:
                    cpu = filled
        if self._table is not None:
            levels = len(engine.scheduler.running), engine.waiting, used, cpu
            for row in self._rows.set(worker, now_s, levels):
                self._table.append(row)

    def close(self) -> None:
        """The run is over."""
        if self._table is not None:
            for row in self._rows.rest():
                self._table.append(row)
            # A row is known when the worker's next one is: in an order that depends on what was skipped over.
            self._table.sort("now_s", "worker")
