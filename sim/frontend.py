"""The front door of an aggregated cluster: admission, tokenising, routing, dispatch, and the way back.

What happens when, for one request: it arrives; after the tokeniser's time the router chooses and books in one
instant; a dispatch later it stands in the worker's queue. The first token on its way back to the client
releases the booked prefill, the last one everything else. KV events reach the router's index through a
channel of their own.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Literal, Protocol

import simpy

from sim.channel import Channel
from sim.clock import Phase, at
from sim.coefficients import FrontendCoefficients
from sim.draw import draw
from sim.kv.events import KvEvent
from sim.kv.prefix import PrefixTable
from sim.record import Record
from sim.recorder import Recorder
from sim.router import Booking, NoEligibleWorkerError, Query, Router, Tier
from sim.worker.active import ActiveRequest
from sim.worker.engine import StepOutput
from sim.worker.worker import Worker
from sim.workload.request import Request

_ROUTER_TIERS: dict[str, Tier] = {"GPU": "device", "CPU": "host"}


class Delays(Protocol):
    """Seconds on the way: to the worker, and of KV events to the index."""

    @property
    def dispatch_s(self) -> float:
        """From the routing choice to the worker's queue."""

    @property
    def event_delay_s(self) -> float:
        """From a worker's output to the router's index."""


class Frontend:
    """Serves requests with the workers behind it: the `Outbox` of each of them.

    `attention_group` is the number of the engines' attention group: the router hears of no other, and of the
    CPU tier only with `host_events`. `track_outputs`: it hears of every block that an answer grows by.
    """

    def __init__(
        self,
        env: simpy.Environment,
        router: Router,
        prefixes: PrefixTable,
        recorder: Recorder,
        *,
        coefficients: FrontendCoefficients,
        delays: Delays,
        seed: int,
        max_model_len: int,
        attention_group: int,
        host_events: bool = False,
        track_outputs: bool = False,
    ) -> None:
        self.workers: Sequence[Worker] = ()
        """By rank; to be set before the first request."""
        self.ended: Callable[[Request], None] = lambda request: None
        """Is told of every request that is over."""
        self._env = env
        self._router = router
        self._prefixes = prefixes
        self._recorder = recorder
        self._coefficients = coefficients
        self._seed = seed
        self._max_model_len = max_model_len
        self._attention_group = attention_group
        self._tiers = ("GPU", "CPU") if host_events else ("GPU",)
        self._track_outputs = track_outputs
        self._to_worker = Channel(env, delays.dispatch_s, Phase.ARRIVAL)
        self._to_client = Channel(env, coefficients.alpha_out_s, Phase.OUTPUT)
        self._to_index = Channel(env, delays.event_delay_s, Phase.OUTPUT)

    # -- the way in -----------------------------------------------------------------------------------------

    def submit(self, request: Request) -> None:
        """A client sends a request now."""
        blocks = self._prefixes.prompt_blocks(request.chunks, request.prompt_tokens)
        record = Record(request, self._env.now, blocks)
        self._recorder.sent(record)
        reason = self._refusal(request)
        if reason is not None:
            self._end(record, "rejected", reason)
            return
        alpha = self._coefficients
        tokenised_s = alpha.alpha_in_s + alpha.alpha_in_s_per_token * request.prompt_tokens
        event = at(self._env, tokenised_s, Phase.ARRIVAL, request.index)
        event.callbacks.append(lambda _: self._route(record))

    def _refusal(self, request: Request) -> str | None:
        if request.prompt_tokens + request.output_tokens > self._max_model_len:
            return "exceeds_max_model_len"
        if not self.workers[0].engine.fits(request.prompt_tokens):
            return "prompt_exceeds_pool"
        return None

    def _route(self, record: Record) -> None:
        request, now_s = record.request, self._env.now
        query = Query(request.index, request.prompt_tokens, record.blocks, session=request.session)
        try:
            decision = self._router.choose(query, now_s, draw(self._seed, "route", request.index))
        except NoEligibleWorkerError:
            self._end(record, "rejected", "no_eligible_worker")
            return
        record.booking = self._router.book(query, decision.chosen, now_s)
        record.worker, record.ties, record.routed_s = decision.chosen.rank, decision.ties, now_s
        self._recorder.routed(record, decision)
        worker = self.workers[decision.chosen.rank]
        self._to_worker.send(request.index, lambda: self._enqueue(record, worker))

    def _enqueue(self, record: Record, worker: Worker) -> None:
        request = record.request
        full_blocks = (request.prompt_tokens + request.output_tokens) // self._prefixes.block_tokens
        generated = self._prefixes.private_blocks(full_blocks - len(record.blocks))
        record.active = ActiveRequest(
            request.index, request.prompt_tokens, request.output_tokens, [*record.blocks, *generated]
        )
        record.queued_s = self._env.now
        worker.add(record.active)

    # -- the way back ---------------------------------------------------------------------------------------

    def output(self, worker: int, output: StepOutput) -> None:
        """Send on what a step gave: news for the index, first and last tokens for clients and bookings."""
        events = [event for event in output.events if self._seen_by_router(event)]
        if events:
            self._to_index.send(worker, lambda: self._index(worker, events))
        for request in output.tokens:
            if request.outputs == 1:
                self._to_client.send(worker, partial(self._first_token, self._record(request)))
            if self._track_outputs and self._opens_block(request):
                self._to_client.send(worker, partial(self._progress, self._record(request), request.outputs))
        for request in output.finished:
            self._to_client.send(worker, partial(self._finish, self._record(request), "completed", None))

    def outgrown(self, worker: int, request: ActiveRequest) -> None:
        """A worker gave a request up."""
        record = self._record(request)
        self._to_client.send(worker, lambda: self._finish(record, "rejected", "outgrew_pool"))

    def _opens_block(self, request: ActiveRequest) -> bool:
        """Whether the newest token is the first of a block."""
        return request.num_tokens % self._prefixes.block_tokens == 1 % self._prefixes.block_tokens

    def _record(self, request: ActiveRequest) -> Record:
        return self._recorder.records[request.request_id]

    def _progress(self, record: Record, tokens: int) -> None:
        self._router.output_tokens(_booking(record), tokens, self._env.now)

    def _first_token(self, record: Record) -> None:
        record.first_token_s = self._env.now
        self._router.first_token(_booking(record), self._env.now)

    def _finish(self, record: Record, status: Literal["completed", "rejected"], reason: str | None) -> None:
        self._router.free(_booking(record), self._env.now)
        self._end(record, status, reason)

    def _end(self, record: Record, status: Literal["completed", "rejected"], reason: str | None) -> None:
        self._recorder.end(record, self._env.now, status, reason)
        self.ended(record.request)

    # -- KV events ------------------------------------------------------------------------------------------

    def _seen_by_router(self, event: KvEvent) -> bool:
        return event.group == self._attention_group and event.tier in self._tiers and bool(event.blocks)

    def _index(self, worker: int, events: Iterable[KvEvent]) -> None:
        for event in events:
            tier = _ROUTER_TIERS[event.tier]
            if event.stored:
                self._router.stored(worker, event.parent, event.blocks, tier)
            else:
                self._router.removed(worker, event.blocks, tier)


def _booking(record: Record) -> Booking:
    assert record.booking is not None, "workers serve booked requests only"
    return record.booking
