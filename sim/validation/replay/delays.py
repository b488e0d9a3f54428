"""Steps and answers that end when a recording says, and requests that come when it says.

Router and client see a token after it was made, so that their times are upper bounds of the engine's: a
step ends at the least of those of the tokens that it gives. A chunk that does not end its prompt has no time
of its own: it takes its share, by tokens, of the time left to the prompt's first token. The router acts on an
answer when it saw it, however early the engine had it ready.

Where the engine's KV events were recorded they say more: a step that fills blocks ended when the engine
published them, and no step goes on beyond the next output that was published. Clients see some tokens late
and in one go: a step of nothing but tokens takes no longer than half of the engine's tokens did.
"""

from collections.abc import Mapping
from math import inf
from types import MappingProxyType
from typing import Protocol

from sim.cluster.delays import Arrival, Delays, Part
from sim.engine.active import ActiveRequest
from sim.engine.plan import StepPlan
from sim.validation.replay.events.engine_times import NOTHING, EngineTimes
from sim.validation.replay.events.stored import EngineLog
from sim.validation.replay.recording import Times


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


class RecordedDelays:
    """`Delays` of recorded times; where nothing is recorded, the law of a step decides, and the usual delay.

    Args:
        times: of answers.
        usual: where nothing is known.
        engines: what KV events say of requests.
        logs: what they say of engines, by worker of the replay.
        block_tokens: of a block.
        token_s: the most that a step of nothing but tokens takes.
    """

    sees_steps = True

    def __init__(
        self,
        times: Timing,
        usual: Delays,
        engines: EngineTimes = NOTHING,
        logs: Mapping[int, EngineLog] = MappingProxyType({}),
        *,
        block_tokens: int = 0,
        token_s: float = inf,
    ) -> None:
        self.event_delay_s = usual.event_delay_s
        self._times = times
        self._usual = usual
        self._engines = engines
        self._log_of = logs
        self._logs = {
            (index, log.engine.decode): log for log in logs.values() for index in log.engine.begins_s
        }
        self._pair = any(decode for _, decode in self._logs)
        self._block_tokens = block_tokens
        self._token_s = token_s

    def computed(self, plan: StepPlan, start_s: float, law_s: float) -> float:
        """See `Delays`."""
        if not plan.scheduled:
            return start_s + law_s
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
        pulled = log.engine.decode and not request.outputs  # the whole prompt turns up at once
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

    # -- on the way -----------------------------------------------------------------------------------------

    def dispatched(self, request: int, now_s: float, *, decode: bool) -> Arrival:
        """See `Delays`."""
        self._times.sent(request, now_s)
        found = self._engines.queued.get((request, decode))
        if found is None:
            return self._usual.dispatched(request, now_s, decode=decode)
        return Arrival(found.time_s, found.order)

    def answered(self, request: ActiveRequest, now_s: float, part: Part) -> float:
        """See `Delays`."""
        times = self._times.of(request) if part is not Part.OTHER else None
        if times is None:
            return self._usual.answered(request, now_s, part)
        if request.for_remote:
            seen_s = times.prefilled_s
        else:
            seen_s = times.end_s if part is Part.END else times.first_token_s
        return self._usual.answered(request, now_s, part) if seen_s is None else seen_s

    def heard(self, worker: int, output_s: float) -> float:
        """See `Delays`. The index hears of an output when the recording subscriber did: both wait for it."""
        log = self._log_of.get(worker)
        heard_s = None if log is None else log.heard_output_s(output_s)
        usual_s = self._usual.heard(worker, output_s)
        return usual_s if heard_s is None else max(heard_s, usual_s)
