"""Writes down what happens in a run: the rows, the ledger of recomputed prefill, gaps between tokens, levels.

It hears of everything and changes nothing of it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sim.cluster.decision_rows import DecisionRows
from sim.cluster.gaps import Gaps
from sim.cluster.held import NOTHING, Held
from sim.cluster.level_books import LevelBooks
from sim.cluster.regrets import Regrets
from sim.cluster.request_row import RequestRows, Status, waits_for
from sim.cluster.request_state import RequestState
from sim.cluster.streams import Streams
from sim.engine.active import ActiveRequest
from sim.engine.decode_run import DecodeRun
from sim.engine.engine import Engine
from sim.engine.plan import Admission, StepOutput, StepPlan
from sim.kv.events import KvEvent
from sim.ledger.ledger import Ledger
from sim.results.rows import Rows
from sim.results.tables import ALWAYS_KEPT, GAP_DIGITS
from sim.results.transfers import LinkRow, PullCounts
from sim.router import Decision
from sim.workload.request import Request


class Recorder:
    """The books of one run over `workers` workers; the `Observer` of each of them.

    `attention_group` is the number of the engines' full-attention group, whose blocks have `block_tokens`;
    without one, of any. `sparse`: engines have other groups, without which its blocks may be of no use.
    `tables` are those to keep beside the ones that every run has; "workers" is thinned, where it gets
    long, to one row a worker and `worker_interval_s`. `tiers` are those below GPU memory, by name.
    `router_queue`: routers may let requests wait. `streams`: tokens may wait on their way to the client.
    """

    def __init__(
        self,
        workers: int,
        attention_group: int,
        block_tokens: int,
        tables: Collection[str] = (),
        worker_interval_s: float = 0.0,
        *,
        tiers: Sequence[str] = (),
        sparse: bool = False,
        due_s: Sequence[float] = (),
        left_out: Mapping[int, str] | None = None,
        router_queue: bool = False,
        front_ends: int = 1,
        regrets: Regrets | None = None,
        streams: Streams | None = None,
    ) -> None:
        self.left_out: Mapping[int, str] = {} if left_out is None else left_out
        """Requests that count in no number, by index, and what they are."""
        self.records: dict[int, RequestState] = {}
        """Requests sent and not yet ended, by index, and also by what engines call those tried again."""
        self.rows = Rows(keep=(*ALWAYS_KEPT, *tables))
        self.regrets = regrets
        """Of decisions; None: nobody asks."""
        self._gaps = Gaps(self.left_out, streams)
        self.itl_s = self._gaps.counted_s
        self.left_out_itl_s = self._gaps.left_out_s
        """The gaps of requests that are left out."""
        self.streams = streams
        """None: every token takes as long to the client, so that gaps are those between steps."""
        self.pulls = PullCounts()
        self._levels = LevelBooks(workers, tiers, self.rows.tables.get("workers"), worker_interval_s)
        self.pool = self._levels.pool
        self.tiers = self._levels.tiers
        """Blocks filled in each tier below, by worker."""
        self.ended = 0
        self.resent = 0
        """How often clients sent requests again that were refused, of those that count."""
        self.last_end_s = 0.0
        self._requests = RequestRows(self.rows.tables["requests"], due_s, router_queue=router_queue)
        self._sent = bytearray()
        """By index, whether a client sent it."""
        self._continued: set[int] = set()
        """Requests whose prompt a decode worker did not have to compute."""
        self._ledger = Ledger(block_tokens, sparse, workers, ("device", *tiers))
        self._attention_group = attention_group
        self._decisions = DecisionRows(self.rows.tables.get("decisions"), regrets, front_ends)

    def look_only(self, from_s: float, until_s: float) -> None:
        """Count levels between these times only."""
        self._levels.look_only(from_s, until_s)

    # -- the front door -------------------------------------------------------------------------------------

    def sent(self, record: RequestState, required_tokens: int, held: Held = NOTHING) -> None:
        """A client sent a request; no earlier prompt had the last `required_tokens` of this one.

        `held` of them an earlier request's prompt and answer are.
        """
        request = record.request
        self.records[request.index] = record
        if request.index >= len(self._sent):
            self._sent.extend(bytes(request.index + 1 - len(self._sent)))
        self._sent[request.index] = 1
        self._ledger.sent(
            request.index,
            record.attention_blocks,
            request.prompt_tokens,
            required_tokens,
            held_tokens=held.tokens,
            found_until=held.end,
        )
        if record.returns:
            self._ledger.returns(record.attention_sequence, request.prompt_tokens)

    def answered(self, record: RequestState, computed_tokens: int) -> None:
        """Of a request whose answer returns, so many tokens of prompt and answer have been computed."""
        self._ledger.answered(record.attention_sequence, record.request.prompt_tokens, computed_tokens)

    def tried_again(self, record: RequestState, request_id: int) -> None:
        """A request is sent to another worker, its own having been lost, under another number."""
        self._forget_number(record)
        self.records[request_id] = record
        record.request_id = request_id

    def sent_again(self, record: RequestState) -> None:
        """A client will send a request again, as it was refused."""
        self.resent += record.request.index not in self.left_out

    def _forget_number(self, record: RequestState) -> None:
        self._continued.discard(record.request_id)
        if record.request_id != record.request.index:
            del self.records[record.request_id]

    def routed(
        self, record: RequestState, decision: Decision, stage: str, workers: range, now_s: float
    ) -> None:
        """One of the workers, by rank, was chosen for a stage. Every candidate's terms become a row."""
        counts = record.request.index not in self.left_out
        self._decisions.routed(record, decision, stage, workers, now_s, counts=counts)

    def end(self, record: RequestState, now_s: float, status: Status, reason: str | None = None) -> None:
        """A request came to its end; its row is complete."""
        index = record.request.index
        record.over = True
        self._forget_number(record)
        del self.records[index]
        account = self._ledger.ended(index)
        self._gaps.ended(record)
        self.last_end_s = max(self.last_end_s, now_s)
        self.ended += 1
        if self.regrets is not None and (status != "completed" or index in self.left_out):
            self.regrets.dropped(index)
        end_s = now_s if status != "unfinished" else None
        self._requests.ended(record, account, status, reason, end_s=end_s)

    def pulled(self, request: int, n_bytes: int, start_s: float, end_s: float) -> None:
        """A decode worker has read a prompt's blocks from the prefill worker."""
        record = self.records.get(request)
        if record is None or record.request.index not in self.left_out:
            self.pulls.add(n_bytes, end_s - start_s)
        if record is None:
            return  # its client gave up meanwhile
        record.pull_start_s, record.pull_end_s, record.pulled_bytes = start_s, end_s, n_bytes

    def lease_expired(self) -> None:
        """A prefill worker let a prompt's blocks go before they were read."""
        self.pulls.leases_expired += 1

    def links(self, rows: Iterable[LinkRow]) -> None:
        """Note what went over each link, when the run is over."""
        for row in rows:
            self.rows.tables["links"].append(row)

    def close(
        self, now_s: float, requests: Sequence[Request], waits: Mapping[int, Mapping[int, str]]
    ) -> None:
        """The run is over: what has not ended never will, nor will those of `requests` that were not sent.

        `waits` says by worker what each request on it, by index, waits for.
        """
        left = list(dict.fromkeys(self.records.values()))
        for record in left:
            self.end(record, now_s, "unfinished", waits_for(record, waits))
        for request in requests:
            if request.index >= len(self._sent) or not self._sent[request.index]:
                self._requests.not_sent(request, len(left))
        self._levels.close()
        self._decisions.close()
        self._requests.close(self.left_out)
        for gap_s, n in self.itl_s.rounded(GAP_DIGITS):
            self.rows.tables["itl"].append((gap_s, n))

    # -- the workers ----------------------------------------------------------------------------------------

    def planned(self, worker: int, plan: StepPlan, events: list[KvEvent], now_s: float) -> None:
        """See `Observer`."""
        for request in plan.preempted:
            self._ledger.preempted(self._index(request))
            self._continued.discard(request.request_id)
        for admission in plan.admitted:
            if self._continues(admission):
                self._continued.add(admission.request.request_id)
            else:
                self._admitted(worker, admission)
        if events:
            self.kv(worker, events)
        # Decodes compute what was generated, but for the last token of a prompt, and what is computed again.
        late = [(request, n) for request, n in plan.decodes if not request.outputs or request.preemptions]
        for request, tokens in plan.prefills + late:
            if request.request_id not in self._continued or request is self._active_of_prompt(request):
                self._computed(request, tokens, plan.drafts_of(request), now_s)

    def _index(self, request: ActiveRequest) -> int:
        return self.records[request.request_id].request.index

    def _active_of_prompt(self, request: ActiveRequest) -> ActiveRequest | None:
        return self.records[request.request_id].active

    def _continues(self, admission: Admission) -> bool:
        """Whether a decode worker has the whole prompt from elsewhere: its one token does not count."""
        request = admission.request
        had = admission.local_tokens + admission.external_tokens
        decodes = request is not self._active_of_prompt(request)
        return decodes and not admission.resumed and had >= request.prompt_tokens - 1

    def _admitted(self, worker: int, admission: Admission) -> None:
        request = admission.request
        if self.regrets is not None:
            self.regrets.admitted(self.records[request.request_id], request.prompt_tokens)
        hit = admission.local_tokens + admission.external_tokens
        usable = min(hit, request.num_tokens - 1)  # the last token is computed even if it was loaded
        self._ledger.admitted(
            self._index(request),
            worker,
            usable,
            request.num_tokens,
            admission.resumed,
            loaded_tokens=max(0, admission.external_tokens - (hit - usable)),
        )

    def _computed(self, request: ActiveRequest, tokens: int, drafts: int, now_s: float) -> None:
        """Tokens that a step computes, drafts among them: these are no work that was asked for."""
        record = self.records[request.request_id]
        if record.first_scheduled_s is None:
            record.first_scheduled_s = now_s
        start, end, prompt = request.computed - tokens, request.computed - drafts, request.prompt_tokens
        if record.generated:
            prompt = min(prompt, record.request.prompt_tokens)
        prompt_part = max(0, min(end, prompt) - start)
        self._ledger.computed(record.request.index, prompt_part, end - start - prompt_part)

    def processed(self, worker: int, output: StepOutput, events: list[KvEvent], now_s: float) -> None:
        """See `Observer`."""
        if events:
            self.kv(worker, events)
        for request, tokens in output.tokens:
            record = self.records[request.request_id]
            if request.outputs == tokens:
                self._ledger.first_token(record.request.index)
            self._gaps.made(worker, record, request, tokens, now_s)

    def added(self, worker: int, request: ActiveRequest, now_s: float) -> None:
        """See `Observer`: the front door noted it."""

    def aborted(self, worker: int, request: ActiveRequest, now_s: float) -> None:
        """See `Observer`: the front door notes it."""

    def lost(self, worker: int, requests: Sequence[ActiveRequest], now_s: float) -> None:
        """See `Observer`."""
        self._ledger.lost(worker)
        for request in requests:
            self._ledger.interrupted(self._index(request))

    def decoded(self, worker: int, run: DecodeRun, ends_s: NDArray[np.float64]) -> None:
        """See `Observer`."""
        self._gaps.decoded(worker, [self.records[request.request_id] for request in run.requests], ends_s)

    def allocated(self, worker: int, used_blocks: int, now_s: float) -> None:
        """See `Observer`."""
        self._levels.allocated(worker, used_blocks, now_s)

    def levels(self, worker: int, engine: Engine, now_s: float) -> None:
        """See `Observer`."""
        self._levels.stand(worker, engine, now_s)

    def kv(self, worker: int, events: Iterable[KvEvent]) -> None:
        """See `Observer`."""
        for event in events:
            if event.group == self._attention_group and not event.tail:
                self._ledger.kv(worker, event.stored, True, event.tier, event.blocks)
