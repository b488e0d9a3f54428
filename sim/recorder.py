"""Writes down what happens in a run: the rows, the ledger of recomputed prefill, gaps between tokens, levels.

It hears of everything and changes nothing.
"""

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from sim.kv.events import KvEvent
from sim.kv.prefix import SeenPrefixes
from sim.record import Record
from sim.results.gauge import Gauge
from sim.results.ledger import Ledger
from sim.results.levels import Levels
from sim.results.metrics import latency
from sim.results.rows import Rows
from sim.results.weighted import WeightedSample
from sim.router import Decision
from sim.worker.active import ActiveRequest
from sim.worker.decode_run import DecodeRun
from sim.worker.engine import Engine, StepOutput
from sim.worker.scheduler import Admission, StepPlan


def _waits_for(record: Record) -> str:
    if record.active is None:
        return "waits for a worker"
    return f"{record.active.status.value} on worker {record.worker}"


class Recorder:
    """The books of one run over `workers` workers; an `Observer` of each of them.

    `attention_group` is the number of the engines' attention group; recurrent groups, if any, come before it.
    `tables` are the tables to keep beside `requests`, with at most one row a worker and `worker_interval_s`.
    """

    def __init__(
        self,
        workers: int,
        attention_group: int,
        prefixes: SeenPrefixes,
        tables: Collection[str],
        worker_interval_s: float = 0.0,
    ) -> None:
        self.records: dict[int, Record] = {}
        """Requests sent and not yet ended, by index."""
        self.rows = Rows(keep={"requests", *tables})
        self.itl_s = WeightedSample()
        self.pool = [Gauge() for _ in range(workers)]
        self.cpu_tier = [Gauge() for _ in range(workers)]
        self.ended = 0
        self.last_end_s = 0.0
        self._ledger = Ledger(prefixes.block_tokens, attention_group > 0, workers)
        self._prefixes = prefixes
        self._attention_group = attention_group
        self._tables = frozenset(tables)
        self._levels = Levels(workers, worker_interval_s)

    # -- the front door -------------------------------------------------------------------------------------

    def sent(self, record: Record) -> None:
        """A client sent a request; calls come in order of sending."""
        request = record.request
        self.records[request.index] = record
        required = self._prefixes.required_tokens(record.blocks, request.chunks, request.prompt_tokens)
        self._ledger.sent(request.index, record.blocks, request.prompt_tokens, required)

    def routed(self, record: Record, decision: Decision, now_s: float) -> None:
        """A worker was chosen; every candidate's terms become a row."""
        record.routed_s = now_s
        record.ties = decision.ties
        record.worker = decision.chosen.rank
        if "decisions" in self._tables:
            table, index, chosen = self.rows.tables["decisions"], record.request.index, decision.chosen.rank
            for terms in decision.terms:
                table.append((index, now_s, terms.rank == chosen, *terms))

    def end(self, record: Record, now_s: float, status: str, reason: str | None = None) -> None:
        """A request came to its end; its row is complete."""
        index = record.request.index
        del self.records[index]
        self._ledger.ended(index)
        self.last_end_s = max(self.last_end_s, now_s)
        if status != "unfinished":
            record.end_s = now_s
        self.ended += 1
        self._write(record, status, reason)

    def _write(self, record: Record, status: str, reason: str | None) -> None:
        request, active, booking = record.request, record.active, record.booking
        scheduled = record.first_scheduled_s is not None and active is not None
        local = active.local_tokens if active is not None and scheduled else None
        external = active.external_tokens if active is not None and scheduled else None
        credit = booking.credit_tokens if booking is not None else None
        overcredit = None
        if credit is not None and local is not None and external is not None:
            overcredit = max(0, credit - local - external)
        outputs = active.outputs if active is not None else 0
        took = latency(
            record.send_s,
            record.queued_s,
            record.first_scheduled_s,
            record.first_token_s,
            record.end_s if status == "completed" else None,
            output_tokens=outputs,
        )
        self.rows.row(
            "requests",
            index=request.index,
            session=request.session,
            turn=request.turn,
            due_s=record.due_s,
            send_s=record.send_s,
            routed_s=record.routed_s,
            queued_s=record.queued_s,
            first_scheduled_s=record.first_scheduled_s,
            first_token_s=record.first_token_s,
            end_s=record.end_s,
            status=status,
            reason=reason,
            worker=record.worker,
            prompt_tokens=request.prompt_tokens,
            output_tokens=outputs,
            local_hit_tokens=local,
            external_hit_tokens=external,
            **self._ledger.account(request.index).columns(),
            preemptions=active.preemptions if active is not None else 0,
            ties=record.ties,
            credit_tokens=credit,
            overcredit_tokens=overcredit,
            **took._asdict(),
        )

    def close(self, now_s: float) -> None:
        """The run is over: whatever has not ended never will."""
        for record in [*self.records.values()]:
            self.end(record, now_s, "unfinished", _waits_for(record))
        if "workers" in self._tables:
            for row in self._levels.rest():
                self.rows.tables["workers"].append(row)

    # -- the workers ----------------------------------------------------------------------------------------

    def planned(self, worker: int, plan: StepPlan, events: list[KvEvent], now_s: float) -> None:
        """See `Observer`."""
        for request in plan.preempted:
            self._ledger.preempted(request.request_id)
        for admission in plan.admitted:
            self._admitted(worker, admission)
        self._kv(worker, events)
        for request, tokens in plan.tokens:
            if tokens > 1 or not request.outputs or request.preemptions:
                self._computed(request, tokens, now_s)

    def _admitted(self, worker: int, admission: Admission) -> None:
        request = admission.request
        hit = admission.local_tokens + admission.external_tokens
        usable = min(hit, request.num_tokens - 1)
        self._ledger.admitted(
            request.request_id,
            worker,
            usable,
            request.num_tokens,
            admission.resumed,
            loaded_tokens=max(0, admission.external_tokens - (hit - usable)),
        )

    def _computed(self, request: ActiveRequest, tokens: int, now_s: float) -> None:
        record = self.records[request.request_id]
        if record.first_scheduled_s is None:
            record.first_scheduled_s = now_s
        start, end, prompt = request.computed - tokens, request.computed, request.prompt_tokens
        prompt_part = max(0, min(end, prompt) - start)
        self._ledger.computed(request.request_id, prompt_part, tokens - prompt_part)

    def processed(self, worker: int, output: StepOutput, events: list[KvEvent], now_s: float) -> None:
        """See `Observer`."""
        self._kv(worker, events)
        for request in output.tokens:
            record = self.records[request.request_id]
            if request.outputs == 1:
                self._ledger.first_token(request.request_id)
            else:
                self.itl_s.add(now_s - record.last_token_s)
            record.last_token_s = now_s

    def decoded(self, worker: int, run: DecodeRun, ends_s: NDArray[np.float64]) -> None:
        """See `Observer`."""
        first_s, last_s = float(ends_s[0]), float(ends_s[-1])
        for request in run.requests:
            record = self.records[request.request_id]
            self.itl_s.add(first_s - record.last_token_s)
            record.last_token_s = last_s
        self.itl_s.add_many(np.diff(ends_s), len(run.requests))

    def levels(self, worker: int, engine: Engine, now_s: float) -> None:
        """See `Observer`."""
        tier = engine.offload.tier if engine.offload is not None else None
        used, cpu = engine.cache.pool.used_blocks, tier.used_blocks if tier is not None else None
        self.pool[worker].set(used, now_s)
        if cpu is not None:
            self.cpu_tier[worker].set(cpu, now_s)
        if "workers" in self._tables:
            row = self._levels.set(worker, now_s, (len(engine.scheduler.running), engine.waiting, used, cpu))
            if row is not None:
                self.rows.tables["workers"].append(row)

    def _kv(self, worker: int, events: Iterable[KvEvent]) -> None:
        for event in events:
            if event.group == self._attention_group:
                self._ledger.kv(worker, event.stored, True, event.tier, event.blocks)
