"""What is known of one request while it is served: times in seconds, None until they happened."""

from sim.cluster.gate import Ticket
from sim.cluster.pool import Pool, PoolWorker
from sim.cluster.router_line import RouterLine
from sim.cluster.router_wait import RouterWait
from sim.engine.active import ActiveRequest
from sim.kv.runs import BlockRuns
from sim.router import Booking, Router
from sim.workload.request import Request


class Visit:
    """A stage that serves a request: with which worker, and what it is booked for at which router."""

    __slots__ = ("active", "booking", "decode", "line", "pool", "rank", "router", "stage", "ticket")

    def __init__(
        self,
        stage: str,
        pool: Pool,
        router: Router,
        rank: int,
        booking: Booking,
        *,
        decode: bool = False,
        line: RouterLine | None = None,
    ) -> None:
        self.stage = stage
        self.pool = pool
        self.router = router
        self.rank = rank
        self.booking = booking
        self.decode = decode
        """Whether it is a decode worker of a disaggregated cluster."""
        self.line = line
        """Requests that wait for the router's workers; None: nobody ever does."""
        self.active: ActiveRequest | None = None
        """The request as the worker has it, once it has come there."""
        self.ticket: Ticket | None = None
        """What it has of its session's binding, where sessions are bound to workers."""

    @property
    def worker(self) -> PoolWorker:
        """The worker."""
        return self.pool.worker(self.rank)

    def first_token(self, now_s: float) -> None:
        """The prompt is computed: its tokens are off the router's books."""
        self.router.first_token(self.booking, now_s)
        if self.line is not None:
            self.line.look()

    def free(self, now_s: float) -> None:
        """The request has ended here: nothing of it is on the router's books."""
        self.router.free(self.booking, now_s)
        if self.line is not None:
            self.line.look()
        if self.ticket is not None:
            self.ticket.ended(now_s)
            self.ticket = None


class RequestState:
    """The life of one request, from its sending on; becomes a row when it ends."""

    __slots__ = (
        "_scale",
        "active",
        "blocks",
        "booking",
        "decode",
        "decode_queued_s",
        "decode_worker",
        "first_scheduled_s",
        "first_token_s",
        "front_end",
        "generated",
        "last_token_s",
        "over",
        "preemptions",
        "prefilled_s",
        "pull_end_s",
        "pull_start_s",
        "pulled_bytes",
        "queued_s",
        "request",
        "request_id",
        "resent",
        "retries",
        "returns",
        "routed_s",
        "router_wait",
        "send_s",
        "sequence",
        "ties",
        "visit",
        "worker",
    )

    def __init__(self, request: Request, send_s: float, blocks: BlockRuns, scale: int = 1) -> None:
        self.request = request
        self.send_s = send_s
        self.blocks = blocks
        """Identities of the full blocks of the prompt, as it is sent to a worker."""
        self._scale = scale
        self.request_id = request.index
        """What engines call it: another number each time that it is tried."""
        self.sequence: BlockRuns | None = None
        """Identities of the full blocks of prompt and answer; None until an engine was asked for both."""
        self.returns = False
        """Whether a later prompt holds its answer: `sequence` is there from its sending on."""
        self.retries = 0
        """How often it was tried again, its worker having been lost."""
        self.resent = 0
        """How often its client sent it again, it having been refused."""
        self.generated = 0
        """Tokens that workers generated which were lost since: the prompt of the next one ends with them."""
        self.preemptions = 0
        """How often it lost its blocks at workers that serve it no more."""
        self.front_end = 0
        """Which one it came to, from 0."""
        self.over = False
        """It has ended, whatever of it is still on its way."""
        self.visit: Visit | None = None
        """The stage that serves it now, or is the last that did."""
        self.booking: Booking | None = None
        """With the worker that computes its prompt; None where a decode worker does."""
        self.worker: int | None = None
        self.ties: int | None = None
        self.active: ActiveRequest | None = None
        self.router_wait = RouterWait()
        self.routed_s: float | None = None
        self.queued_s: float | None = None
        self.first_scheduled_s: float | None = None
        self.first_token_s: float | None = None
        """When the client has it; the worker's `last_token_s` knows nothing of the way back."""
        self.last_token_s = 0.0
        """When the worker made its newest token."""
        self.decode: ActiveRequest | None = None
        """Disaggregated: the request on its decode worker; `active` is the one on its prefill worker."""
        self.decode_worker: int | None = None
        self.prefilled_s: float | None = None
        """When the prefill worker's answer was back at the front door."""
        self.decode_queued_s: float | None = None
        self.pull_start_s: float | None = None
        self.pull_end_s: float | None = None
        self.pulled_bytes: int | None = None

    @property
    def attention_blocks(self) -> BlockRuns:
        """Identities of the prompt's full blocks as full attention has them: all that routers know.

        Other groups of an engine may have smaller blocks, a whole number of them in one of these.
        """
        return self.blocks.every(self._scale)

    @property
    def attention_sequence(self) -> BlockRuns:
        """The same of prompt and answer; the prompt's alone while those of the answer have no identity."""
        return self.blocks.every(self._scale) if self.sequence is None else self.sequence.every(self._scale)

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt, as it is sent to a worker."""
        return self.request.prompt_tokens + self.generated

    @property
    def answering(self) -> ActiveRequest | None:
        """What its answer comes from, if that stage has been reached."""
        active = self.decode or self.active
        return None if active is None or active.for_remote else active

    @property
    def outputs(self) -> int:
        """Tokens generated so far."""
        answering = self.answering
        return self.generated + (answering.outputs if answering is not None else 0)

    def booked(self, visit: Visit, ties: int, now_s: float) -> None:
        """A stage serves it from now on, with one of so many workers between which only chance chose."""
        self.visit = visit
        worker = visit.pool.members[visit.rank]
        if visit.decode:
            self.decode_worker = worker
        if self.prefilled_s is not None:
            return
        self.worker = worker
        self.booking = None if visit.decode else visit.booking
        if self.routed_s is None:
            self.ties, self.routed_s = ties, now_s

    def start_over(self, *, lost: bool = True) -> None:
        """It is to be tried again: what its workers had is gone, and a stage's times are the next one's.

        `lost`: a worker was; else it was refused on its way.
        """
        if self.answering is not None:
            self.generated += self.answering.outputs
        self.retries += lost
        self.drop(self.active)
        self.drop(self.decode)
        self.active = self.decode = None
        self.visit = self.booking = None
        self.prefilled_s = self.decode_queued_s = None
        self.pull_start_s = self.pull_end_s = self.pulled_bytes = None

    def drop(self, active: ActiveRequest | None) -> None:
        """It is served as this no more, but as another one."""
        if active is not None:
            self.preemptions += active.preemptions

    def served_as(self, active: ActiveRequest) -> bool:
        """Whether this is what it is served as now."""
        return not self.over and (active is self.active or active is self.decode)
