"""One vLLM 0.28.0 engine without its clock: scheduler, KV cache and CPU tier joined.

`schedule` plans a step, `complete` processes its output. With asynchronous scheduling two steps are in flight:
step k+1 is planned before the output of step k is processed. Events are made when a step is planned and published
with the next output that is processed.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sim.kv.events import KvEvent
from sim.kv.hybrid import KvCache
from sim.kv.offload import Key
from sim.worker.active import ActiveRequest, Status
from sim.worker.connector import OffloadingConnector
from sim.worker.scheduler import Limits, Scheduler, StepPlan


@dataclass(slots=True)
class StepOutput:
    """What processing one step's output gave."""

    tokens: list[ActiveRequest]
    """Requests that received a token, in scheduling order."""
    finished: list[ActiveRequest]
    events: list[KvEvent]
    """KV events to publish: the GPU's first, then the CPU tier's."""


class Engine:
    """One engine; `add`, then `schedule` and `complete` in turn."""

    def __init__(self, cache: KvCache, limits: Limits, offload: OffloadingConnector | None = None) -> None:
        self.cache = cache
        self.limits = limits
        self.offload = offload
        self.scheduler = Scheduler(cache, limits, offload)
        self.steps: deque[StepPlan] = deque()
        """Planned and not yet processed, oldest first."""
        self._finished_unreported = False

    @property
    def has_work(self) -> bool:
        """Whether vLLM's loop would call schedule once more."""
        scheduler = self.scheduler
        return bool(scheduler.running or scheduler.waiting or scheduler.skipped or self._finished_unreported)

    def add(self, request: ActiveRequest) -> None:
        """Queue a request; the next `schedule` sees it."""
        self.scheduler.waiting.append(request)

    def schedule(self) -> StepPlan:
        """Plan the next step; it is in flight until `complete`."""
        self._finished_unreported = False
        plan = self.scheduler.schedule()
        self.steps.append(plan)
        return plan

    def complete(self, done_jobs: Iterable[tuple[int, Sequence[Key] | None]] = ()) -> StepOutput:
        """Process the oldest step's output, with the transfers reported by then (job, order of its keys)."""
        plan = self.steps.popleft()
        for request, tokens in plan.tokens:
            request.in_flight -= tokens
        if plan.freed_after:
            self.cache.pool.free(plan.freed_after)
        finished: list[ActiveRequest] = []
        for request in plan.emitting:
            self._receive_token(request, finished)
        for job_id, order in done_jobs:
            self._job_done(job_id, order)
        return StepOutput(plan.emitting, finished, self._drain_events())

    def _receive_token(self, request: ActiveRequest, finished: list[ActiveRequest]) -> None:
        request.outputs += 1
        request.placeholders -= 1
        done = request.outputs >= request.output_tokens or request.num_tokens >= self.limits.max_model_len
        if self.limits.async_scheduling and request.status is Status.RUNNING:
            known = request.computed - request.placeholders
            self.cache.register(request.tables, request.hashes, known)
        if done:
            self._finish(request)
            finished.append(request)

    def _finish(self, request: ActiveRequest) -> None:
        scheduler = self.scheduler
        if request.status is Status.RUNNING:
            scheduler.running.remove(request)
        else:
            scheduler.waiting.remove(request)
        request.status = Status.FINISHED
        if self.offload is not None:
            self.cache.skip(request.tables, request.computed)
            self.offload.finished(request)
        self.cache.free(request.tables)
        self._finished_unreported = True

    def _job_done(self, job_id: int, order: Sequence[Key] | None) -> None:
        assert self.offload is not None
        job = self.offload.complete(job_id, order)
        if job.load:
            self.scheduler.arrived.add(job.request_id)

    def _drain_events(self) -> list[KvEvent]:
        events = self.cache.pool.events
        self.cache.pool.events = []
        if self.offload is not None:
            events += self.offload.events
            self.offload.events = []
        return events
