"""What becomes of a request whose worker, transfer or client is lost: tried again elsewhere, or ended."""

from collections.abc import Callable
from math import inf
from typing import Final, Literal, NamedTuple

from sim.cluster.engine_request import whole
from sim.cluster.frontend import Frontend
from sim.cluster.kv_transfer import Pulls
from sim.cluster.recorder import Recorder
from sim.cluster.request_row import Status
from sim.cluster.request_state import RequestState
from sim.engine.active import ActiveRequest
from sim.events.clock import Clock
from sim.kv.prefix import PrefixTable
from sim.kv.runs import BlockRuns

NUMBERS_OF_RETRIES: Final = 1 << 40
"""What engines call requests that are tried again, from here on: no index of a trace."""

Outcome = Literal["retried", "failed"] | None


class MigrationRules(NamedTuple):
    """What a scenario says of requests that are lost."""

    limit: int = 0
    """How often a request is tried again whose worker was lost,"""
    max_tokens: float = inf
    """unless it is longer than this."""
    recomputes: bool = False
    """Whether a decode worker computes a prompt itself that it could not read; else the request fails."""


class Migration:
    """Takes lost requests off the books, and tries them again (Dynamo 1.5.0's request migration)."""

    def __init__(
        self,
        clock: Clock,
        frontend: Frontend,
        prefixes: PrefixTable,
        recorder: Recorder,
        rules: MigrationRules,
        *,
        pulls: Pulls | None = None,
        retried: Callable[[RequestState], None] | None = None,
    ) -> None:
        """Join the parts; `retried` is told of every retry, before the request has another number."""
        self._clock = clock
        self._frontend = frontend
        self._prefixes = prefixes
        self._recorder = recorder
        self._rules = rules
        self._pulls = pulls
        self._retried = retried
        self._next_number = NUMBERS_OF_RETRIES

    def interrupted(self, request: ActiveRequest, reason: str) -> Outcome:
        """A request was lost with its worker: try it on another one, with what it has, or fail it.

        Within the limit, generated tokens are appended to the prompt. None: it is served otherwise, or has
        ended.
        """
        record = self._recorder.records.get(request.request_id)
        if record is None or not record.served_as(request):
            return None
        self._let_go(record)
        length = record.prompt_tokens + (request.outputs if record.answering is request else 0)
        if record.retries == self._rules.limit or length > self._rules.max_tokens:
            self._frontend.end(record, "failed", reason)
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
        self._frontend.end(record, status, reason)
        return True

    def pull_failed(self, request: int, worker: int) -> Outcome:
        """A decode worker could not read a prompt: the request fails, or its prompt is computed there."""
        pool, rank = self._frontend.place(worker)
        target = pool.worker(rank)
        record = self._recorder.records.get(request)
        active = record.decode if record is not None else None
        outcome: Outcome = None
        if (
            record is not None
            and record.visit is not None
            and active is not None
            and active.request_id == request
        ):
            target.abort(active)
            outcome = "retried" if self._rules.recomputes else "failed"
            if self._rules.recomputes:
                self._renumber(record)
                record.drop(active)
                record.decode = record.visit.active = whole(self._prefixes, record)
                target.add(record.decode)
            else:
                self._let_go(record)
                self._frontend.end(record, "failed", "kv_transfer_failed")
        target.report(pulled=[request])
        return outcome

    def send_again(self, record: RequestState) -> None:
        """A client sends a request again that was refused: from the beginning, wherever it was by then."""
        if record.prefilled_s is not None or record.visit is not None:
            if self._pulls is not None:
                self._pulls.over(record.request_id)
            if self._retried is not None:
                self._retried(record)
            record.start_over(lost=False)
            self._renumber(record)
        self._frontend.receive(record)

    def _try_again(self, record: RequestState) -> None:
        if self._retried is not None:
            self._retried(record)
        record.start_over()
        self._renumber(record)
        if record.sequence is not None:
            full_blocks = record.prompt_tokens // self._prefixes.block_tokens
            record.blocks = BlockRuns(record.sequence.between(0, full_blocks))
        first = self._frontend.stages[0]
        if first.fits(record.prompt_tokens):
            self._frontend.route(record)
        else:
            self._frontend.end(record, "failed", first.too_long)

    def _renumber(self, record: RequestState) -> None:
        """Let engines call a request by another number, so that nothing of the lost one is taken for it."""
        self._recorder.tried_again(record, self._next_number)
        self._next_number += 1

    def _let_go(self, record: RequestState) -> None:
        """Take a request off the router's books, and out of its queue."""
        record.router_wait.leave(record.request.index, self._clock.now_s)
        if record.visit is not None:
            record.visit.free(self._clock.now_s)

    def _abort(self, record: RequestState) -> None:
        """Tell the engine that serves a request to let it go, and nobody to keep blocks for it."""
        visit = record.visit
        if visit is None or visit.active is None:
            return
        unread = visit.active.remote is not None
        visit.worker.abort(visit.active)
        if unread and self._pulls is not None:
            self._pulls.unneeded(visit.active.request_id)


def lease_expired(recorder: Recorder, request: int) -> None:
    """A prompt's blocks were let go before they were read: the decode worker has to compute it."""
    recorder.lease_expired()
    record = recorder.records.get(request)
    decode = record.decode if record is not None else None
    if decode is not None and decode.request_id == request:
        decode.remote = None
