"""The front door of an aggregated cluster: admission, tokenising, routing, dispatch, and the way back.

What happens when, for one request: it arrives; after the tokeniser's time the router chooses and books in one
instant; a dispatch later it stands in the worker's queue. The first token on its way back to the client releases
the booked prefill, the last one everything else. KV events reach the router's index through a channel of their own.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import simpy

from sim.channel import Channel
from sim.clock import Phase, at
from sim.coefficients import FrontendCoefficients
from sim.draw import draw
from sim.kv.events import KvEvent
from sim.kv.prefix import PrefixTable
from sim.record import Record
from sim.recorder import Recorder
from sim.router import NoEligibleWorkerError, Query, Router
from sim.worker.active import ActiveRequest
from sim.worker.engine import StepOutput
from sim.worker.worker import Worker
from sim.workload.request import Request


class Delays(Protocol):
    """Seconds on the way: to the worker, and of KV events to the index."""

    dispatch_s: float
    event_delay_s: float


class Frontend:
    """Serves requests with the workers behind it; `ended` is told of every one that is over."""

    def __init__(
        self,
        env: simpy.Environment,
        router: Router,
        prefixes: PrefixTable,
        recorder: Recorder,
        coefficients: FrontendCoefficients,
        delays: Delays,
        *,
        seed: int,
        max_model_len: int,
        attention_group: int,
        host_events: bool = False,
        track_outputs: bool = False,
    ) -> None:
        self.workers: Sequence[Worker] = ()
        self.ended: Callable[[Request], None] = lambda request: None
        self._env = env
        self._router = router
        self._prefixes = prefixes
        self._recorder = recorder
        self._alpha = coefficients
        self._seed = seed
        self._max_model_len = max_model_len
        self._attention_group = attention_group
        self._host_events = host_events
        self._track_outputs = track_outputs
        self._to_worker = Channel(env, delays.dispatch_s, Phase.ARRIVAL)
        self._to_client = Channel(env, coefficients.alpha_out_s, Phase.OUTPUT)
        self._to_index = Channel(env, delays.event_delay_s, Phase.OUTPUT)

    # -- the way in -----------------------------------------------------------------------------------------

    def submit(self, request: Request) -> None:
        """A client sends a request now."""
        record = Record(request, self._env.now)
        record.blocks = self._prefixes.prompt_blocks(request.chunks, request.prompt_tokens)
        self._recorder.sent(record)
        reason = self._refusal(request)
        if reason is not None:
            self._end(record, "rejected", reason)
            return
        tokenised_s = self._alpha.alpha_in_s + self._alpha.alpha_in_s_per_token * request.prompt_tokens
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
        self._recorder.routed(record, decision, now_s)
        self._to_worker.send(request.index, lambda: self._enqueue(record))

    def _enqueue(self, record: Record) -> None:
        request = record.request
        worker = self.workers[record.booking.rank] if record.booking is not None else self.workers[0]
        full_blocks = (request.prompt_tokens + request.output_tokens) // self._prefixes.block_tokens
        generated = self._prefixes.private_blocks(full_blocks - len(record.blocks))
        record.active = ActiveRequest(
            request.index, request.prompt_tokens, request.output_tokens, [*record.blocks, *generated]
        )
        record.queued_s = self._env.now
        worker.add(record.active)

    # -- the way back (an Outbox of every worker) -------------------------------------------------------------

    def output(self, worker: int, output: StepOutput) -> None:
        """Send on what a step gave: news for the index, first and last tokens for clients and bookings."""
        events = [event for event in output.events if self._seen_by_router(event)]
        if events:
            self._to_index.send(worker, lambda: self._index(worker, events))
        for request in output.tokens:
            if request.outputs == 1:
                self._to_client.send(worker, lambda record=self._record(request): self._first_token(record))
            if self._track_outputs:
                self._send_progress(worker, request)
        for request in output.finished:
            self._to_client.send(worker, lambda record=self._record(request): self._last_token(record))

    def outgrown(self, worker: int, request: ActiveRequest) -> None:
        """A worker gave a request up."""
        record = self._record(request)
        self._to_client.send(worker, lambda: self._finish(record, "rejected", "outgrew_pool"))

    def _record(self, request: ActiveRequest) -> Record:
        return self._recorder.records[request.request_id]

    def _send_progress(self, worker: int, request: ActiveRequest) -> None:
        record, tokens = self._record(request), request.outputs
        if -(-(request.prompt_tokens + tokens) // self._prefixes.block_tokens) != -(
            -(request.prompt_tokens + tokens - 1) // self._prefixes.block_tokens
        ):
            self._to_client.send(worker, lambda: self._progress(record, tokens))

    def _progress(self, record: Record, tokens: int) -> None:
        if record.booking is not None:
            self._router.output_tokens(record.booking, tokens, self._env.now)

    def _first_token(self, record: Record) -> None:
        record.first_token_s = self._env.now
        if record.booking is not None:
            self._router.first_token(record.booking, self._env.now)

    def _last_token(self, record: Record) -> None:
        self._finish(record, "completed", None)

    def _finish(self, record: Record, status: str, reason: str | None) -> None:
        if record.booking is not None:
            self._router.free(record.booking, self._env.now)
        self._end(record, status, reason)

    def _end(self, record: Record, status: str, reason: str | None) -> None:
        self._recorder.end(record, self._env.now, status, reason)
        self.ended(record.request)

    # -- KV events --------------------------------------------------------------------------------------------

    def _seen_by_router(self, event: KvEvent) -> bool:
        """Only attention blocks, and of the CPU tier only if its events describe themselves."""
        in_attention = event.group == self._attention_group
        return in_attention and bool(event.blocks) and (event.tier == "GPU" or self._host_events)

    def _index(self, worker: int, events: Iterable[KvEvent]) -> None:
        for event in events:
            tier = "device" if event.tier == "GPU" else "host"
            if event.stored:
                self._router.stored(worker, event.parent, event.blocks, tier)
            else:
                self._router.removed(worker, event.blocks, tier)
