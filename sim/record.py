"""What is known of one request while it is served: times in seconds, None until they happened."""

from sim.kv.runs import BlockRuns
from sim.router import Booking
from sim.worker.active import ActiveRequest
from sim.workload.request import Request


class Record:
    """The life of one request, from its sending on; becomes a row when it ends."""

    __slots__ = (
        "active",
        "blocks",
        "booking",
        "decode",
        "decode_booking",
        "decode_queued_s",
        "decode_worker",
        "first_scheduled_s",
        "first_token_s",
        "last_token_s",
        "prefilled_s",
        "pull_end_s",
        "pull_start_s",
        "pulled_bytes",
        "queued_s",
        "request",
        "routed_s",
        "send_s",
        "ties",
        "worker",
    )

    def __init__(self, request: Request, send_s: float, blocks: BlockRuns) -> None:
        self.request = request
        self.send_s = send_s
        self.blocks = blocks
        """Identities of the full blocks of the prompt."""
        self.booking: Booking | None = None
        self.worker: int | None = None
        self.ties: int | None = None
        self.active: ActiveRequest | None = None
        self.routed_s: float | None = None
        self.queued_s: float | None = None
        self.first_scheduled_s: float | None = None
        self.first_token_s: float | None = None
        """When the client has it; the worker's `last_token_s` knows nothing of the way back."""
        self.last_token_s = 0.0
        """When the worker made its newest token."""
        self.decode: ActiveRequest | None = None
        """Disaggregated: the request on its decode worker; `active` is the one on its prefill worker."""
        self.decode_booking: Booking | None = None
        self.decode_worker: int | None = None
        self.prefilled_s: float | None = None
        """When the prefill worker's answer was back at the front door."""
        self.decode_queued_s: float | None = None
        self.pull_start_s: float | None = None
        self.pull_end_s: float | None = None
        self.pulled_bytes: int | None = None
