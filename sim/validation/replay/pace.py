"""Steps, pulls and answers that end when a recording says, and requests that come when it says.

Router and client see a token after it was made, so that their times are upper bounds of the engine's: a
step ends at the least of those of the tokens that it gives. A chunk that does not end its prompt has no time
of its own: it takes its share, by tokens, of the time left to the prompt's first token. The router acts on an
answer when it saw it, however early the engine had it ready.

Where the engine's KV events were recorded they say more: a step that fills blocks ended when the engine
published them, and no step goes on beyond the next output that was published. Clients see some tokens late
and in one go: a step of nothing but tokens takes no longer than half of the engine's tokens did.
"""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Protocol

import simpy

from sim.engine.active import ActiveRequest
from sim.engine.plan import StepPlan
from sim.links.network import LinkUse
from sim.validation.replay.engine_times import EngineTimes
from sim.validation.replay.recording import Times
from sim.validation.replay.stored import EngineLog


class Timing(Protocol):
    """When parts of answers were seen, or would be."""

    def of(self, request: ActiveRequest) -> Times | None:
        """Return the times of a request that an engine has admitted; None if there are none."""

    def known(self, index: int) -> Times | None:
        """Return the times of a request that has been asked for; None if there are none."""

    def sent(self, index: int, now_s: float) -> None:
        """Hear that a request is sent to an engine now."""


class RecordedTimes:
    """A `Timing` of a recording."""

    def __init__(self, times: Mapping[int, Times]) -> None:
        self._times = times

    def of(self, request: ActiveRequest) -> Times | None:
        """See `Timing`."""
        return self._times.get(request.request_id)

    def known(self, index: int) -> Times | None:
        """See `Timing`."""
        return self._times.get(index)

    def sent(self, index: int, now_s: float) -> None:
        """See `Timing`."""


class RecordedPace:
    """A `Pace` of recorded times; where no request of a step has any, the law decides."""

    def __init__(
        self,
        times: Timing,
        logs: Iterable[EngineLog] = (),
        *,
        block_tokens: int = 0,
        token_s: float = inf,
    ) -> None:
        """`token_s`: the most that a step of nothing but tokens takes."""
        self._times = times
        self._logs = {(index, log.leg.decode): log for log in logs for index in log.leg.begins_s}
        self._pair = any(decode for _, decode in self._logs)
        self._block_tokens = block_tokens
        self._token_s = token_s

    def end_s(self, plan: StepPlan, start_s: float, law_s: float) -> float:
        """See `Pace`."""
        stored_s = [
            time_s
            for request, tokens in plan.scheduled
            if (time_s := self._stored_s(request, tokens)) is not None
        ]
        end_s = min(stored_s) if stored_s else self._seen_s(plan, start_s, law_s)
        log = self._log(plan.scheduled[0][0])
        if log is not None:
            end_s = min(end_s, log.next_output_s(start_s))
        return max(start_s, end_s)

    # -- as the engine published it -------------------------------------------------------------------------

    def _log(self, request: ActiveRequest) -> EngineLog | None:
        return self._logs.get((request.request_id, self._pair and not request.for_remote))

    def _stored_s(self, request: ActiveRequest, tokens: int) -> float | None:
        """Return when the last block was published that a step fills for a request."""
        log = self._log(request)
        if log is None:
            return None
        pulled = log.leg.decode and not request.outputs  # the whole prompt turns up at once
        before = 0 if pulled else (request.computed - tokens) // self._block_tokens
        filled = (request.prompt_tokens if pulled else request.computed) // self._block_tokens
        return log.stored_s(request.request_id, filled - 1) if filled > before else None

    # -- as router and client saw it ------------------------------------------------------------------------

    def _seen_s(self, plan: StepPlan, start_s: float, law_s: float) -> float:
        emitting = {id(request) for request in plan.emitting}
        bounds_s = []
        for request, tokens in plan.scheduled:
            if id(request) in emitting:
                bound_s = self._token_s_of(request, request.outputs + request.placeholders)
            else:
                bound_s = self._chunk_s(request, tokens, start_s)
            if bound_s is not None:
                bounds_s.append(bound_s)
        if not bounds_s:
            return start_s + law_s
        only_tokens = not plan.prefills
        return min(*bounds_s, start_s + self._token_s if only_tokens else inf)

    def _token_s_of(self, request: ActiveRequest, number: int) -> float | None:
        """Return when a token was seen; `number` counts from 1."""
        times = self._times.of(request)
        if times is None:
            return None
        if request.for_remote:
            return times.prefilled_s
        return times.tokens_s[min(max(number, 1), len(times.tokens_s)) - 1]

    def _chunk_s(self, request: ActiveRequest, tokens: int, start_s: float) -> float | None:
        next_s = self._token_s_of(request, request.outputs + 1)
        if next_s is None:
            return None
        left = request.num_tokens - (request.computed - tokens)
        return start_s + max(0.0, next_s - start_s) * tokens / left


class RecordedAnswers:
    """An `Answers` of recorded times."""

    def __init__(self, times: Timing) -> None:
        self._times = times

    def seen_s(self, request: ActiveRequest, *, ended: bool) -> float | None:
        """See `Answers`."""
        times = self._times.of(request)
        if times is None:
            return None
        if request.for_remote:
            return times.prefilled_s
        return times.end_s if ended else times.first_token_s


class RecordedArrivals:
    """An `Arrivals` of what KV events say. Tells a `Timing` what is sent.

    The router's index hears of an output when the recording subscriber did: both wait for the same machine.
    """

    def __init__(
        self,
        env: simpy.Environment,
        times: Timing,
        engines: EngineTimes,
        logs: Mapping[int, EngineLog],
        event_delay_s: float,
    ) -> None:
        """`logs` are by worker of the replay."""
        self._env = env
        self._times = times
        self._engines = engines
        self._logs = logs
        self._event_delay_s = event_delay_s

    def queued(self, request: int, *, decode: bool) -> tuple[float, int] | None:
        """See `Arrivals`."""
        self._times.sent(request, self._env.now)
        found = self._engines.queued.get((request, decode))
        return None if found is None else (found.time_s, found.order)

    def heard_s(self, worker: int, output_s: float) -> float | None:
        """See `Arrivals`."""
        log = self._logs.get(worker)
        heard_s = None if log is None else log.heard_output_s(output_s)
        return None if heard_s is None else max(heard_s, output_s + self._event_delay_s)


class RecordedTransfers:
    """A `Transport` of pulls that end when KV events say, else with their request's first token.

    Of those that end together the first to start is the first to end: the decode engine asks for each in that
    order, and that lets the prefill engine know.
    """

    def __init__(self, times: Timing, engines: EngineTimes | None = None, pull_s: float = 0.0) -> None:
        """`pull_s`: the least that a pull takes of which KV events say nothing."""
        self._times = times
        self._engines = engines
        self._pull_s = pull_s
        self._started: set[int] = set()
        self._ends_s: dict[int, float] = {}
        """Of those under way, in the order in which they started."""

    def start(
        self, transfer_id: int, n_bytes: int, descriptors: int, source: int, target: int, *, now_s: float
    ) -> None:
        """See `Transport`."""
        self._started.add(transfer_id)
        pulled = self._engines.pulled.get(transfer_id) if self._engines is not None else None
        if pulled is None:
            self._ends_s[transfer_id] = max(now_s, self._end_s(transfer_id, now_s))
        elif pulled.together <= self._started:
            ended_s = max(now_s, pulled.after_s)
            under_way = [other for other in self._ends_s if other in pulled.together]
            self._ends_s |= dict.fromkeys((*under_way, transfer_id), ended_s)
        else:
            self._ends_s[transfer_id] = max(now_s, pulled.by_s)

    def _end_s(self, transfer_id: int, now_s: float) -> float:
        if self._engines is not None and (transfer_id, True) in self._engines.queued:
            return now_s + self._pull_s
        times = self._times.known(transfer_id)
        return now_s if times is None else times.tokens_s[0]

    def cancel(self, transfer_id: int, *, now_s: float) -> None:
        """See `Transport`: a recording has no faults."""

    def next_s(self) -> float:
        """See `Transport`."""
        return min(self._ends_s.values(), default=inf)

    def finish(self, now_s: float) -> list[int]:
        """See `Transport`."""
        ended = [transfer for transfer, end_s in self._ends_s.items() if end_s <= now_s]
        ended.sort(key=self._ends_s.__getitem__)
        for transfer in ended:
            del self._ends_s[transfer]
        return ended

    def links(self, now_s: float) -> list[LinkUse]:
        """See `Transport`: nothing goes over a link."""
        return []
