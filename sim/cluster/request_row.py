"""The table of requests: a row is made of a request's record when it has ended."""

from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Literal

from sim.cluster.request_state import RequestState
from sim.ledger.account import Account
from sim.results.latency import latency
from sim.results.phases import mark_phases
from sim.results.rows import Table
from sim.results.tables import ROUTER_QUEUE
from sim.workload.request import Request

Status = Literal["completed", "rejected", "failed", "cancelled", "unfinished"]


class RequestRows:
    """Of one run.

    Args:
        table: of requests.
        due_s: when clients mean to send each, by index, nan until that is known; none: nobody says.
        router_queue: routers may let requests wait; the table says how long they did.
    """

    __slots__ = ("_due_s", "_router_queue_s", "_table")

    def __init__(self, table: Table, due_s: Sequence[float], *, router_queue: bool) -> None:
        self._table = table
        self._due_s = due_s
        self._router_queue_s: dict[int, float] | None = {} if router_queue else None

    def ended(
        self,
        record: RequestState,
        account: Account,
        status: Status,
        reason: str | None,
        *,
        end_s: float | None,
    ) -> None:
        """A request came to its end."""
        index = record.request.index
        self._table.append(request_row(record, account, self._due(index), status, reason, end_s=end_s))
        if self._router_queue_s is not None and record.router_wait.total_s is not None:
            self._router_queue_s[index] = record.router_wait.total_s

    def not_sent(self, request: Request, in_flight: int) -> None:
        """A request was never sent, so many others being in flight at the end."""
        self._table.row(**not_sent(request, self._due(request.index), in_flight))

    def close(self, left_out: Mapping[int, str]) -> None:
        """The run is over; some requests count in no number."""
        if self._router_queue_s is not None:
            indices = self._table.values("index").values.tolist()
            self._table.add_column(ROUTER_QUEUE, [*map(self._router_queue_s.get, indices)])
        mark_phases(self._table, left_out)

    def _due(self, index: int) -> float | None:
        due_s = self._due_s[index] if self._due_s else nan
        return None if isnan(due_s) else due_s


def request_row(
    record: RequestState,
    account: Account,
    due_s: float | None,
    status: Status,
    reason: str | None,
    *,
    end_s: float | None,
) -> Sequence[object]:
    """Return what is known of a request that was sent, in the order of the table's columns.

    `due_s` is when its client meant to send it.
    """
    active, outputs = record.active, record.outputs
    served = active, record.decode
    preemptions = record.preemptions + sum(one.preemptions for one in served if one is not None)
    credit = record.booking.credit_tokens if record.booking is not None else None
    local = external = overcredit = None
    if active is not None and record.first_scheduled_s is not None:
        local, external = active.local_tokens, active.external_tokens
        overcredit = max(0, (credit or 0) - local - external)
    took = latency(
        record.send_s,
        record.queued_s,
        record.first_scheduled_s,
        record.first_token_s,
        end_s if status == "completed" else None,
        output_tokens=outputs,
    )
    request = record.request
    return (
        request.index,
        request.session,
        request.turn,
        due_s,
        record.send_s,
        record.routed_s,
        record.queued_s,
        record.first_scheduled_s,
        record.first_token_s,
        end_s,
        status,
        reason,
        record.worker,
        request.prompt_tokens,
        record.decode_worker,
        record.prefilled_s,
        record.decode_queued_s,
        record.pull_start_s,
        record.pull_end_s,
        record.pulled_bytes,
        outputs,
        active.prompt_tokens if active is not None else None,
        local,
        external,
        *account.values(),
        preemptions,
        record.retries,
        record.ties,
        credit,
        overcredit,
        *took,
        None if due_s is None else record.send_s - due_s,
    )


def not_sent(request: Request, due_s: float | None, in_flight: int) -> dict[str, object]:
    """Return what is known of a request that its client never sent, by column."""
    return {
        "index": request.index,
        "session": request.session,
        "turn": request.turn,
        "due_s": due_s,
        "status": "unfinished",
        "reason": f"not sent: waits for an earlier request to end; {in_flight} in flight never do",
        "prompt_tokens": request.prompt_tokens,
    }


def waits_for(record: RequestState, waits: Mapping[int, Mapping[int, str]]) -> str:
    """Return what a request waits for that never ends; `waits` may know, by worker and index."""
    active, worker = record.active, record.worker
    if record.router_wait.line is not None:
        return "waits at the router: every worker that may serve it is busy"
    if record.decode is not None:
        active, worker = record.decode, record.decode_worker
    if active is None or worker is None:
        return "waits for a worker"
    what = waits.get(worker, {}).get(active.request_id)
    return f"{active.status.value} on worker {worker}" + (f": {what}" if what else "")
