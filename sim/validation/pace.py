"""Steps, pulls and answers that end when a recording says.

Router and client see a token after it was made, so that their times are upper bounds of the engine's: a
step ends at the least of those of the tokens that it gives. A chunk that does not end its prompt has no time
of its own: it takes its share, by tokens, of the time left to the prompt's first token. A pull has ended when
the first token was seen. The router acts on an answer when it saw it, however early the engine had it ready.
"""

from collections.abc import Mapping
from math import inf

from sim.validation.recording import Times
from sim.worker.active import ActiveRequest
from sim.worker.network import LinkUse
from sim.worker.plan import StepPlan


class RecordedPace:
    """A `Pace` of recorded times; where no request of a step has any, the law decides."""

    def __init__(self, times: Mapping[int, Times]) -> None:
        self._times = times

    def end_s(self, plan: StepPlan, start_s: float, law_s: float) -> float:
        """See `Pace`."""
        emitting = {id(request) for request in plan.emitting}
        bounds_s = []
        for request, tokens in plan.tokens:
            if id(request) in emitting:
                bound_s = self._token_s(request, request.outputs + request.placeholders)
            else:
                bound_s = self._chunk_s(request, tokens, start_s)
            if bound_s is not None:
                bounds_s.append(bound_s)
        return max(start_s, min(bounds_s)) if bounds_s else start_s + law_s

    def _token_s(self, request: ActiveRequest, number: int) -> float | None:
        """Return when a token was seen; `number` counts from 1."""
        times = self._times.get(request.request_id)
        if times is None:
            return None
        if request.for_remote:
            return times.prefilled_s
        return times.tokens_s[min(max(number, 1), len(times.tokens_s)) - 1]

    def _chunk_s(self, request: ActiveRequest, tokens: int, start_s: float) -> float | None:
        next_s = self._token_s(request, request.outputs + 1)
        if next_s is None:
            return None
        left = request.num_tokens - (request.computed - tokens)
        return start_s + max(0.0, next_s - start_s) * tokens / left


class RecordedAnswers:
    """An `Answers` of recorded times."""

    def __init__(self, times: Mapping[int, Times]) -> None:
        self._times = times

    def seen_s(self, request: ActiveRequest, *, ended: bool) -> float | None:
        """See `Answers`."""
        times = self._times.get(request.request_id)
        if times is None:
            return None
        if request.for_remote:
            return times.prefilled_s
        return times.end_s if ended else times.first_token_s


class RecordedTransfers:
    """A `Transport` of pulls that end with their request's first token; at once if that is not known."""

    def __init__(self, times: Mapping[int, Times]) -> None:
        self._times = times
        self._ends_s: dict[int, float] = {}

    def start(
        self, transfer_id: int, n_bytes: int, descriptors: int, source: int, target: int, *, now_s: float
    ) -> None:
        """See `Transport`."""
        times = self._times.get(transfer_id)
        self._ends_s[transfer_id] = now_s if times is None else max(now_s, times.tokens_s[0])

    def next_s(self) -> float:
        """See `Transport`."""
        return min(self._ends_s.values(), default=inf)

    def finish(self, now_s: float) -> list[int]:
        """See `Transport`."""
        ended = sorted((end_s, transfer) for transfer, end_s in self._ends_s.items() if end_s <= now_s)
        for _, transfer in ended:
            del self._ends_s[transfer]
        return [transfer for _, transfer in ended]

    def links(self, now_s: float) -> list[LinkUse]:
        """See `Transport`: nothing goes over a link."""
        return []
