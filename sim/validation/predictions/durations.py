"""How long requests take in a replay that sends them elsewhere: as others of the same run did.

A recorded time belongs to what the machine did for that request at that moment: with another worker more of
the prompt may be cached, and the same run again would have had other times. So each request takes the times
of another request of the run, drawn at random, and in proportion: until its first token (disaggregated: until
the prefill worker's answer) by a power of the tokens that each computes, then by the tokens of each answer.
The power is the slope of a straight line, by least squares, through the logarithms of time and computed
tokens of the run's own requests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from sim.base.uniform import uniform
from sim.engine.active import ActiveRequest
from sim.validation.replay.recording import Recording, Times
from sim.validation.replay.replay import Replay

_LEAST_S = 1e-4
"""The logarithm of a time is wanted, and clocks of two files may be off by so much."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """One request of the run."""

    computed_tokens: int
    prompt_s: float
    """Until its first token, or the prefill worker's answer."""
    wait_s: float
    """Disaggregated: from there to the first token."""
    token_s: float
    """From each token to the next, on average."""


class Durations:
    """What one run tells of how long requests take."""

    def __init__(self, recorded: Recording, forced: Replay) -> None:
        """Take the tokens that each request computed from a replay on the recorded workers."""
        rows = forced.requests
        seen = {index: _seen(recorded, index, rows[index]) for index in recorded.times}
        self.seen = tuple(seen.values())
        points = [(log(one.computed_tokens), log(one.prompt_s)) for one in self.seen]
        self.power = _slope(points)


def _seen(recorded: Recording, index: int, row: Mapping[str, int | None]) -> _Seen:
    times, sent_s = recorded.times[index], recorded.trace.requests[index].timestamp_s or 0.0
    first_s = times.tokens_s[0]
    prompt_end_s = first_s if times.prefilled_s is None else times.prefilled_s
    cached = (row["local_hit_tokens"] or 0) + (row["external_hit_tokens"] or 0)
    return _Seen(
        max(1, recorded.trace.requests[index].prompt_tokens - cached),
        max(_LEAST_S, prompt_end_s - sent_s),
        first_s - prompt_end_s,
        (times.end_s - first_s) / max(1, len(times.tokens_s) - 1),
    )


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the line; 0 if it falls, or if there is none."""
    x, y = np.array(points).T if points else np.zeros((2, 0))
    spread = float(x.var()) if len(points) else 0.0
    return max(0.0, float(((x - x.mean()) * (y - y.mean())).mean()) / spread) if spread else 0.0


class DrawnTimes:
    """A `Timing` of one seed."""

    def __init__(self, recorded: Recording, durations: Durations, seed: int) -> None:
        self._recorded = recorded
        self._durations = durations
        self._seed = seed
        self._drawn: dict[int, Times] = {}
        self._sent_s: dict[int, float] = {}

    def of(self, request: ActiveRequest) -> Times | None:
        """See `Timing`: the first engine that admits a request settles it."""
        index = request.request_id
        if index not in self._drawn and self._durations.seen:
            computed = request.prompt_tokens - request.local_tokens - request.external_tokens
            self._drawn[index] = self._draw(index, max(1, computed), request.for_remote)
        return self._drawn.get(index)

    def known(self, index: int) -> Times | None:
        """See `Timing`."""
        return self._drawn.get(index)

    def sent(self, index: int, now_s: float) -> None:
        """See `Timing`: to its first engine."""
        self._sent_s.setdefault(index, now_s)

    def _draw(self, index: int, computed_tokens: int, for_remote: bool) -> Times:
        output_tokens = self._recorded.trace.requests[index].output_tokens
        seen = self._durations.seen
        like = seen[int(uniform(self._seed, "validation durations", index) * len(seen))]
        ratio = (computed_tokens / like.computed_tokens) ** self._durations.power
        prompt_end_s = self._sent_s[index] + like.prompt_s * ratio
        first_s = prompt_end_s + like.wait_s
        tokens_s = tuple(first_s + n * like.token_s for n in range(output_tokens))
        return Times(tokens_s, first_s, tokens_s[-1], prompt_end_s if for_remote else None)
