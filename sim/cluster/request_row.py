"""A request's row of the table of requests, made of its record when it has ended."""

from collections.abc import Mapping, Sequence
from typing import Literal

from sim.cluster.request_state import RequestState
from sim.ledger.account import Account
from sim.results.latency import latency
from sim.workload.request import Request

Status = Literal["completed", "rejected", "failed", "cancelled", "unfinished"]


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
