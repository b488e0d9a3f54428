"""Steady decode: every running request decodes, and nothing changes that a later step could notice.

Such a step comes again as long as nothing happens: planned one by one without the scheduler's whole walk
(`repeat`), or many at once (`sim.engine.decode_run`), which is what fast forward does.
"""

from sim.engine.connector import OffloadingConnector
from sim.engine.plan import StepPlan
from sim.engine.scheduler import Scheduler
from sim.kv.hybrid import KvCache

Standing = tuple[int, int, int, int]
"""Changes of the pool and of the tiers below, requests that run and that wait."""


class SteadyDecode:
    """Tells which steps of an engine are steady.

    `tells_growth`: somebody wants to know of every block that an answer grows by.
    """

    def __init__(
        self,
        cache: KvCache,
        scheduler: Scheduler,
        offload: OffloadingConnector | None,
        *,
        tells_growth: bool,
    ) -> None:
        self.across_blocks = not (cache.skips or offload is not None or tells_growth)
        """A decode stays steady where it goes on in a new block: that changes nothing but the pool. No state
        and no window goes back, no copy is planned, nobody is told."""
        self._pool = cache.pool
        self._scheduler = scheduler
        self._offload = offload

    def standing(self) -> Standing:
        """Return what is the same before and after a steady step."""
        pool_changes = 0 if self.across_blocks else self._pool.changes
        tier_changes = self._offload.changes if self._offload is not None else 0
        scheduler = self._scheduler
        return pool_changes, tier_changes, len(scheduler.running), len(scheduler.waiting)

    def all_decode(self, plan: StepPlan) -> bool:
        """Whether every running request decodes in a step, and nothing else is computed."""
        return not plan.prefills and len(plan.decodes) == len(self._scheduler.running)

    def is_steady(self, plan: StepPlan, before: Standing) -> bool:
        """Whether a step that was planned just now, when things stood so before, is steady."""
        return self.all_decode(plan) and self.standing() == before and not self._scheduler.holds_for_a_time

    def only_decodes(self, plan: StepPlan) -> bool:
        """Whether all that will come of a step in flight is a token for every running request."""
        if plan.steady or not self.across_blocks:
            return plan.steady
        return self.all_decode(plan) and not plan.freed_after
