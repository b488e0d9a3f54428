"""What is known of one request while it is served: times in seconds, None until they happened."""

from dataclasses import dataclass

from sim.kv.runs import BlockRuns
from sim.router import Booking
from sim.worker.active import ActiveRequest
from sim.workload.request import Request


@dataclass(slots=True)
class Record:
    """The life of one request, from its sending on; becomes a row when it ends."""

    request: Request
    send_s: float
    blocks: BlockRuns
    """Identities of the full blocks of the prompt."""
    booking: Booking | None = None
    worker: int | None = None
    ties: int | None = None
    active: ActiveRequest | None = None
    routed_s: float | None = None
    queued_s: float | None = None
    first_scheduled_s: float | None = None
    first_token_s: float | None = None
    """When the client has it; the worker's `last_token_s` knows nothing of the way back."""
    last_token_s: float = 0.0
    """When the worker made its newest token."""
    decode: ActiveRequest | None = None
    """Disaggregated: the request on its decode worker; `active` is the one on its prefill worker."""
    decode_booking: Booking | None = None
    decode_worker: int | None = None
    prefilled_s: float | None = None
    """When the prefill worker's answer was back at the front door."""
    decode_queued_s: float | None = None
    pull_start_s: float | None = None
    pull_end_s: float | None = None
    pulled_bytes: int | None = None
