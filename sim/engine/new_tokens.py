"""What requests receive of a step's output: a token, with drafts those that were accepted too."""

from collections.abc import Callable
from sys import maxsize

from sim.engine.active import ActiveRequest, Status
from sim.engine.plan import Chunk, StepPlan
from sim.engine.rules.registering import leaves_out_all_in_flight
from sim.engine.settings import EngineSettings
from sim.engine.speculation import DraftCounts, Speculation
from sim.kv.hybrid import KvCache


class NewTokens:
    """Hands out the tokens of one engine. `ended` lets a request go that received its last, at once."""

    def __init__(
        self,
        cache: KvCache,
        settings: EngineSettings,
        speculation: Speculation | None,
        ended: Callable[[ActiveRequest], None],
    ) -> None:
        self.draft_counts = DraftCounts()
        self._cache = cache
        self._speculation = speculation
        self._ended = ended
        self._async_scheduling = settings.asynchronous
        self._leaves_out_in_flight = leaves_out_all_in_flight(settings.rule_set.registering)
        self._max_model_len = settings.max_model_len or maxsize

    def receive(self, plan: StepPlan) -> tuple[list[Chunk], list[ActiveRequest]]:
        """Return who receives how many, in scheduling order, and the requests whose last token is among
        them."""
        return self._receive_single(plan) if self._speculation is None else self._receive_drafted(plan)

    def _receive_single(self, plan: StepPlan) -> tuple[list[Chunk], list[ActiveRequest]]:
        received = plan.emitting
        for request in received:
            if request.stale:
                received = [other for other in received if not self._is_stale(other, 1)]
                break
        finished = [request for request in received if self._receive_tokens(request, 1)]
        return [(request, 1) for request in received], finished

    def _receive_drafted(self, plan: StepPlan) -> tuple[list[Chunk], list[ActiveRequest]]:
        """Where drafts were checked, request receives those accepted and one token more.

        What was rejected is taken back, unless the request was preempted meanwhile. Whether drafts are
        accepted is asked for every step that ran, one of a request that has ended too.
        """
        speculation, given, finished = self._speculation, list[Chunk](), list[ActiveRequest]()
        assert speculation is not None
        for request in plan.emitting:
            drafts = plan.drafts_of(request)
            accepted = self._accepted(plan, request, drafts) if drafts else 0
            if request.status is Status.FINISHED or self._is_stale(request, 1 + drafts):
                continue
            if drafts:
                self.draft_counts.count(drafts, accepted)
                request.placeholders -= drafts - accepted
                if request.status is Status.RUNNING:
                    request.computed -= drafts - accepted
            known = request.outputs
            if self._receive_tokens(request, 1 + accepted):
                finished.append(request)
            elif not self._async_scheduling:
                request.drafts = speculation.tokens
            given.append((request, request.outputs - known))
        return given, finished

    def _accepted(self, plan: StepPlan, request: ActiveRequest, drafts: int) -> int:
        assert self._speculation is not None
        step = request.draft_steps
        request.draft_steps += 1
        if request.request_id in plan.padded:
            return 0
        return self._speculation.acceptance.accepted(request.request_id, step, drafts)

    def _is_stale(self, request: ActiveRequest, tokens: int) -> bool:
        """Whether what came for a request, that it had so many places for, is to be thrown away."""
        if not request.stale:
            return False
        request.stale -= tokens
        request.placeholders -= tokens
        return True

    def _receive_tokens(self, request: ActiveRequest, tokens: int) -> bool:
        """Hand a request its tokens, up to its last; return whether that was among them."""
        if tokens > 1:
            left = min(request.output_tokens - request.outputs, self._max_model_len - request.num_tokens)
            tokens = min(tokens, max(left, 1))
        request.outputs += tokens
        request.placeholders -= tokens
        if self._async_scheduling and request.status is Status.RUNNING:
            unsettled = request.in_flight if self._leaves_out_in_flight else request.placeholders
            self._cache.register(request.tables, request.block_ids, request.computed - unsettled)
        if request.outputs < request.output_tokens and request.num_tokens < self._max_model_len:
            return False
        self._ended(request)
        return True
