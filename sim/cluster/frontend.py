"""The front door of a cluster: admission, tokenising, routing, dispatch, and the way back.

What happens when, for one request: it arrives; after the tokeniser's time the router chooses and books in one
instant; a dispatch later it stands in the worker's queue. The first token on its way back to the client
releases the booked prefill, the last one everything else. KV events reach the router's index on a way of
their own.

An aggregated cluster has one stage. A disaggregated one has two (Dynamo 1.5.0, vLLM 0.28.0): a prefill
worker's answer releases its booking, and the request is routed once more, to a decode worker, which pulls the
prompt's blocks and generates.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import inf
from typing import Final, Literal

from sim.cluster.api_server import QUEUE_LIMITS
from sim.cluster.balancer import Balancer
from sim.cluster.bypass import Bypass
from sim.cluster.delays import Delays, Part
from sim.cluster.dispatch import Dispatch
from sim.cluster.event_post import EventPost
from sim.cluster.front_door import FrontDoor, Listeners
from sim.cluster.kv_transfer import Pulls
from sim.cluster.pool import Pool, pool_of
from sim.cluster.prompts import Prompts
from sim.cluster.recorder import Recorder
from sim.cluster.refused import Refused
from sim.cluster.request_row import Status
from sim.cluster.request_state import RequestState, Visit
from sim.cluster.stage import Stage
from sim.cluster.way_back import WayBack
from sim.engine.active import ActiveRequest
from sim.engine.plan import StepOutput, StepPlan
from sim.events.clock import Clock, Phase
from sim.kv.events import KvEvent
from sim.workload.request import Request

DOWN: Final = "frontend_down"
"""Why a request is refused that nobody listens for."""
CANNOT_CONNECT: Final = "cannot_connect"
"""Why a request does not come to a worker that is gone."""


class Frontend:
    """Serves requests with the workers behind it, stage after stage: the `Outbox` of each of them."""

    def __init__(
        self,
        clock: Clock,
        stages: Sequence[Stage],
        prompts: Prompts,
        recorder: Recorder,
        *,
        door: FrontDoor,
        delays: Delays,
        listeners: Listeners,
        bypass: Bypass | None = None,
        pulls: Pulls | None = None,
        balancer: Balancer | None = None,
    ) -> None:
        """Join the parts; of two stages, `pulls` are the transfers between them.

        `balancer` stands before several front ends; None: there is one.
        """
        self.stages = stages
        self.pools: Sequence[Pool] = [stage.pool for stage in stages]
        """Its workers, by stage."""
        self.balancer = balancer or Balancer()
        """Who says which front end a request comes to, and which are there."""
        self.events = EventPost(self.pools, delays, door.attention_group, listeners.published)
        self.event_delay_s = delays.event_delay_s
        self._clock = clock
        self._next = {first.name: then for first, then in pairwise(stages)}
        self._bypass = bypass
        self._pulls = pulls
        self._prompts = prompts
        self._recorder = recorder
        self._coefficients = door.coefficients
        self._max_model_len = door.max_model_len
        self._track_outputs = door.track_outputs
        self._hosts = door.hosts
        self._dispatch = Dispatch(clock, delays, self.pools, hosts=door.hosts, pulls=pulls)
        self._way_back = WayBack(clock, delays, door.hosts)
        self._ended = listeners.ended
        self._unreachable = listeners.unreachable
        self._turned_away = listeners.turned_away

    # -- the way in -----------------------------------------------------------------------------------------

    def submit(self, request: Request) -> None:
        """A client sends a request now."""
        front_end = self.balancer.choose(request)
        too_long = self._refusal(request)
        if too_long is not None or (front_end is None and self._turned_away is None):
            self._refuse(request, DOWN if front_end is None else too_long)
            return
        record, required_tokens, held = self._prompts.sent(request, self._clock.now_s)
        self._recorder.sent(record, required_tokens, held)
        self._receive(record, front_end)

    def receive(self, record: RequestState) -> None:
        """A request that was refused is sent again."""
        self._receive(record, self.balancer.choose(record.request))

    def _receive(self, record: RequestState, front_end: int | None) -> None:
        """A request has come to a front end: it is routed when it has been tokenised."""
        if front_end is None:
            self._turn_away(record, DOWN)
            return
        record.front_end = front_end
        alpha, request = self._coefficients, record.request
        tokenising_s = alpha.alpha_in_s + alpha.alpha_in_s_per_token * request.prompt_tokens
        posted_s = now_s = self._clock.now_s
        if self._hosts is not None:
            posted_s = self._hosts.client.take(request.prompt_tokens, now_s)
        tokenised_s = posted_s + tokenising_s
        self._clock.at(tokenised_s, Phase.ARRIVAL, request.index, partial(self.route, record), last=True)

    def _turn_away(self, record: RequestState, reason: str) -> None:
        """No worker serves a request: it is over, unless its client sends it again."""
        if self._turned_away is None or not self._turned_away(record):
            self.end(record, "failed" if record.retries else "rejected", reason)

    def blocks_of(self, request: Request) -> Sequence[int]:
        """Return what KV events call the full blocks of a prompt."""
        return self._prompts.attention_blocks(request)

    def _refusal(self, request: Request) -> str | None:
        if request.prompt_tokens + request.output_tokens > self._max_model_len:
            return "exceeds_max_model_len"
        return next((stage.too_long for stage in self.stages if not stage.fits(request.prompt_tokens)), None)

    def _refuse(self, request: Request, reason: str | None) -> None:
        """Turn a request away at the door: no later prompt is known for it."""
        record, required_tokens, held = self._prompts.refused(request, self._clock.now_s)
        self._recorder.sent(record, required_tokens, held)
        self.end(record, "rejected", reason)

    def route(self, record: RequestState) -> None:
        """Let a request enter its first stage, unless it has ended."""
        if record.over:
            return
        rank = self._bypass.rank(record) if self._bypass is not None else None
        if self._bypass is None or rank is None:
            self._admit(record, self.stages[0])
        else:
            self._admit(record, self._bypass.local, pinned=rank)

    def _admit(
        self, record: RequestState, stage: Stage, *, pinned: int | None = None, heard: float = inf
    ) -> None:
        stage.admit(record, partial(self._enter, record, stage), pinned, heard)

    def _enter(self, record: RequestState, stage: Stage, visit: Visit | Refused) -> None:
        """Send a request on its way to the worker that was chosen, or back."""
        if isinstance(visit, Refused):
            self._turn_away(record, visit.reason)
            return
        self._dispatch.send(record, stage, visit)

    # -- the way back ---------------------------------------------------------------------------------------

    def output(self, worker: int, output: StepOutput) -> None:
        """Send on what a step gave: first and last tokens for clients and bookings, prompts for decoding."""
        for request, tokens in output.tokens:
            if request.for_remote:
                continue
            if request.outputs == tokens:
                first_token = partial(self._first_token, self._record(request), request)
                self._way_back.answer(worker, request, first_token, Part.FIRST_TOKEN)
            if self._track_outputs and self._opens_block(request, tokens):
                progress = partial(self._progress, self._record(request), request, request.outputs)
                self._way_back.tell(worker, request, progress)
        for request in output.finished:
            if request.for_remote:
                assert self._pulls is not None
                self._pulls.hold(request.request_id, worker)
                end = partial(self._prefilled, self._record(request), request)
            else:
                end = partial(self._finish, self._record(request), request, "completed", None)
            self._way_back.answer(worker, request, end, Part.END)

    def _opens_block(self, request: ActiveRequest, tokens: int) -> bool:
        """Whether the first token of a block is among the newest."""
        return (request.num_tokens - 1) % self._prompts.attention_block_tokens < tokens

    def _progress(self, record: RequestState, active: ActiveRequest, tokens: int) -> None:
        visit = record.visit
        if visit is not None and record.served_as(active):
            visit.router.output_tokens(visit.booking, tokens, self._clock.now_s)

    def _first_token(self, record: RequestState, active: ActiveRequest) -> None:
        if record.over:
            return
        if record.first_token_s is None:
            record.first_token_s = self._way_back.read_s()
        visit = record.visit
        if visit is not None and record.served_as(active):
            visit.first_token(self._clock.now_s)

    def _prefilled(self, record: RequestState, active: ActiveRequest) -> None:
        """The prefill worker's answer is here: release its booking, and enter the next stage."""
        visit = record.visit
        if visit is None or not record.served_as(active):
            return
        now_s = self._clock.now_s
        record.prefilled_s = now_s
        visit.first_token(now_s)
        visit.free(now_s)
        # Answers come before the KV events of an instant.
        self._admit(record, self._next[visit.stage], heard=-1)

    def _finish(
        self,
        record: RequestState,
        active: ActiveRequest,
        status: Literal["completed", "rejected"],
        reason: str | None,
    ) -> None:
        visit = record.visit
        if visit is not None and record.served_as(active):
            if visit.router.follows_answers:  # of its last block too, if that is full and no other was begun
                visit.router.output_tokens(visit.booking, active.outputs, self._clock.now_s)
            visit.free(self._clock.now_s)
            self._read(record, status, reason)

    def _read(
        self, record: RequestState, status: Literal["completed", "rejected"], reason: str | None
    ) -> None:
        """The end of an answer has come to its client, which may have to post prompts before it reads it."""
        read_s = self._way_back.read_s()
        if read_s <= self._clock.now_s:
            self.end(record, status, reason)
            return

        def end() -> None:
            if not record.over:
                self.end(record, status, reason)

        self._clock.at(read_s, Phase.OUTPUT, record.request.index, end)

    def end(self, record: RequestState, status: Status, reason: str | None) -> None:
        """A request is over: nobody serves it, no router has it on its books."""
        if self._pulls is not None:
            self._pulls.over(record.request_id)
        if record.first_token_s is not None and record.first_token_s > self._clock.now_s:
            record.first_token_s = None  # its client gave it up before it read that
        if record.returns and status in ("completed", "cancelled"):
            self._recorder.answered(record, self._prompts.answered(record))
        self._recorder.end(record, self._clock.now_s, status, reason)
        self._ended(record.request)

    # -- what else workers say ------------------------------------------------------------------------------

    def kv_events(self, worker: int, events: list[KvEvent], output_s: float) -> None:
        """Send the routers' indexes what they are to hear of."""
        self.events.send(worker, events, output_s)

    def given_up(self, worker: int, request: ActiveRequest, reason: str) -> None:
        """A worker gave a request up: what a prefill worker keeps for it is awaited no more."""
        if self._pulls is not None and not request.for_remote:
            self._pulls.given_up(request.request_id)
        if reason == CANNOT_CONNECT and self._unreachable is not None:
            self._unreachable(worker, request)
            return
        if reason in QUEUE_LIMITS:
            refuse = partial(self._refused, self._record(request), request, reason)
            self._way_back.tell(worker, request, refuse)
            return
        finish = partial(self._finish, self._record(request), request, "rejected", reason)
        self._way_back.tell(worker, request, finish)

    def _refused(self, record: RequestState, active: ActiveRequest, reason: str) -> None:
        """The server of the chosen worker has refused a request: it leaves the router's books."""
        visit = record.visit
        if visit is not None and record.served_as(active):
            visit.free(self._clock.now_s)
            self._turn_away(record, reason)

    def died(self, worker: int) -> None:
        """A worker's engine is no more, nor is what it kept for others: nothing goes there any longer."""
        pool, rank = self.place(worker)
        pool.leave_out(rank)
        if self._pulls is not None:
            self._pulls.lose(worker)

    def pulls(self, worker: int, plan: StepPlan) -> None:
        """Start what a decode worker reads, and tell prefill workers of what nobody needs."""
        if self._pulls is None:
            return
        for pull in plan.pulls:
            self._pulls.start(pull, worker)
        for request in plan.unneeded:
            self._pulls.unneeded(request)

    # -- who is where ---------------------------------------------------------------------------------------

    def place(self, worker: int) -> tuple[Pool, int]:
        """Return the pool of a worker, and its rank there."""
        pool = pool_of(self.pools, worker)
        return pool, pool.rank(worker)

    def _record(self, request: ActiveRequest) -> RequestState:
        return self._recorder.records[request.request_id]
