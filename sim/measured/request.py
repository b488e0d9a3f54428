"""One measured request: what each file says of it side by side, and for each value the file to ask first."""

from dataclasses import dataclass

from sim.measured.formats.bench import BenchRequest
from sim.measured.formats.request_trace import TracedRequest
from sim.measured.formats.router_log import LoggedDecision, LoggedRequest
from sim.measured.formats.usage import Usage
from sim.workload.request import Request


@dataclass(frozen=True, slots=True)
class Clock:
    """Second 0 of a run, when its first request was sent, on the clocks of its files."""

    bench_s: float | None
    """On the client's own clock."""
    unix_s: float | None
    """In Unix time. From a client's clock it is found by taking the quickest request to have reached the
    router in no time."""


@dataclass(frozen=True, slots=True)
class MeasuredRequest:
    """One request. Times are seconds of the run; values are None where no file says them."""

    row: int
    """Place in the client's input, from 0."""
    clock: Clock
    bench: BenchRequest | None
    """What the client measured."""
    trace: Request | None
    """The row of the trace that it was made from."""
    logged: LoggedRequest | None
    """What the router's log has of it, in Unix time."""
    traced: TracedRequest | None
    """What Dynamo's request trace has of it, in Unix time."""
    usage: Usage | None
    """What the engine answered."""

    @property
    def request_id(self) -> str | None:
        """The router's own id."""
        known = self.logged or self.traced or self.usage
        return known.request_id if known else None

    @property
    def session(self) -> str | None:
        """The session it belongs to, as the trace says."""
        return self.trace.session if self.trace else None

    @property
    def completed(self) -> bool:
        """Whether it was answered, as the client saw it; else as the router did."""
        if self.bench:
            return self.bench.completed
        return self.logged.status == "success" if self.logged else self.traced is not None

    @property
    def prompt_tokens(self) -> int | None:
        """Length of the prompt."""
        for side in (self.usage, self.trace, self.bench, self.logged, self.traced):
            if side and side.prompt_tokens:
                return side.prompt_tokens
        return None

    @property
    def output_tokens(self) -> int | None:
        """Tokens of the answer."""
        for side in (self.usage, self.bench, self.logged, self.traced):
            if side and side.output_tokens is not None:
                return side.output_tokens
        return None

    @property
    def send_s(self) -> float | None:
        """When the client sent it; without the client's result, when the router had it."""
        if self.bench and self.clock.bench_s is not None:
            return self.bench.start_s - self.clock.bench_s
        return self.received_s

    @property
    def received_s(self) -> float | None:
        """When the router had it."""
        side = self.logged or self.traced
        return self.at(side.received_s) if side else None

    @property
    def answered_s(self) -> float | None:
        """When the router had the first of the answer of the worker that computed the prompt.

        A request trace's durations are finer than its times of day, which are whole milliseconds.
        """
        if self.traced is None or self.traced.ttft_s is None or self.received_s is None:
            return None
        return self.received_s + self.traced.ttft_s

    @property
    def first_token_s(self) -> float | None:
        """When the client had the first of the answer."""
        if self.bench is None or not self.bench.completed or self.send_s is None:
            return None
        return self.send_s + self.bench.ttft_s

    @property
    def end_s(self) -> float | None:
        """When the client had the last of the answer."""
        if self.bench is None or not self.bench.completed or self.send_s is None:
            return None
        return self.send_s + self.bench.e2e_s

    @property
    def prefill(self) -> LoggedDecision | None:
        """The choice of the worker that computed the prompt."""
        return self.logged.decision("prefill", "aggregated") if self.logged else None

    @property
    def decode(self) -> LoggedDecision | None:
        """Disaggregated: the choice of the worker that computed the answer."""
        return self.logged.decision("decode") if self.logged else None

    @property
    def prefill_worker_id(self) -> int | None:
        """The worker that computed the prompt."""
        if self.prefill:
            return self.prefill.worker_id
        return self.traced.prefill_worker_id if self.traced else None

    @property
    def decode_worker_id(self) -> int | None:
        """The worker that computed the answer: the same, unless the cluster is disaggregated."""
        if self.decode:
            return self.decode.worker_id
        if self.traced and self.traced.decode_worker_id is not None:
            return self.traced.decode_worker_id
        return self.prefill_worker_id

    @property
    def engine_cached_tokens(self) -> int | None:
        """Prompt tokens that the engine did not compute, as it says; of a pair, the prefill engine."""
        return self.usage.cached_tokens if self.usage else None

    def at(self, unix_s: float | None) -> float | None:
        """Return a Unix time in seconds of the run."""
        return None if unix_s is None or self.clock.unix_s is None else unix_s - self.clock.unix_s
