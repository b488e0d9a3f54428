"""One vLLM engine without its clock: scheduler, KV cache and tiers joined.

`schedule` plans a step, `complete` processes its output. With asynchronous scheduling two steps are in
flight: step k+1 is planned before the output of step k is processed. KV events happen when a step is planned
(or an output registers a block) and are published with the next output that is processed.
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from sys import maxsize

from sim.engine.active import ActiveRequest, Status
from sim.engine.connector import OffloadingConnector
from sim.engine.kv_events import KvEvents
from sim.engine.new_tokens import NewTokens
from sim.engine.nixl import NixlConnector
from sim.engine.plan import StepOutput, StepPlan
from sim.engine.scheduler import Scheduler
from sim.engine.settings import EngineSettings
from sim.engine.speculation import DraftCounts, Speculation
from sim.engine.steady import SteadyDecode
from sim.kv.events import KvEvent
from sim.kv.hybrid import KvCache
from sim.kv.key_runs import Key

LIVELOCK_STEPS = 1000
"""Steps that preempt, without a token between them, after which none is expected any more."""


class Engine:
    """One engine; `add`, then `schedule` and `complete` in turn."""

    def __init__(
        self,
        cache: KvCache,
        settings: EngineSettings,
        offload: OffloadingConnector | None = None,
        nixl: NixlConnector | None = None,
        *,
        offload_first: bool = False,
        tells_growth: bool = False,
        speculation: Speculation | None = None,
    ) -> None:
        """Join the parts. `tells_growth`: somebody wants to know of every block that an answer grows by."""
        self.cache = cache
        self.max_model_len = settings.max_model_len or maxsize
        self.settings = settings
        self.offload = offload
        self.nixl = nixl
        self.speculation = speculation
        self.scheduler = Scheduler(
            cache, settings, offload, nixl, offload_first=offload_first, speculation=speculation
        )
        self.steady = SteadyDecode(cache, self.scheduler, offload, tells_growth=tells_growth)
        self.steps: deque[StepPlan] = deque()
        """Planned and not yet processed, oldest first."""
        self.max_steps = 2 if settings.asynchronous else 1
        self.failed_stores = 0
        """Stores that found no room in the first tier when the last step was planned."""
        self._finished_unreported = False
        self._barren_steps = 0
        self.preempted: list[ActiveRequest] = []
        """Requests that were preempted and have not been looked at by `drop_outgrown` since."""
        self._landing: dict[int, ActiveRequest] = {}
        """Requests that were aborted while their blocks are written to from outside: kept until that ends."""
        self._events = KvEvents(cache, offload)
        self._tokens = NewTokens(cache, settings, speculation, self._ended)

    @property
    def draft_counts(self) -> DraftCounts:
        """What came of drafts."""
        return self._tokens.draft_counts

    def count_anew(self) -> None:
        """Let what it counts begin at 0."""
        self._tokens.draft_counts = DraftCounts()
        self.scheduler.lookup.nothing_left = 0

    @property
    def has_work(self) -> bool:
        """Whether vLLM's loop would call schedule once more; copies under way keep it going."""
        scheduler = self.scheduler
        if scheduler.running or scheduler.waiting or scheduler.skipped or self._finished_unreported:
            return True
        if self.nixl is not None and self.nixl.held:
            return True
        return self.offload is not None and bool(self.offload.jobs)

    @property
    def needs_step(self) -> bool:
        """`has_work`, but for a step that would only wait for tokens on their way and change nothing."""
        if self.livelocked:
            return False
        scheduler = self.scheduler
        if scheduler.waiting or scheduler.skipped:
            return True
        if self.offload is not None:
            return self.has_work
        for request in scheduler.running:  # no `any`, which makes a generator for what the first one says
            if not request.ends:
                break
        else:
            return False
        return True

    @property
    def livelocked(self) -> bool:
        """Whether requests have preempted each other for so long that only something from outside ends it.

        vLLM 0.28.0 does so for ever when two requests in turn recompute a few tokens, need one block more
        than there are, and are both preempted because the first one's blocks return a step too late.
        """
        return self._barren_steps > LIVELOCK_STEPS

    @property
    def waiting(self) -> int:
        """Requests in the queue, those that wait for a load included."""
        return len(self.scheduler.waiting) + len(self.scheduler.skipped)

    @property
    def requests(self) -> list[ActiveRequest]:
        """All that are queued or running, in no order that matters."""
        scheduler = self.scheduler
        return [*scheduler.running, *scheduler.skipped, *scheduler.waiting]

    def fits(self, tokens: int) -> bool:
        """Whether a request of so many tokens can always be served by a pool that it has to itself.

        A recurrent group holds two states at once, the one a step starts from and the one it makes: vLLM
        0.28.0 counts so when it checks the longest sequence against the pool.
        """
        return self.cache.longest_blocks(tokens) < self.cache.pool.num_blocks

    def add(self, request: ActiveRequest) -> None:
        """Queue a request; the next `schedule` sees it."""
        self.stir()
        self.scheduler.add(request)

    def stir(self) -> None:
        """Something came from outside: requests that preempted each other for ever may get on now."""
        self._barren_steps = 0

    def schedule(self) -> StepPlan:
        """Plan the next step; it is in flight until `complete`."""
        plan = self.scheduler.repeat() if self.steady.across_blocks else None
        if plan is None:
            plan = self._schedule_anew()
        self.steps.append(plan)
        return plan

    def _schedule_anew(self) -> StepPlan:
        # What is left of requests that ended may be stored in the step after.
        offload = self.offload
        may_store = offload is not None and self._finished_unreported
        self._finished_unreported = False
        before = self.steady.standing()
        failed_before = 0 if offload is None else offload.failed_stores
        plan = self.scheduler.schedule()
        if offload is not None:
            self.failed_stores = offload.failed_stores - failed_before
        plan.steady = not may_store and self.speculation is None and self.steady.is_steady(plan, before)
        if plan.preempted:
            self._barren_steps += 1
            self.preempted += plan.preempted
        return plan

    def complete(
        self,
        done_jobs: Iterable[tuple[int, Sequence[Key] | None]] = (),
        pulled: Collection[int] = (),
        read: Collection[int] = (),
    ) -> StepOutput:
        """Process the oldest step's output, with what was reported by then.

        Copies to and from tiers (job, order of its keys); requests whose pull has ended; requests held
        here whose blocks were read by another engine.
        """
        plan = self.steps.popleft()
        for request, tokens in plan.scheduled:
            request.in_flight -= tokens
        if plan.freed_after:
            self.cache.pool.free(plan.freed_after)
        given, finished = self._tokens.receive(plan)
        if given:
            self._barren_steps = 0
        for job_id, order in done_jobs:
            self._job_done(job_id, order)
        if pulled or read:
            self.hear(pulled, read)
        return StepOutput(given, finished, self._events.publish())

    def hear(self, pulled: Iterable[int], read: Iterable[int]) -> None:
        """Take note of requests whose pull has ended, and let those go that were read by another engine."""
        for request_id in pulled:
            self._arrived(request_id)
        for request_id in read:
            self.release(request_id)

    def _arrived(self, request_id: int) -> None:
        """What a request waited for is in its blocks; one that was aborted meanwhile leaves."""
        request = self._landing.pop(request_id, None)
        if request is None:
            self.scheduler.arrived.add(request_id)
        else:
            self._leave(request, aborted=True)

    def abort(self, request: ActiveRequest) -> None:
        """Take out a request of this engine that nobody waits for any more.

        Its blocks return at once, as in vLLM 0.28.0, or when a load or pull into them has ended. What steps
        in flight generate for it is thrown away.
        """
        scheduler = self.scheduler
        self.stir()
        self._take_out(request)
        request.stale = request.placeholders
        scheduler.loading.pop(request.request_id, None)
        if request.status is Status.LOADING and request.request_id not in scheduler.arrived:
            request.status = Status.FINISHED
            self._landing[request.request_id] = request
            return
        scheduler.arrived.discard(request.request_id)
        self._leave(request, aborted=True)

    @property
    def idle(self) -> bool:
        """Whether nothing is queued, runs, or is kept for another engine."""
        held = self.nixl is not None and self.nixl.held
        return not (self.requests or held or self._landing)

    @property
    def landing(self) -> Collection[ActiveRequest]:
        """Requests that were aborted, and whose blocks are still written to from outside."""
        return self._landing.values()

    def release(self, request_id: int) -> bool:
        """Let the blocks of a held request go; False if they are not held any more."""
        request = self.nixl.release(request_id) if self.nixl is not None else None
        if request is not None:
            self.cache.free(request.tables)
        return request is not None

    def drop_outgrown(self) -> list[ActiveRequest]:
        """Take out preempted requests that have outgrown the pool: they can never be admitted again."""
        out_of_flight = [request for request in self.preempted if not request.in_flight]
        self.preempted = [request for request in self.preempted if request.in_flight]
        outgrown: list[ActiveRequest] = []
        for request in out_of_flight:
            if request.status is Status.PREEMPTED and not self.fits(request.num_tokens):
                self._take_out(request)
                self._leave(request, aborted=True)
                outgrown.append(request)
        return outgrown

    def drain_events(self) -> list[KvEvent]:
        """KV events since the last call, as they happened, published or not."""
        return self._events.drain_events()

    def publish(self) -> list[KvEvent]:
        """KV events not published yet: the device's first, then those of the tiers below."""
        return self._events.publish()

    def _ended(self, request: ActiveRequest) -> None:
        self._take_out(request)
        self._leave(request)

    def _take_out(self, request: ActiveRequest) -> None:
        scheduler = self.scheduler
        scheduler.forget(request)
        if request.status is Status.RUNNING:
            scheduler.running.remove(request)
        elif request in scheduler.waiting:
            scheduler.waiting.remove(request)
        else:
            scheduler.skipped.remove(request)

    def _leave(self, request: ActiveRequest, *, aborted: bool = False) -> None:
        request.status = Status.FINISHED
        if self.offload is not None or self.nixl is not None:
            self.cache.skip(request.tables, max(0, request.computed - request.in_flight))
        if self.offload is not None:
            self.offload.finished(request, aborted=aborted)
        if aborted:
            self.cache.free(request.tables)
        elif self.nixl is None or not self.nixl.keep(request):
            self.scheduler.free(request)
        self._finished_unreported = True

    def _job_done(self, job_id: int, order: Sequence[Key] | None) -> None:
        assert self.offload is not None
        job = self.offload.complete(job_id, order)
        if job.load and job.of_gpu and not job.now:
            self._arrived(job.request_id)
