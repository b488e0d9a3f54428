"""What was decided for a step of an engine, and what it gave."""

from sim.engine.active import ActiveRequest
from sim.engine.nixl import Pull
from sim.engine.transfer_job import TransferJob
from sim.kv.events import KvEvent
from sim.kv.extent import Part

Chunk = tuple[ActiveRequest, int]
"""A request and how many of its tokens."""


class Admission:
    """A waiting request that was given blocks in this step."""

    __slots__ = ("external_tokens", "loading", "local_tokens", "request", "resumed")

    def __init__(
        self,
        request: ActiveRequest,
        local_tokens: int,
        external_tokens: int,
        loading: bool,
        resumed: bool,
    ) -> None:
        self.request = request
        self.local_tokens = local_tokens
        self.external_tokens = external_tokens
        self.loading = loading
        self.resumed = resumed
        """It was preempted before."""


class StepPlan:
    """What one schedule call decided."""

    __slots__ = (
        "admitted",
        "decodes",
        "drafts",
        "emitting",
        "flushes",
        "freed_after",
        "loads",
        "loads_now",
        "moves",
        "number",
        "padded",
        "preempted",
        "prefills",
        "pulls",
        "scheduled",
        "steady",
        "stores",
        "unneeded",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.scheduled: list[Chunk] = []
        """Prefills and decodes in the order in which they were scheduled."""
        self.prefills: list[Chunk] = []
        """Chunks of known tokens, be they of one token."""
        self.decodes: list[Chunk] = []
        """Requests that compute their newest token, all before it having been computed."""
        self.emitting: list[ActiveRequest] = []
        """Requests that generate a token in this step: all that decode, and prefills that end."""
        self.drafts: dict[int, int] | None = None
        """Drafts that are checked, by request; a part of its scheduled tokens. None if there are none."""
        self.padded: list[int] = []
        """Requests whose drafts only fill up their first step: none is accepted."""
        self.preempted: list[ActiveRequest] = []
        self.admitted: list[Admission] = []
        self.loads: list[TransferJob] = []
        self.loads_now: list[int] = []
        """Of these, the jobs that must be finished before the step runs: it computes what they bring."""
        self.moves: list[TransferJob] = []
        """Copies between tiers, which begin when the step is planned."""
        self.pulls: list[Pull] = []
        self.unneeded: list[int] = []
        """Requests of whose blocks on another engine none is needed."""
        self.stores: list[TransferJob] = []
        self.flushes: list[int] = []
        """Jobs that must be finished before the step runs."""
        self.steady = False
        """Every running request decodes, and nothing changed that a later step could notice."""
        self.freed_after: list[Part] = []
        """Blocks that return to the pool when this step's output has been processed."""

    def schedule(self, request: ActiveRequest, tokens: int) -> None:
        """Let a request compute its next `tokens`; whether that is a decode is told by what it lacks.

        The last token of a prompt that was cached or pulled is a decode, as it is for vLLM's kernels.
        """
        chunk = request, tokens
        self.scheduled.append(chunk)
        (self.decodes if request.uncomputed == 1 else self.prefills).append(chunk)

    def take_back(self, request: ActiveRequest) -> int | None:
        """Let a request compute nothing in this step; return how many tokens it was to; None: it was not."""
        for chunk in self.scheduled:
            if chunk[0] is request:
                self.scheduled.remove(chunk)
                (self.decodes if chunk in self.decodes else self.prefills).remove(chunk)
                if self.drafts is not None:
                    self.drafts.pop(request.request_id, None)
                return chunk[1]
        return None

    def draft(self, request: ActiveRequest, drafts: int) -> None:
        """Note that so many of the tokens just scheduled are drafts."""
        if self.drafts is None:
            self.drafts = {}
        self.drafts[request.request_id] = drafts

    def drafts_of(self, request: ActiveRequest) -> int:
        """Return how many drafts of a request the step checks."""
        return self.drafts.get(request.request_id, 0) if self.drafts is not None else 0

    def again(self, number: int) -> "StepPlan":
        """Return the plan of a step that computes the next token of each of these decodes."""
        plan = StepPlan(number)
        plan.scheduled, plan.decodes, plan.emitting = self.scheduled, self.decodes, self.emitting
        plan.steady = True
        return plan

    @property
    def n_tokens(self) -> int:
        """Tokens that the step computes."""
        return sum([tokens for _, tokens in self.scheduled])


class StepOutput:
    """What processing one step's output gave."""

    __slots__ = ("events", "finished", "tokens")

    def __init__(self, tokens: list[Chunk], finished: list[ActiveRequest], events: list[KvEvent]) -> None:
        self.tokens = tokens
        """Requests that received tokens and how many each, in scheduling order."""
        self.finished = finished
        self.events = events
        """KV events to publish: the GPU's first, then those of the tiers below."""
