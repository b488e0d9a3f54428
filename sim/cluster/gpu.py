"""The GPU of a worker: steps strictly one after another, and copies between it and its host.

Copies take the time of the host link: a load starts with its step, a store when its step has been computed. A
step that must not run before certain copies are done (a flush) waits for them.
"""

from collections import deque
from typing import Protocol

from sim.engine.plan import StepPlan
from sim.hardware.step_time import StepTime
from sim.links.host_link import HostLink


class Pace(Protocol):
    """When steps have been computed, where something else than a law decides it: a recording."""

    def end_s(self, plan: StepPlan, start_s: float, law_s: float) -> float:
        """Return when a step has been computed that starts at `start_s` and by the law takes `law_s`.

        Not before its start.
        """


class Gpu:
    """Steps in flight. They take as long as `step_time` says, unless a `pace` knows better."""

    def __init__(self, step_time: StepTime, link: HostLink, pace: Pace | None) -> None:
        self.ends_s: deque[float] = deque()
        """When each step in flight has been computed, the oldest first."""
        self._step_time = step_time
        self._link = link
        self._pace = pace

    def submit(self, plan: StepPlan, now_s: float) -> None:
        """Take on a step, behind those in flight, and the copies that belong to it."""
        start_s = max(now_s, self.ends_s[-1]) if self.ends_s else now_s
        if plan.flushes:
            start_s = self._flush(plan, start_s)
        for job in plan.loads:
            self._link.submit(job, start_s)
        end_s = self._end_s(plan, start_s)
        for job in plan.stores:
            if job.job_id not in plan.flushes:
                self._link.submit(job, end_s)
        self.ends_s.append(end_s)

    def _flush(self, plan: StepPlan, start_s: float) -> float:
        """Return when a step can start that has to wait for copies, perhaps for stores of its own plan."""
        for job in plan.stores:
            if job.job_id in plan.flushes:
                self._link.submit(job, start_s)
        return max([start_s, *(self._link.done_s.get(job_id, start_s) for job_id in plan.flushes)])

    def _end_s(self, plan: StepPlan, start_s: float) -> float:
        law_s = self._step_s(plan)
        if self._pace is None or not plan.scheduled:
            return start_s + law_s
        return self._pace.end_s(plan, start_s, law_s)

    def _step_s(self, plan: StepPlan) -> float:
        prefills = [(tokens, request.computed - tokens) for request, tokens in plan.prefills]
        context = sum([request.computed - tokens for request, tokens in plan.decodes])
        return self._step_time.step_s(prefills, len(plan.decodes), context)
