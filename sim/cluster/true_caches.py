"""What workers' caches truly hold of a prompt, whatever a router's index has heard.

A look is the engine's own look-up of a request that stands in its queue now, and touches nothing: GPU memory
and the tiers below it, of a hybrid model up to where its state was kept too. Blocks that a running request
has registered count although they may still be being computed, and so does what is on its way to a tier, as
the engine would hit or wait for them. What is computed later, by requests that stand in front of it in the
queue, does not.
"""

from collections.abc import Callable, Sequence

from sim.cluster.pool import PoolWorker
from sim.events.clock import Clock
from sim.events.lazy_updates import LazyUpdates
from sim.kv.runs import BlockRuns
from sim.router import Query


class TrueCaches:
    """Looks into all workers of a cluster; `workers`, by index, may be built later."""

    __slots__ = ("_clock", "_lazy_updates", "_workers")

    def __init__(self, clock: Clock, lazy_updates: LazyUpdates, workers: Sequence[PoolWorker]) -> None:
        self._clock = clock
        self._lazy_updates = lazy_updates
        self._workers = workers

    def of_ranks(self, members: range, *, for_remote: bool) -> Callable[[Query], list[int]]:
        """Return what tells of a query how many tokens each rank would hit, the ranks being these workers."""

        def cached_tokens(query: Query) -> list[int]:
            blocks = query.blocks if query.hash_blocks is None else query.hash_blocks
            return self.look(BlockRuns.of(blocks), query.isl_tokens, members, for_remote=for_remote)

        return cached_tokens

    def capacity_blocks(self) -> int:
        """Return for how many blocks all workers have room together, in GPU memory and below."""
        blocks = 0
        for worker in self._workers:
            engine = worker.engine
            blocks += engine.cache.pool.num_blocks - 1
            blocks += sum([tier.capacity_blocks for tier in engine.offload.tiers]) if engine.offload else 0
        return blocks

    def look(
        self, hash_blocks: BlockRuns, prompt_tokens: int, members: range, *, for_remote: bool
    ) -> list[int]:
        """Return the tokens of a prompt that each of these workers would hit now."""
        self._lazy_updates.settle(self._clock.now_s, -1)
        lookups = [self._workers[worker].engine.scheduler.lookup for worker in members]
        return [lookup.would_hit(hash_blocks, prompt_tokens, for_remote=for_remote) for lookup in lookups]
