"""The GPU of a worker: steps strictly one after another, and the copies that go with them.

Copies take the time of the links between tiers: a load starts with its step, a store when its step has been
computed, a copy between two tiers at once. A step that must not run before certain copies are done (a flush,
a load within the step) waits for them. No step begins while the engine's loop is busy with prompts, and no
output is processed.
"""

from collections import deque

from sim.cluster.delays import Delays
from sim.cluster.engine_loop import EngineLoop
from sim.engine.plan import StepPlan
from sim.hardware.step_time import StepTime
from sim.links.tier_links import TierLinks


class Gpu:
    """Steps in flight. They take as long as `step_time` says, unless the delays know better."""

    def __init__(
        self, step_time: StepTime, links: TierLinks, delays: Delays, loop: EngineLoop | None = None
    ) -> None:
        self.ends_s: deque[float] = deque()
        """When the output of each step in flight can be processed, the oldest first."""
        self._loop = loop
        self._step_time = step_time
        self._links = links
        self._delays = delays

    def submit(self, plan: StepPlan, now_s: float) -> None:
        """Take on a step, behind those in flight, and the copies that belong to it."""
        start_s = max(now_s, self.ends_s[-1]) if self.ends_s else now_s
        if self._loop is not None:
            start_s = max(start_s, self._hold(now_s + self._loop.held_s(plan)))
        for job in plan.moves:
            self._links.submit(job, now_s)
        if plan.flushes:
            start_s = self._flush(plan, start_s)
        for job in plan.loads:
            self._links.submit(job, start_s)
        if plan.loads_now:
            done_s = self._links.done_s
            start_s = max([start_s, *(done_s.get(job_id, start_s) for job_id in plan.loads_now)])
        law_s = self._step_s(plan)
        if self._loop is not None:
            law_s += self._loop.handoff_s(plan)
        end_s = self._delays.computed(plan, start_s, law_s)
        for job in plan.stores:
            if job.job_id not in plan.flushes:
                self._links.submit(job, end_s)
        self.ends_s.append(end_s)

    def _hold(self, until_s: float) -> float:
        """Let no output be processed before a time; return it."""
        for place, end_s in enumerate(self.ends_s):
            self.ends_s[place] = max(end_s, until_s)
        return until_s

    def _flush(self, plan: StepPlan, start_s: float) -> float:
        """Return when a step can start that has to wait for copies, perhaps for stores of its own plan."""
        for job in plan.stores:
            if job.job_id in plan.flushes:
                self._links.submit(job, start_s)
        return max([start_s, *(self._links.done_s.get(job_id, start_s) for job_id in plan.flushes)])

    def _step_s(self, plan: StepPlan) -> float:
        """Return how long a step takes by its law.

        Of each decode all tokens are computed, drafts included, each like one of a request of its own; its
        context is read once. What drafting itself takes is not in it.
        """
        prefills = [(tokens, request.computed - tokens) for request, tokens in plan.prefills]
        context = sum([request.computed - tokens for request, tokens in plan.decodes])
        batch = len(plan.decodes)
        if plan.drafts is not None:
            batch = sum([tokens for _, tokens in plan.decodes])
        return self._step_time.step_s(prefills, batch, context)
