"""The front door of a disaggregated cluster: a prefill leg, then a decode leg (Dynamo 1.5.0, vLLM 0.28.0).

A request is routed to a prefill worker and booked there; its answer releases that booking. Then it is routed
once more, to a decode worker, which pulls the prompt's blocks and generates. With conditional disaggregation
some requests skip the first leg and are served by their decode worker alone.
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import simpy

from sim.cluster.frontend import FrontDoor, Frontend
from sim.cluster.kv_transfer import Pulls
from sim.cluster.pool import Pool, PoolWorker
from sim.cluster.recorder import Recorder
from sim.cluster.request_record import Record
from sim.cluster.request_row import Status
from sim.engine.active import ActiveRequest
from sim.engine.plan import StepOutput, StepPlan
from sim.kv.events import KvEvent
from sim.kv.prefix import PrefixTable
from sim.kv.runs import BlockRuns
from sim.router import Booking
from sim.router.conditional import ConditionalDisaggSettings, decide
from sim.workload.request import Request


class DisaggregatedFrontend(Frontend):
    """A `Frontend` whose `pool` are the prefill workers; `decode` are those that come after them."""

    def __init__(
        self,
        env: simpy.Environment,
        pool: Pool,
        prefixes: PrefixTable,
        recorder: Recorder,
        door: FrontDoor,
        *,
        decode: Pool,
        pulls: Pulls,
        conditional: ConditionalDisaggSettings | None = None,
        max_num_batched_tokens: int,
        recomputes: bool = False,
    ) -> None:
        super().__init__(env, pool, prefixes, recorder, door)
        self.decode = decode
        self._pulls = pulls
        self._conditional = conditional
        self._max_num_batched_tokens = max_num_batched_tokens
        self._recomputes = recomputes
        """Whether a decode worker computes a prompt itself that it could not read; else the request fails."""

    def _refusal(self, request: Request) -> str | None:
        reason = super()._refusal(request)
        if reason is None and not self.decode.workers[0].engine.fits(request.prompt_tokens):
            return "prompt_exceeds_decode_pool"
        return reason

    # -- the prefill leg ------------------------------------------------------------------------------------

    def _route(self, record: Record) -> None:
        if record.over:
            return
        if self.pool.alive is not None and not self.pool.alive:
            rank = self._without_prefill(record)
        else:
            rank = None if self._conditional is None else self._stays_local(record, self._conditional)
        if rank is None:
            super()._route(record)
        else:
            self._serve_locally(record, rank)

    def _without_prefill(self, record: Record) -> int | None:
        """With no prefill worker left Dynamo 1.5.0 lets decode workers serve as aggregated ones do."""
        decision = self._choose(record, self.decode.for_leg("peek"))
        return None if decision is None else decision.chosen.rank

    def _serve_locally(self, record: Record, rank: int) -> None:
        """Let a decode worker compute prompt and answer, as an aggregated one would."""
        local = self.decode.for_leg("aggregated")
        decision = self._choose(record, local, pinned=rank)
        assert decision is not None
        record.decode_booking = self._book(record, local, decision)
        record.decode_worker = self.decode.first + rank
        self._routed(record, record.decode_worker, decision)
        worker = self.decode.workers[rank]
        self._dispatch(record, lambda: self._enqueue_whole(record, worker), decode=True)

    def _stays_local(self, record: Record, settings: ConditionalDisaggSettings) -> int | None:
        """Return the rank of the decode worker that computes this prompt too; None: it takes both legs."""
        peek = self._choose(record, self.decode.for_leg("peek"))
        prefill = self._choose(record, self.pool) if settings.asks_prefill else None
        if peek is None:
            return None
        verdict = decide(
            settings,
            record.prompt_tokens,
            self._prefixes.block_tokens,
            peek.chosen,
            total_kv_blocks=self.decode.workers[0].engine.cache.pool.num_blocks,
            prefill=prefill.chosen if prefill is not None else None,
            max_num_batched_tokens=self._max_num_batched_tokens,
        )
        return peek.chosen.rank if verdict.bypass else None

    def _enqueue(self, record: Record, worker: PoolWorker) -> None:
        self._enqueue_as(self._prompt_leg(record), record, worker)

    def _prompt_leg(self, record: Record) -> ActiveRequest:
        """Return the request as a prefill engine sees it: the prompt, and one token of answer.

        That token may fill a block. vLLM 0.28.0 then gives the block a hash when the token comes back, and
        the OffloadingConnector stores it if it stores answers, although that token was never computed
        (`Request.update_block_hashes`, `_build_store_jobs`). A hybrid model's engine gives a prompt's last
        token away and has no block beyond the prompt.
        """
        full_blocks = record.prompt_tokens // self._prefixes.block_tokens
        if not self._attention_group:
            full_blocks = (record.prompt_tokens + 1) // self._prefixes.block_tokens
        generated = self._prefixes.private_blocks(full_blocks - len(record.blocks))
        hashes = BlockRuns((*record.blocks.ranges, generated)) if generated else record.blocks
        active = ActiveRequest(record.request_id, record.prompt_tokens, 1, hashes)
        active.for_remote = True
        return active

    def _prefilled(self, record: Record, leg: ActiveRequest, worker: int) -> None:
        """The prefill worker's answer is here: release its booking, and route the second leg."""
        if not record.served_as(leg):
            return
        now_s = self._env.now
        record.prefilled_s = now_s
        assert record.booking is not None
        self.pool.router.first_token(record.booking, now_s)
        self.pool.router.free(record.booking, now_s)
        decision = self._choose(record, self.decode, heard=-1)  # answers come before the news of an instant
        if decision is None:
            self._nobody(record)
            return
        record.decode_booking = self._book(record, self.decode, decision)
        record.decode_worker = self.decode.first + decision.chosen.rank
        target = self.decode.workers[decision.chosen.rank]
        self._dispatch(record, lambda: self._enqueue_decode(record, worker, target), decode=True)

    # -- the decode leg -------------------------------------------------------------------------------------

    def _enqueue_decode(self, record: Record, source: int, target: PoolWorker) -> None:
        record.decode = self._active(record)
        record.decode_queued_s = self._env.now
        nixl = self.pool.workers[source].engine.nixl
        assert nixl is not None
        assert record.active is not None
        if self._pulls.awaited(record.request_id):
            record.decode.remote = nixl.offer(record.active)
        target.add(record.decode)

    def pulls(self, worker: int, plan: StepPlan) -> None:
        """Start what a decode worker reads, and tell prefill workers of what nobody needs."""
        for pull in plan.pulls:
            self._pulls.start(pull, worker)
        for request in plan.unneeded:
            self._pulls.unneeded(request)

    def given_up(self, worker: int, request: ActiveRequest, reason: str) -> None:
        """A worker gave a request up: what a prefill worker keeps for it is awaited no more."""
        if worker >= self.decode.first:
            self._pulls.given_up(request.request_id)
        super().given_up(worker, request, reason)

    def died(self, worker: int) -> None:
        """A worker's engine is no more, and with it what it kept for decode workers."""
        super().died(worker)
        self._pulls.lose(worker)

    def expired(self, request: int) -> None:
        """A prompt's blocks were let go before they were read: the decode worker has to compute it."""
        self._recorder.lease_expired()
        record = self._recorder.records.get(request)
        decode = record.decode if record is not None else None
        if decode is not None and decode.request_id == request:
            decode.remote = None

    # -- faults ---------------------------------------------------------------------------------------------

    def pull_failed(self, request: int, worker: int) -> Literal["retried", "failed"] | None:
        """A decode worker could not read a prompt: the request fails, or its prompt is computed there."""
        target = self._worker(worker)
        record = self._recorder.records.get(request)
        leg = record.decode if record is not None else None
        outcome: Literal["retried", "failed"] | None = None
        if record is not None and leg is not None and leg.request_id == request:
            target.abort(leg)
            outcome = "retried" if self._recomputes else "failed"
            if self._recomputes:
                self._renumber(record)
                record.drop(leg)
                record.decode = self._active(record)
                target.add(record.decode)
            else:
                self._let_go(record)
                self._end(record, "failed", "kv_transfer_failed")
        target.report(pulled=[request])
        return outcome

    def _end(self, record: Record, status: Status, reason: str | None) -> None:
        self._pulls.over(record.request_id)
        super()._end(record, status, reason)

    def _let_go(self, record: Record) -> None:
        super()._let_go(record)
        if record.decode_booking is not None:
            self.decode.router.free(record.decode_booking, self._env.now)

    def _abort(self, record: Record) -> None:
        decode = record.decode
        if decode is not None and record.decode_worker is not None:
            unread = decode.remote is not None
            self._worker(record.decode_worker).abort(decode)
            if unread:
                self._pulls.unneeded(decode.request_id)
        else:
            super()._abort(record)

    # -- the way back ---------------------------------------------------------------------------------------

    def output(self, worker: int, output: StepOutput) -> None:
        """Send on what a step of either pool gave."""
        if worker >= self.decode.first:
            self._send_tokens(worker, output)
            return
        for request in output.finished:
            self._pulls.hold(request.request_id, worker)
            prefilled = partial(self._prefilled, self._record(request), request, worker)
            self._answer(worker, request, prefilled, ended=True)

    def kv_events(self, worker: int, events: list[KvEvent], output_s: float) -> None:
        """Send the index of either pool what it is to hear of."""
        self._publish(worker, events, output_s)
        if worker < self.decode.first:
            self._send_events(self.pool, worker, events, output_s)
        elif self._conditional is not None:  # else the decode leg looks at no index
            self._send_events(self.decode, worker, events, output_s)

    @property
    def pools(self) -> Sequence[Pool]:
        """Prefill and decode workers."""
        return (self.pool, self.decode)

    def serving(self, record: Record, pool: Pool) -> tuple[ActiveRequest | None, int | None]:
        """Return as what, and on which worker, a request is served that is booked in a pool."""
        if pool is self.decode and record.decode_worker != record.worker:
            return record.decode, record.decode_worker
        return super().serving(record, pool)

    def _booked(self, record: Record) -> tuple[Pool, Booking]:
        """Where a request is booked now: with its prefill worker until that has answered."""
        if record.decode_booking is not None:
            return self.decode, record.decode_booking
        return super()._booked(record)
