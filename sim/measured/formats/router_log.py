"""The log of Dynamo's frontend and router (1.4.2, 1.5.0): who was chosen, and what each candidate would cost.

A choice logs one line for each candidate ("Formula for", at level debug) and one for the choice ("Selected
worker"); they carry the router's own id of the request, and its worker type: a disaggregated request is
routed twice, for prefill and for decode. The client's id stands in the lines of the request's spans.
Costs are logged to 3 decimals, cached blocks to 2.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sim.base.errors import InputError
from sim.measured.formats.formula import Candidate, candidate
from sim.measured.formats.log_lines import Entry, entries

StageName = Literal["aggregated", "prefill", "decode", "peek"]
"""What a worker is chosen for; a peek only asks, so that conditional disaggregation can decide."""

_PHASES: dict[str, StageName] = {"Prefill": "prefill", "Decode": "decode", "Aggregated": "aggregated"}


@dataclass(slots=True)
class LoggedDecision:
    """One choice of a worker. Blocks are the router's; None where the log has no such line."""

    request_id: str
    stage: StageName
    now_s: float | None
    """Unix time; None for a policy that logs nothing when it chooses (round robin)."""
    worker_id: int
    dp_rank: int = 0
    cost: float | None = None
    """Of the worker chosen, in full precision."""
    candidates: tuple[Candidate, ...] = ()
    """In the order of the log."""
    host_blocks: int | None = None
    """Overlap with the host tier, beyond that with the device."""
    disk_blocks: int | None = None
    overlap_blocks: int | None = None
    """The overlap for which it was credited, tiers weighted, rounded; 0 of everything at credit 0."""
    prompt_blocks: int | None = None
    """Blocks of the prompt, a partial one included."""
    ended_s: float | None = None
    """Unix time: when this stage's answer had ended, or failed."""
    failed: bool = False

    @property
    def chosen(self) -> Candidate | None:
        """The logged candidate that was taken."""
        return next((c for c in self.candidates if (c.worker_id, c.dp_rank) == self._rank), None)

    @property
    def cheapest(self) -> list[Candidate]:
        """The candidates that share the least logged cost."""
        least = min((candidate.cost for candidate in self.candidates), default=0.0)
        return [candidate for candidate in self.candidates if candidate.cost == least]

    @property
    def _rank(self) -> tuple[int, int]:
        return self.worker_id, self.dp_rank


@dataclass(slots=True)
class LoggedRequest:
    """One request in the log."""

    request_id: str
    """The router's own id; also that of the response."""
    client_id: str | None = None
    """The header x-request-id."""
    received_s: float | None = None
    """Unix time."""
    end_s: float | None = None
    """Unix time."""
    status: str | None = None
    """"success" or "error", once it ended."""
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    block_tokens: int | None = None
    """Size of the router's blocks."""
    decisions: list[LoggedDecision] = field(default_factory=list)
    """In order: prefill before decode."""

    def decision(self, *stages: StageName) -> LoggedDecision | None:
        """Return the last decision for any of these stages: of several attempts the one that counts."""
        return next((found for found in reversed(self.decisions) if found.stage in stages), None)


@dataclass(frozen=True, slots=True)
class RouterLog:
    """All requests of a log, in the order of their first line."""

    requests: tuple[LoggedRequest, ...]
    n_other_lines: int
    """Lines that are none of the log's."""
    n_unjoined_candidates: int
    """Candidates whose choice the log does not have."""
    notes: tuple[str, ...]
    """What is wrong with its text although it is read, a sentence each."""

    @property
    def decisions(self) -> list[LoggedDecision]:
        """All decisions, in order of time where it is known."""
        found = [decision for request in self.requests for decision in request.decisions]
        return sorted(found, key=lambda decision: decision.now_s or 0.0)


def read_router_log(*paths: Path) -> RouterLog:
    """Return what a router's log says, text (coloured or not) or JSONL, plain or gzipped.

    Several files are parts of one log in order, or logs of several frontends.

    Raises:
        InputError: the file cannot be read, or a candidate's line is none that is known.

    """
    reader, n_other_lines, notes = _Reader(), 0, list[str]()
    for path in paths:
        for entry in entries(path, tuple(_HANDLERS), notes):
            if entry is None:
                n_other_lines += 1
                continue
            try:
                reader.read(entry)
            except InputError as error:
                raise InputError(f"{path}, line {entry.line}: {error}") from error
    unjoined = sum(map(len, reader.pending.values()))
    return RouterLog(tuple(reader.requests.values()), n_other_lines, unjoined, tuple(notes))


class _Reader:
    """What the lines so far came to."""

    def __init__(self) -> None:
        self.requests: dict[str, LoggedRequest] = {}
        self.pending: dict[tuple[str, str], dict[tuple[int, int], Candidate]] = {}
        """Candidates that wait for their choice, by request and worker type."""

    def read(self, entry: Entry) -> None:
        """Take in one entry."""
        text, handle = next((text, handle) for text, handle in _HANDLERS.items() if text in entry.message)
        # Other parts of the frontend say "Selected worker" too, under the HTTP span's id.
        if text.startswith("Selected") and not entry.target.endswith("scheduling::selector"):
            return
        request_id = self._request_id(entry)
        if request_id is not None:
            handle(self, entry, self.requests.setdefault(request_id, LoggedRequest(request_id)))

    def _request_id(self, entry: Entry) -> str | None:
        """Return the router's id: the HTTP span has another one, before or after it."""
        found = entry.fields.get("request_id", ())
        return next((known for known in found if known in self.requests), found[0] if found else None)

    def received(self, entry: Entry, request: LoggedRequest) -> None:
        request.received_s = entry.time_s
        request.client_id = entry.get("x_request_id")

    def hashed(self, entry: Entry, request: LoggedRequest) -> None:
        request.prompt_tokens = entry.number("isl_tokens")
        request.block_tokens = entry.number("block_size")

    def candidate(self, entry: Entry, request: LoggedRequest) -> None:
        found = candidate(entry.message)
        key = request.request_id, entry.get("worker_type") or ""
        self.pending.setdefault(key, {})[found.worker_id, found.dp_rank] = found

    def selected(self, entry: Entry, request: LoggedRequest) -> None:
        worker_id = entry.number("worker_id")
        if worker_id is None:
            return
        worker_type = (entry.get("worker_type") or "").rstrip(",")
        candidates = tuple(self.pending.pop((request.request_id, worker_type), {}).values())
        stage: StageName = "aggregated"
        if worker_type == "prefill":
            stage = "prefill"
        elif request.decision("prefill"):
            stage = "decode"
        decision = LoggedDecision(
            request.request_id, stage, entry.time_s, worker_id, entry.number("dp_rank") or 0
        )
        decision.cost, decision.candidates = entry.real("logit"), candidates
        decision.host_blocks = entry.number("host_pinned_blocks")
        decision.disk_blocks = entry.number("disk_blocks")
        request.decisions.append(decision)

    def peeked(self, _: Entry, request: LoggedRequest) -> None:
        if request.decisions:
            request.decisions[-1].stage = "peek"

    def best(self, entry: Entry, request: LoggedRequest) -> None:
        if request.decisions:
            request.decisions[-1].overlap_blocks = entry.number("overlap_blocks")
            request.decisions[-1].prompt_blocks = entry.number("total_blocks")

    def stage_ended(self, entry: Entry, request: LoggedRequest) -> None:
        stage = _PHASES.get(entry.get("phase") or "", "aggregated")
        decision = request.decision(stage)
        if decision is None:
            worker_id = entry.number("worker_id")
            if worker_id is None:
                return
            decision = LoggedDecision(
                request.request_id, stage, None, worker_id, entry.number("dp_rank") or 0
            )
            request.decisions.append(decision)
        decision.ended_s = entry.time_s
        decision.failed = "route request failed" in entry.message

    def completed(self, entry: Entry, request: LoggedRequest) -> None:
        request.end_s = entry.time_s
        request.status = entry.get("status")
        request.prompt_tokens = entry.number("input_tokens") or request.prompt_tokens
        request.output_tokens = entry.number("output_tokens")
        # Dynamo 1.4.2 logs no end of a stage.
        if request.decisions and request.decisions[-1].ended_s is None:
            request.decisions[-1].ended_s = entry.time_s


_HANDLERS = {
    "ormula for worker_id=": _Reader.candidate,
    "Selected worker": _Reader.selected,
    "Selected pinned worker": _Reader.selected,
    "[ROUTING] Best": _Reader.best,
    "[ROUTING_INPUT]": _Reader.hashed,
    "Conditional disagg decision": _Reader.peeked,
    "route request completed": _Reader.stage_ended,
    "route request failed": _Reader.stage_ended,
    "request received": _Reader.received,
    "request completed": _Reader.completed,
}
"""What a line is known by, the longer text before one that it contains."""
