"""The front door of an aggregated cluster: admission, tokenising, routing, dispatch, and the way back.

What happens when, for one request: it arrives; after the tokeniser's time the router chooses and books in one
instant; a dispatch later it stands in the worker's queue. The first token on its way back to the client
releases the booked prefill, the last one everything else. KV events reach the router's index through a
channel of their own.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf
from typing import Final, Literal, NamedTuple

import simpy

from sim.base.uniform import draw
from sim.cluster.delays import Answers, Arrivals, Delays
from sim.cluster.pool import Pool, PoolWorker
from sim.cluster.recorder import Recorder
from sim.cluster.request_record import Record
from sim.cluster.request_row import Status
from sim.engine.active import ActiveRequest
from sim.engine.plan import StepOutput, StepPlan
from sim.events.agenda import Agenda
from sim.events.channel import Channel
from sim.events.clock import Phase, at, at_time, comes_next
from sim.hardware.coefficient_file import FrontendCoefficients
from sim.kv.events import KvEvent
from sim.kv.prefix import PrefixTable
from sim.kv.runs import BlockRuns
from sim.router import Booking, Decision, NoEligibleWorkerError, Query
from sim.workload.request import Request

CANNOT_CONNECT: Final = "cannot_connect"
"""Why a request does not come to a worker that is gone."""
NUMBERS_OF_RETRIES: Final = 1 << 40
"""What engines call requests that are tried again, from here on: no index of a trace."""


class FrontDoor(NamedTuple):
    """What a scenario says of its front door, of one leg or of two."""

    agenda: Agenda
    coefficients: FrontendCoefficients
    delays: Delays
    seed: int
    max_model_len: int
    """In tokens, answer included."""
    attention_group: int
    """The engines' attention group: the router hears of no other,"""
    host_events: bool = False
    """and only then of the CPU tier."""
    track_outputs: bool = False
    """Whether the router hears of every block that an answer grows by."""
    migration_limit: int = 0
    """How often a request is tried again whose worker was lost,"""
    migration_max_tokens: float = inf
    """unless it is longer than this."""


class Frontend:
    """Serves requests with the workers behind it: the `Outbox` of each of them."""

    def __init__(
        self,
        env: simpy.Environment,
        pool: Pool,
        prefixes: PrefixTable,
        recorder: Recorder,
        door: FrontDoor,
    ) -> None:
        self.pool = pool
        """Its workers are to be set before the first request."""
        self.ended: Callable[[Request], None] = lambda request: None
        """Is told of every request that is over."""
        self.published: Callable[[int, Sequence[KvEvent], float], None] | None = None
        """Is told of the KV events of every worker's output: worker, events, time."""
        self.booked: Callable[[Record, Pool, Decision, Booking], None] | None = None
        """Is told of every booking, right after it was made."""
        self.retried: Callable[[Record], None] | None = None
        """Is told of every request that is to be tried again, before it has another number."""
        self.unreachable: Callable[[int, ActiveRequest], None] | None = None
        """Is told of a request that came to a worker which is gone, in place of its being given up."""
        self.closed = False
        """Whether nobody listens: requests are rejected."""
        self.answers: Answers | None = None
        self.arrivals: Arrivals | None = None
        self._env = env
        self._prefixes = prefixes
        self._recorder = recorder
        self._coefficients = door.coefficients
        self._seed = door.seed
        self._max_model_len = door.max_model_len
        self._attention_group = door.attention_group
        self._tiers = ("device", "host") if door.host_events else ("device",)
        self._track_outputs = door.track_outputs
        self._migration_limit = door.migration_limit
        self._migration_max_tokens = door.migration_max_tokens
        self._next_number = NUMBERS_OF_RETRIES
        self._to_worker = Channel(env, door.delays.dispatch_s, Phase.ARRIVAL)
        self._to_client = Channel(env, door.coefficients.alpha_out_s, Phase.OUTPUT)
        self._agenda = door.agenda
        self.event_delay_s = door.delays.event_delay_s

    # -- the way in -----------------------------------------------------------------------------------------

    def submit(self, request: Request) -> None:
        """A client sends a request now."""
        reason = self._refusal(request)
        if reason is not None:
            self._refuse(request, reason)
            return
        prompt = self._prefixes.add(request.chunks, request.prompt_tokens)
        record = Record(request, self._env.now, prompt.blocks)
        self._recorder.sent(record, prompt.required_tokens)
        alpha = self._coefficients
        tokenised_s = alpha.alpha_in_s + alpha.alpha_in_s_per_token * request.prompt_tokens
        if not tokenised_s and comes_next(self._env, Phase.ARRIVAL, request.index):
            self._route(record)
        else:
            event = at(self._env, tokenised_s, Phase.ARRIVAL, request.index)
            event.callbacks.append(lambda _: self._route(record))

    def blocks_of(self, request: Request) -> Sequence[int]:
        """Return what KV events call the full blocks of a prompt."""
        return self._prefixes.add(request.chunks, request.prompt_tokens).blocks

    def _refusal(self, request: Request) -> str | None:
        if self.closed:
            return "frontend_down"
        if request.prompt_tokens + request.output_tokens > self._max_model_len:
            return "exceeds_max_model_len"
        if not self.pool.workers[0].engine.fits(request.prompt_tokens):
            return "prompt_exceeds_pool"
        return None

    def _refuse(self, request: Request, reason: str) -> None:
        """Turn a request away at the door: no later prompt is known for it."""
        record = Record(request, self._env.now, BlockRuns(()))
        self._recorder.sent(record, self._prefixes.required_tokens(request.chunks, request.prompt_tokens))
        self._end(record, "rejected", reason)

    def _route(self, record: Record) -> None:
        """Choose a worker, book the request there, and send it on its way."""
        if record.over:
            return
        decision = self._choose(record, self.pool)
        if decision is None:
            self._nobody(record)
            return
        record.booking = self._book(record, self.pool, decision)
        self._routed(record, decision.chosen.rank, decision)
        worker = self.pool.workers[decision.chosen.rank]
        self._dispatch(record, lambda: self._enqueue(record, worker))

    def _routed(self, record: Record, worker: int, decision: Decision) -> None:
        record.worker = worker
        if record.routed_s is None:
            record.ties, record.routed_s = decision.ties, self._env.now

    def _nobody(self, record: Record) -> None:
        """No worker may serve the request."""
        self._end(record, "failed" if record.retries else "rejected", "no_eligible_worker")

    def _dispatch(self, record: Record, enqueue: Callable[[], None], *, decode: bool = False) -> None:
        """Send a request on its way to the worker that was chosen."""
        index, request_id = record.request.index, record.request_id

        def arrive() -> None:
            if not record.over and record.request_id == request_id:
                enqueue()

        queued = self.arrivals.queued(index, decode=decode) if self.arrivals is not None else None
        if queued is None:
            self._to_worker.send(index, arrive, last=True)
        else:
            arrival = at_time(self._env, max(self._env.now, queued[0]), Phase.ARRIVAL, queued[1])
            arrival.callbacks.append(lambda _: arrive())

    def _query(self, record: Record, pool: Pool, pinned: int | None = None) -> Query:
        request = record.request
        return Query(
            request.index,
            record.prompt_tokens,
            record.blocks,
            session=request.session,
            overrides=pool.overrides,
            allowed=pool.alive,
            pinned=pinned,
        )

    def _choose(
        self, record: Record, pool: Pool, pinned: int | None = None, heard: float = inf
    ) -> Decision | None:
        """Ask the router, who has heard from ranks up to `heard` what arrived at this very instant."""
        if pool.router.keeps_index:
            self._agenda.settle(self._env.now, -1)
            pool.news.open(self._env.now, heard)
        number = draw(self._seed, f"route {pool.leg}", record.request.index)
        try:
            return pool.router.choose(self._query(record, pool, pinned), self._env.now, number)
        except NoEligibleWorkerError:
            return None

    def _book(self, record: Record, pool: Pool, decision: Decision) -> Booking:
        self._recorder.routed(record, decision, pool.leg, pool.first, self._env.now)
        booking = pool.router.book(self._query(record, pool), decision.chosen, self._env.now)
        if self.booked is not None:
            self.booked(record, pool, decision, booking)
        return booking

    def _enqueue(self, record: Record, worker: PoolWorker) -> None:
        """A request has come to the worker that was chosen first."""
        self._enqueue_whole(record, worker)

    def _enqueue_whole(self, record: Record, worker: PoolWorker) -> None:
        """Queue a request with a worker that computes its prompt and its answer."""
        self._enqueue_as(self._active(record), record, worker)

    def _enqueue_as(self, leg: ActiveRequest, record: Record, worker: PoolWorker) -> None:
        record.active = leg
        if record.queued_s is None:
            record.queued_s = self._env.now
        worker.add(leg)

    def _active(self, record: Record) -> ActiveRequest:
        """Return the request as an engine sees it that computes its answer."""
        request = record.request
        if record.sequence is None:
            full_blocks = (request.prompt_tokens + request.output_tokens) // self._prefixes.block_tokens
            generated = self._prefixes.private_blocks(full_blocks - len(record.blocks))
            record.sequence = BlockRuns((*record.blocks.ranges, generated))
        left = request.output_tokens - record.generated
        return ActiveRequest(record.request_id, record.prompt_tokens, left, record.sequence)

    # -- the way back ---------------------------------------------------------------------------------------

    def output(self, worker: int, output: StepOutput) -> None:
        """Send on what a step gave: first and last tokens for clients and bookings."""
        self._send_tokens(worker, output)

    def kv_events(self, worker: int, events: list[KvEvent], output_s: float) -> None:
        """Send the router's index what it is to hear of."""
        self._publish(worker, events, output_s)
        self._send_events(self.pool, worker, events, output_s)

    def _publish(self, worker: int, events: Sequence[KvEvent], output_s: float) -> None:
        if self.published is not None:
            self.published(worker, events, output_s)

    def news(self, pool: Pool, events: Iterable[KvEvent]) -> list[KvEvent]:
        """Return those of a worker's events that the router of its pool is to hear of."""
        if not pool.router.keeps_index:
            return []
        group, tiers = self._attention_group, self._tiers
        return [event for event in events if event.group == group and event.tier in tiers and event.blocks]

    def _send_events(self, pool: Pool, worker: int, events: Iterable[KvEvent], output_s: float) -> None:
        seen = self.news(pool, events)
        if seen:
            heard_s = self.arrivals.heard_s(worker, output_s) if self.arrivals is not None else None
            if heard_s is None:
                heard_s = output_s + self.event_delay_s
            pool.news.send(heard_s, worker - pool.first, seen)

    def _send_tokens(self, worker: int, output: StepOutput) -> None:
        for request, tokens in output.tokens:
            if request.outputs == tokens:
                self._answer(worker, request, partial(self._first_token, self._record(request), request))
            if self._track_outputs and self._opens_block(request, tokens):
                progress = partial(self._progress, self._record(request), request, request.outputs)
                self._to_client.send(worker, progress)
        for request in output.finished:
            finish = partial(self._finish, self._record(request), request, "completed", None)
            self._answer(worker, request, finish, ended=True)

    def _answer(
        self, worker: int, request: ActiveRequest, act: Callable[[], None], *, ended: bool = False
    ) -> None:
        """Let the front door act on a first or last token when it sees it."""
        seen_s = self.answers.seen_s(request, ended=ended) if self.answers is not None else None
        if seen_s is None:
            self._to_client.send(worker, act, last=True)
        else:
            seen = at_time(self._env, max(self._env.now, seen_s), Phase.OUTPUT, worker)
            seen.callbacks.append(lambda _: act())

    def given_up(self, worker: int, request: ActiveRequest, reason: str) -> None:
        """A worker gave a request up."""
        if reason == CANNOT_CONNECT and self.unreachable is not None:
            self.unreachable(worker, request)
            return
        record = self._record(request)
        self._to_client.send(worker, lambda: self._finish(record, request, "rejected", reason))

    def died(self, worker: int) -> None:
        """A worker's engine is no more: nothing goes there any longer."""
        pool, rank = self.place(worker)
        pool.leave_out(rank)

    # -- faults ---------------------------------------------------------------------------------------------

    def pull_failed(self, request: int, worker: int) -> Literal["retried", "failed"] | None:
        """Aggregated workers read nothing from each other."""
        return None

    def interrupted(self, request: ActiveRequest, reason: str) -> Literal["retried", "failed"] | None:
        """A leg was lost with its worker: try the request on another one, with what it has, or fail it.

        Dynamo 1.5.0's request migration: within `migration_limit`, generated tokens appended to the prompt.
        None: it is served otherwise, or has ended.
        """
        record = self._recorder.records.get(request.request_id)
        if record is None or not record.served_as(request):
            return None
        self._let_go(record)
        length = record.prompt_tokens + (request.outputs if record.answering is request else 0)
        if record.retries == self._migration_limit or length > self._migration_max_tokens:
            self._end(record, "failed", reason)
            return "failed"
        self._try_again(record)
        return "retried"

    def abandon(self, index: int, status: Status, reason: str) -> bool:
        """A request is waited for no longer; return whether it had not ended. Workers abort it at once."""
        record = self._recorder.records.get(index)
        if record is None:
            return False
        self._let_go(record)
        self._abort(record)
        self._end(record, status, reason)
        return True

    def _try_again(self, record: Record) -> None:
        if self.retried is not None:
            self.retried(record)
        record.start_over()
        self._renumber(record)
        if record.sequence is not None:
            full_blocks = record.prompt_tokens // self._prefixes.block_tokens
            record.blocks = BlockRuns(record.sequence.between(0, full_blocks))
        if not self.pool.workers[0].engine.fits(record.prompt_tokens):
            self._end(record, "failed", "prompt_exceeds_pool")
            return
        self._route(record)

    def _renumber(self, record: Record) -> None:
        """Let engines call a request by another number, so that nothing of the lost one is taken for it."""
        self._recorder.tried_again(record, self._next_number)
        self._next_number += 1

    def _let_go(self, record: Record) -> None:
        """Take a request off the routers' books."""
        if record.booking is not None:
            self.pool.router.free(record.booking, self._env.now)

    def _abort(self, record: Record) -> None:
        """Tell the engine that serves a request to let it go."""
        if record.active is not None and record.worker is not None:
            self._worker(record.worker).abort(record.active)

    def pulls(self, worker: int, plan: StepPlan) -> None:
        """Aggregated workers read nothing from each other."""

    def _opens_block(self, request: ActiveRequest, tokens: int) -> bool:
        """Whether the first token of a block is among the newest."""
        return (request.num_tokens - 1) % self._prefixes.block_tokens < tokens

    def _record(self, request: ActiveRequest) -> Record:
        return self._recorder.records[request.request_id]

    def _progress(self, record: Record, leg: ActiveRequest, tokens: int) -> None:
        if not record.served_as(leg):
            return
        pool, booking = self._booked(record)
        pool.router.output_tokens(booking, tokens, self._env.now)

    def _first_token(self, record: Record, leg: ActiveRequest) -> None:
        if record.over:
            return
        if record.first_token_s is None:
            record.first_token_s = self._env.now
        if not record.served_as(leg):
            return
        pool, booking = self._booked(record)
        pool.router.first_token(booking, self._env.now)

    def _finish(
        self,
        record: Record,
        leg: ActiveRequest,
        status: Literal["completed", "rejected"],
        reason: str | None,
    ) -> None:
        if not record.served_as(leg):
            return
        pool, booking = self._booked(record)
        pool.router.free(booking, self._env.now)
        self._end(record, status, reason)

    @property
    def pools(self) -> Sequence[Pool]:
        """Its workers, by router."""
        return (self.pool,)

    def place(self, worker: int) -> tuple[Pool, int]:
        """Return the pool of a worker, and its rank there."""
        pool = next(pool for pool in reversed(self.pools) if worker >= pool.first)
        return pool, worker - pool.first

    def _worker(self, worker: int) -> PoolWorker:
        pool, rank = self.place(worker)
        return pool.workers[rank]

    def serving(self, record: Record, pool: Pool) -> tuple[ActiveRequest | None, int | None]:
        """Return as what, and on which worker, a request is served that is booked in a pool."""
        return record.active, record.worker

    def _booked(self, record: Record) -> tuple[Pool, Booking]:
        """Where a request that a worker serves is booked now."""
        assert record.booking is not None
        return self.pool, record.booking

    def _end(self, record: Record, status: Status, reason: str | None) -> None:
        self._recorder.end(record, self._env.now, status, reason)
        self.ended(record.request)
