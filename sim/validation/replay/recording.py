"""A measured run as something to replay: its requests as a trace, and what was recorded of each of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from sim.base.errors import InputError
from sim.base.words import exactly
from sim.kv.prefix import PrefixTable
from sim.measured.account import account
from sim.measured.request import MeasuredRequest
from sim.measured.run import MeasuredRun
from sim.measured.workers import MeasuredWorker
from sim.validation.replay.stale import stale_tokens
from sim.workload.request import Request, Trace


@dataclass(frozen=True, slots=True)
class Times:
    """When parts of a request's answer were seen, in seconds of the replay."""

    tokens_s: tuple[float, ...]
    """Each token of the answer, in order: at the latest."""
    first_token_s: float
    """The first one by the router; without its request trace, by the client."""
    end_s: float
    """The last one by the router; without its log, by the client."""
    prefilled_s: float | None = None
    """Disaggregated, by the router: the answer of the prefill worker."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A run and what of it can be forced. Requests are known by their index in `trace`."""

    run: MeasuredRun
    trace: Trace
    """Every request that reached a worker, failed ones too, at the time when the router chose a worker for it
    (else had it, else the client sent it); the first at 0."""
    requests: tuple[MeasuredRequest, ...]
    """By index."""
    times: Mapping[int, Times]
    """Of completed requests that the client timed."""
    ranks: Mapping[int, int]
    """The worker of the first stage, counted from 0 in its pool; of requests whose worker is known."""
    decode_ranks: Mapping[int, int]
    """The same of the decode stage."""
    required_tokens: int
    """Prompt tokens of completed requests that no completed one before contained."""
    start_s: float
    """Second 0 of the replay, in seconds of the run."""

    @property
    def unix_s(self) -> float | None:
        """Second 0 of the replay, in Unix time; None if no file ties the run to it."""
        unix_s = self.requests[0].clock.unix_s
        return None if unix_s is None else unix_s + self.start_s

    @property
    def completed(self) -> list[int]:
        """Requests that are compared: the others are load only."""
        return [index for index, request in enumerate(self.requests) if request.completed]

    def required_of(self, counted: Collection[int], in_order: Iterable[int], block_tokens: int) -> int:
        """Return prompt tokens of the `counted` that none before them `in_order` contained."""
        table = PrefixTable(self.trace.chunk_tokens, block_tokens)
        total = 0
        for index in in_order:
            request = self.trace.requests[index]
            required = table.add(request.chunks, request.prompt_tokens).required_tokens
            total += required if index in counted else 0
        return total

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the recording, a sentence each."""
        n, n_failed = len(self.requests), len(self.requests) - len(self.completed)
        found = []
        if n < len(self.run.requests):
            found.append(
                f"{len(self.run.requests) - n} of {exactly(len(self.run.requests), 'request')} failed "
                "before the router "
                "chose a worker: they are not sent"
            )
        if n_failed:
            found.append(
                f"{n_failed} of {exactly(n, 'request')} failed: they are sent but not compared, and what "
                "they had "
                "computed by then is in the engines' counters"
            )
        untimed = sum(index not in self.times for index in self.completed)
        if untimed:
            found.append(
                f"{untimed} of {exactly(n, 'request')} have no recorded times: the scenario's law times them"
            )
        if len(self.ranks) < n:
            found.append(f"the worker of {n - len(self.ranks)} of {exactly(n, 'request')} is not known")
        block_tokens = self.run.block_tokens
        stale = stale_tokens(self.requests, self.trace, block_tokens) if block_tokens else {}
        if stale:
            found.append(
                f"the router credited {exactly(sum(stale.values()), 'token')}, to {len(stale)} of "
                f"{exactly(n, 'request')}, that "
                "no earlier request had sent: its index was not empty at the start, as that of a replay is"
            )
        return found


def pools(run: MeasuredRun) -> tuple[list[MeasuredWorker], list[MeasuredWorker]]:
    """Return the engines that compute prompts, and the decode engines, in order of their ranks."""
    first = [worker for worker in run.workers if worker.pool != "decode"]
    return first, [worker for worker in run.workers if worker.pool == "decode"]


def recording(run: MeasuredRun) -> Recording:
    """Return what there is to replay of a run.

    Raises:
        InputError: its prompts or its send times are not known.

    """
    if run.trace is None or not run.requests or any(request.trace is None for request in run.requests):
        raise InputError(
            f"{run.folder.path}: no trace that its requests could be joined to: a replay needs the prompts"
        )
    reached = [
        request for request in run.requests if request.completed or request.prefill or not run.decisions
    ]
    begins = {request.row: begin for request in reached if (begin := _begin_s(request)) is not None}
    if len(begins) < len(reached) or not reached:
        raise InputError(
            f"{run.folder.path}: {exactly(len(reached) - len(begins), 'request')} without a time of "
            "sending, of "
            f"{len(reached)} that reached a worker: a replay needs the details of the client's result "
            "(--save-detailed), or the router's log"
        )
    requests = tuple(sorted(reached, key=lambda request: (begins[request.row], request.row)))
    start_s = begins[requests[0].row]
    first, decode = pools(run)
    return Recording(
        run,
        Trace(
            _as_sent(requests, [begins[request.row] - start_s for request in requests]),
            run.trace.chunk_tokens,
            run.title,
        ),
        requests,
        {index: times for index, request in enumerate(requests) if (times := _times(request, start_s))},
        _ranks(run, [request.prefill_worker_id for request in requests], first),
        _ranks(run, [request.decode_worker_id for request in requests], decode),
        found.required_tokens if (found := account(run)) else 0,
        start_s,
    )


def _begin_s(request: MeasuredRequest) -> float | None:
    """Return when a replay without a front door lets a request come: at the choice of its worker."""
    chosen_s = request.at(request.prefill.now_s) if request.prefill else None
    known = (chosen_s, request.received_s, request.send_s)
    return next((time_s for time_s in known if time_s is not None), None)


def _as_sent(requests: Sequence[MeasuredRequest], begins_s: Sequence[float]) -> tuple[Request, ...]:
    sent = []
    for index, (request, begin_s) in enumerate(zip(requests, begins_s, strict=True)):
        row = request.trace
        assert row is not None
        # What a failed request answered is no length of an answer.
        answered = request.output_tokens if request.completed else None
        sent.append(
            Request(
                index,
                row.session,
                row.turn,
                begin_s,
                None,
                row.prompt_tokens,
                answered or row.output_tokens,
                row.chunks,
            )
        )
    return tuple(sent)


def _times(request: MeasuredRequest, start_s: float) -> Times | None:
    tokens = request.output_tokens
    if request.first_token_s is None or request.bench is None or not tokens:
        return None
    chunks_s = [*accumulate(request.bench.itl_s, initial=request.first_token_s - start_s)]
    # The router sees an answer before the client does.
    decision, traced = request.decode or request.prefill, request.traced
    ended_s = request.at(decision.ended_s) if decision else None
    end_s = chunks_s[-1] if ended_s is None else min(ended_s - start_s, chunks_s[-1])
    first_s = min(chunks_s[0], end_s)
    if traced and traced.ttft_s is not None:
        began_s = request.at(traced.received_s + traced.ttft_s + (traced.kv_transfer_s or 0.0))
        first_s = first_s if began_s is None else min(began_s - start_s, first_s)
    # A chunk has a token or more: the k-th token has come with the k-th chunk at the latest.
    seen_s = (chunks_s[min(number, len(chunks_s) - 1)] for number in range(1, tokens))
    tokens_s = (first_s, *(min(time_s, end_s) for time_s in seen_s))
    prefilled_s = request.at(request.decode.now_s) if request.decode else None
    return Times(tokens_s, first_s, end_s, None if prefilled_s is None else prefilled_s - start_s)


def _ranks(
    run: MeasuredRun, worker_ids: Iterable[int | None], pool: Sequence[MeasuredWorker]
) -> dict[int, int]:
    rank_of = {worker.name: rank for rank, worker in enumerate(pool)}
    found = {index: run.worker(worker_id) for index, worker_id in enumerate(worker_ids)}
    return {
        index: rank_of[worker.name] for index, worker in found.items() if worker and worker.name in rank_of
    }
