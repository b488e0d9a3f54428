"""Writes down what happens in a run: the rows, the ledger of recomputed prefill, gaps between tokens, levels.

It hears of everything and changes nothing of it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from sim.cluster.held import NOTHING, Held
from sim.cluster.regrets import Regrets
from sim.cluster.request_row import Status, not_sent, request_row, waits_for
from sim.cluster.request_state import RequestState
from sim.cluster.streams import Streams
from sim.cluster.tiers import HOST
from sim.engine.active import ActiveRequest
from sim.engine.decode_run import DecodeRun
from sim.engine.engine import Engine
from sim.engine.plan import Admission, StepOutput, StepPlan
from sim.kv.events import KvEvent
from sim.ledger.ledger import Ledger
from sim.results.gauge import Gauge
from sim.results.levels import Levels
from sim.results.phases import mark_phases
from sim.results.rows import Rows
from sim.results.tables import ALWAYS_KEPT, FRONT_END, GAP_DIGITS, REGRET, ROUTER_QUEUE
from sim.results.transfers import LinkRow, PullCounts
from sim.results.weighted import WeightedSample
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
        self.due_s = due_s
        """When the client means to send each request, by index, nan until it is known."""
        self.rows = Rows(keep=(*ALWAYS_KEPT, *tables))
        self.regrets = regrets
        """Of decisions; None: nobody asks."""
        if regrets is not None and "decisions" in self.rows.tables:
            self.rows.tables["decisions"].add_column(REGRET, ())
        self.itl_s = WeightedSample()
        self.left_out_itl_s = WeightedSample()
        """The gaps of requests that are left out."""
        self.streams = streams
        """None: every token takes as long to the client, so that gaps are those between steps."""
        self.pulls = PullCounts()
        self.pool = [Gauge() for _ in range(workers)]
        self.tiers = {tier: [Gauge() for _ in range(workers)] for tier in tiers}
        """Blocks filled in each tier below, by worker."""
        self.ended = 0
        self.resent = 0
        """How often clients sent requests again that were refused, of those that count."""
        self.last_end_s = 0.0
        self._router_queue_s: dict[int, float] | None = {} if router_queue else None
        """How long requests that have ended waited at routers; None: there is no such queue."""
        self._sent = bytearray()
        """By index, whether a client sent it."""
        self._continued: set[int] = set()
        """Requests whose prompt a decode worker did not have to compute."""
        self._ledger = Ledger(block_tokens, sparse, workers, ("device", *tiers))
        self._attention_group = attention_group
        self._levels = Levels(workers, worker_interval_s)
        self._front_ends: list[int] | None = [] if front_ends > 1 else None
        """By row of table "decisions"."""

    def look_only(self, from_s: float, until_s: float) -> None:
        """Count levels between these times only."""
        for gauge in chain(self.pool, *self.tiers.values()):
            gauge.look_only(from_s, until_s)

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
        table = self.rows.tables.get("decisions")
        index, chosen = record.request.index, decision.chosen.rank
        regrets = None
        if self.regrets is not None:
            counts = index not in self.left_out
            regrets = self.regrets.of(record, decision, stage, workers, counts=counts)
        if table is not None:
            for place, terms in enumerate(decision.terms):
                more = () if regrets is None else (regrets[place],)
                row = (index, stage, now_s, terms.rank == chosen, workers[terms.rank], *terms[1:], *more)
                table.append(row)
            if self._front_ends is not None:
                self._front_ends += [record.front_end] * len(decision.terms)

    def end(self, record: RequestState, now_s: float, status: Status, reason: str | None = None) -> None:
        """A request came to its end; its row is complete."""
        index = record.request.index
        record.over = True
        self._forget_number(record)
        del self.records[index]
        account = self._ledger.ended(index)
        if self.streams is not None:
            self._gaps_of(record).add_many(self.streams.ended(index))
        self.last_end_s = max(self.last_end_s, now_s)
        self.ended += 1
        if self.regrets is not None and (status != "completed" or index in self.left_out):
            self.regrets.dropped(index)
        end_s = now_s if status != "unfinished" else None
        row = request_row(record, account, self._due_s(index), status, reason, end_s=end_s)
        self.rows.tables["requests"].append(row)
        if self._router_queue_s is not None and record.router_wait.total_s is not None:
            self._router_queue_s[index] = record.router_wait.total_s

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
                self.rows.row("requests", **not_sent(request, self._due_s(request.index), len(left)))
        table = self.rows.tables.get("workers")
        if table is not None:
            for row in self._levels.rest():
                table.append(row)
            # A row is known when the worker's next one is: in an order that depends on what was skipped over.
            table.sort("now_s", "worker")
        decisions = self.rows.tables.get("decisions")
        if decisions is not None and self._front_ends is not None:
            decisions.add_column(FRONT_END, self._front_ends)
        requests_table = self.rows.tables["requests"]
        if self._router_queue_s is not None:
            indices = requests_table.values("index").values.tolist()
            requests_table.add_column(ROUTER_QUEUE, [*map(self._router_queue_s.get, indices)])
        mark_phases(requests_table, self.left_out)
        for gap_s, n in self.itl_s.rounded(GAP_DIGITS):
            self.rows.tables["itl"].append((gap_s, n))

    def _due_s(self, index: int) -> float | None:
        due_s = self.due_s[index] if self.due_s else nan
        return None if isnan(due_s) else due_s

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
        self.kv(worker, events)
        for request, tokens in output.tokens:
            record = self.records[request.request_id]
            if request.outputs == tokens:
                self._ledger.first_token(record.request.index)
            if self.streams is not None:
                if not request.for_remote:
                    self.streams.made(record.request.index, worker, (now_s,))
            elif (request.outputs > tokens or record.generated) and not request.for_remote:
                self._gaps_of(record).add(now_s - record.last_token_s)
            if not (request.for_remote and record.generated):
                record.last_token_s = now_s

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
        if self.streams is not None:
            for request in run.requests:
                self.streams.made(self._index(request), worker, ends_s)
                self.records[request.request_id].last_token_s = float(ends_s[-1])
            return
        first_s, last_s, counted = float(ends_s[0]), float(ends_s[-1]), 0
        for request in run.requests:
            record = self.records[request.request_id]
            gaps = self._gaps_of(record)
            gaps.add(first_s - record.last_token_s)
            counted += gaps is self.itl_s
            record.last_token_s = last_s
        gaps_s = ends_s[1:] - ends_s[:-1]
        self.itl_s.add_many(gaps_s, counted)
        if counted < len(run.requests):
            self.left_out_itl_s.add_many(gaps_s, len(run.requests) - counted)

    def _gaps_of(self, record: RequestState) -> WeightedSample:
        """Return the sample that has the gaps of a request."""
        return self.left_out_itl_s if record.request.index in self.left_out else self.itl_s

    def allocated(self, worker: int, used_blocks: int, now_s: float) -> None:
        """See `Observer`."""
        self.pool[worker].set(used_blocks, now_s)
        table = self.rows.tables.get("workers")
        if table is not None:
            for row in self._levels.allocated(worker, now_s, used_blocks):
                table.append(row)

    def levels(self, worker: int, engine: Engine, now_s: float) -> None:
        """See `Observer`."""
        used, cpu = engine.cache.pool.used_blocks, None
        self.pool[worker].set(used, now_s)
        if engine.offload is not None:
            for tier in engine.offload.tiers:
                if tier.name not in self.tiers:
                    continue  # other workers' memory
                filled = tier.used_blocks
                self.tiers[tier.name][worker].set(filled, now_s)
                if tier.name == HOST:
                    cpu = filled
        table = self.rows.tables.get("workers")
        if table is not None:
            levels = len(engine.scheduler.running), engine.waiting, used, cpu
            for row in self._levels.set(worker, now_s, levels):
                table.append(row)

    def kv(self, worker: int, events: Iterable[KvEvent]) -> None:
        """See `Observer`."""
        for event in events:
            if event.group == self._attention_group and not event.tail:
                self._ledger.kv(worker, event.stored, True, event.tier, event.blocks)
