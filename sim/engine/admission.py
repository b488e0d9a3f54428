"""Who may run: the queues of one engine, and how waiting requests are admitted from them.

Each is admitted only if its whole known sequence fits in the free blocks now; the first that does not fit
blocks those behind it.
"""

from collections import deque
from sys import maxsize

from sim.engine.active import ActiveRequest, Status
from sim.engine.chunk_sizes import ChunkSizes
from sim.engine.connector import OffloadingConnector
from sim.engine.draft_steps import only_decodes
from sim.engine.lookup import Lookup
from sim.engine.nixl import NixlConnector
from sim.engine.plan import Admission, StepPlan
from sim.engine.priority import insert
from sim.engine.rules.chunk_stops import chunk_stops
from sim.engine.rules.preemption import preemption
from sim.engine.rules.prefill_interval import prefill_interval
from sim.engine.rules.prefill_threshold import prefill_threshold
from sim.engine.rules.queues import queues
from sim.engine.settings import EngineSettings
from sim.engine.slots import Slots
from sim.engine.speculation import Speculation
from sim.kv.hit import NO_HIT, Hit
from sim.kv.hybrid import KvCache


class Queues:
    """Queues and admission of one engine: without `offload` no tier below, without `nixl` no other engine.

    With both, vLLM's MultiConnector asks them in order: `nixl` first unless `offload_first`.
    """

    def __init__(
        self,
        cache: KvCache,
        settings: EngineSettings,
        offload: OffloadingConnector | None = None,
        nixl: NixlConnector | None = None,
        *,
        offload_first: bool = False,
        speculation: Speculation | None = None,
    ) -> None:
        self.cache = cache
        self.offload = offload
        self.nixl = nixl
        self.lookup = Lookup(
            cache, offload, nixl, offload_first=offload_first, dies_on_full_hit=settings.vllm_0_28_faults
        )
        # A connector that consumes lets blocks go only when no step in flight can write to them.
        self._frees_late = nixl.consumer if nixl is not None else offload is not None
        self.running: list[ActiveRequest] = []
        self.waiting: deque[ActiveRequest] = deque()
        self.skipped: deque[ActiveRequest] = deque()
        """Served before `waiting`; who is here is a rule of the release (`rules/queues.py`)."""
        self.loading: dict[int, ActiveRequest] = {}
        """Requests with blocks whose content arrives from outside, until they run."""
        self.arrived: set[int] = set()
        """Requests whose load was reported complete and that were not looked at since."""
        self.last_plan: StepPlan | None = None
        self._steps = self._arrivals = 0
        rules = settings.rule_set
        self._by_priority = settings.scheduling_policy == "priority"
        self._queues = queues(rules.queues, by_priority=self._by_priority)
        self._preemption = preemption(rules.preemption, frees_late=self._frees_late)
        self._interval = prefill_interval(rules.prefill_interval, settings)
        self._slots = Slots(cache, int(settings.watermark * cache.pool.num_blocks))
        # Plain numbers: looked at for every request of every step.
        self._step_tokens = settings.max_num_batched_tokens
        self._max_seqs = settings.max_num_active_seqs or settings.max_num_seqs
        self._max_model_len = settings.max_model_len or maxsize
        self._async_scheduling = settings.asynchronous
        self._drafts = speculation.tokens if speculation is not None else 0
        self._draft_slots = speculation.slots if speculation is not None else 0
        self._sizes = ChunkSizes(
            cache,
            settings,
            speculation,
            prefill_threshold(rules.prefill_threshold, settings),
            chunk_stops(
                rules.chunk_stops,
                cache.block_tokens,
                early=cache.drafts.drops_last_block,
                saves_inside=cache.states.saves_inside,
            ),
        )

    def add(self, request: ActiveRequest) -> None:
        """A request comes."""
        request.arrival = self._arrivals
        self._arrivals += 1
        if self.nixl is not None:
            self.nixl.arrives(request)
        if self._by_priority:
            insert(self.waiting, request)
        else:
            self.waiting.append(request)

    def free(self, request: ActiveRequest) -> None:
        """Give the blocks of a request back, of some engines only after the steps in flight."""
        if self._frees_late and request.in_flight and self.last_plan is not None:
            self.last_plan.freed_after += self.cache.detach(request.tables)
        else:
            self.cache.free(request.tables)

    def _schedule_waiting(self, plan: StepPlan, budget: int) -> None:
        passed: list[ActiveRequest] = []
        slots = self._draft_slots
        pads = self._drafts > 0 and only_decodes(plan)
        interval = self._interval
        try:
            while budget > slots and (self.waiting or self.skipped) and len(self.running) < self._max_seqs:
                queue = self._queues.next_queue(self.skipped, self.waiting)
                request = queue[0]
                if self._must_wait(request):
                    passed.append(queue.popleft())
                    continue
                # Nothing is looked up for a request whose load has arrived.
                hit, external = (NO_HIT, 0) if request.computed else self.lookup.find(request)
                if external is None:
                    passed.append(queue.popleft())
                    continue
                loading = external > 0 and not self._loads_now(request)
                start = request.computed or hit.tokens + external
                tokens = padding = 0
                if not loading:
                    tokens, padding = self._first_chunk(request, start, budget - slots, pads)
                    if tokens == 0:
                        break
                reserved = self.reserved_blocks() if loading else None
                if not self._slots.join(
                    request, tokens, hit, external, others_run=bool(self.running), reserved=reserved
                ):
                    break
                queue.popleft()
                self._admit(request, hit, external, plan, loading)
                if interval is not None and not loading and start < request.num_tokens - 1:
                    interval.carried = True
                if loading:
                    passed.append(request)
                    continue
                plan.schedule(request, tokens)
                if padding:
                    plan.draft(request, padding)
                    plan.padded.append(request.request_id)
                budget -= tokens + slots
        finally:  # an engine that dies here must still know them, to give them up
            self._queues.put_back(passed, self.skipped, self.waiting)
            if interval is not None:
                interval.pass_over(passed)

    def _first_chunk(self, request: ActiveRequest, start: int, budget: int, pads: bool) -> tuple[int, int]:
        """Return what a waiting request computes from `start` on, and how many drafts fill it up; 0: nothing.

        One that joins decodes with a single token is filled up, if `pads`.
        """
        left = request.num_tokens - start
        if self._interval is not None and self._interval.held and left > 1:
            return 0, 0
        padding = self._drafts if pads and left == 1 else 0
        return self._sizes.of_waiting(request, start, padding, budget), padding

    def _loads_now(self, request: ActiveRequest) -> bool:
        """Whether what a look-up found for a request is loaded within the step."""
        return self.offload is not None and request.remote is None and self.offload.loads_now(request)

    @property
    def holds_for_a_time(self) -> bool:
        """Whether requests wait that a later step like the last one may take."""
        return self._interval is not None and bool(self.waiting or self.skipped)

    def decoded(self, steps: int) -> None:
        """So many steps of nothing but decoding were taken at once."""
        if self._interval is not None:
            self._interval.advance(steps)

    def forget(self, request: ActiveRequest) -> None:
        """A request leaves."""
        if self._interval is not None:
            self._interval.forget(request)

    def _must_wait(self, request: ActiveRequest) -> bool:
        if request.status is Status.LOADING:
            if request.request_id not in self.arrived:
                return True
            self._promote(request)
        return request.status is Status.PREEMPTED and request.in_flight > 0

    def _admit(self, request: ActiveRequest, hit: Hit, external: int, plan: StepPlan, loading: bool) -> None:
        resumed = request.preemptions > 0
        arrived = request.computed > 0
        if not arrived:
            request.computed = hit.tokens + external
            if not resumed:
                request.local_tokens, request.external_tokens = hit.tokens, external
            plan.admitted.append(Admission(request, hit.tokens, external, loading, resumed))
        if external > 0:
            if request.remote is not None:
                assert self.nixl is not None
                plan.pulls.append(self.nixl.start_pull(request, hit.tokens))
            else:
                assert self.offload is not None
                job = self.offload.start_load(request, hit.tokens, external)
                plan.loads.append(job)
                if not loading:
                    plan.loads_now.append(job.job_id)
        elif self.nixl is not None:
            self.nixl.decline(request)
        if loading:
            request.status = Status.LOADING
            self.loading[request.request_id] = request
        else:
            request.status = Status.RUNNING
            request.prefilling = True
            self.forget(request)
            if self.loading.pop(request.request_id, None) is not None:
                self.cache.retake(request.tables)
            self.running.append(request)

    def _promote(self, request: ActiveRequest) -> None:
        """What a request waited for is in its blocks: findable, and scheduled like a waiting request."""
        self.arrived.discard(request.request_id)
        request.status = Status.PREEMPTED if request.preemptions else Status.WAITING
        self.cache.register(request.tables, request.block_ids, request.computed)
        request.computed = min(request.computed, request.num_tokens - 1)

    def reserved_blocks(self) -> int:
        """Blocks that prefills already admitted will still take: a load may not grab them."""
        prefilling = (request for request in self.running if request.prefilling)
        return self._slots.reserved((*prefilling, *self.loading.values()))
