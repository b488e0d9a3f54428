"""The gaps between the tokens of a run's requests."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sim.cluster.request_state import RequestState
from sim.cluster.streams import Streams
from sim.engine.active import ActiveRequest
from sim.results.weighted import WeightedSample


class Gaps:
    """Between steps that gave a request tokens, or, with `streams`, between chunks as its client reads them.

    Gaps of requests that are `left_out`, by index, do not count.
    """

    __slots__ = ("_left_out", "_streams", "counted_s", "left_out_s")

    def __init__(self, left_out: Mapping[int, str], streams: Streams | None) -> None:
        self.counted_s = WeightedSample()
        self.left_out_s = WeightedSample()
        self._left_out = left_out
        self._streams = streams

    def made(
        self, worker: int, record: RequestState, request: ActiveRequest, tokens: int, now_s: float
    ) -> None:
        """A step's output gave a request some tokens."""
        if self._streams is not None:
            if not request.for_remote:
                self._streams.made(record.request.index, worker, (now_s,))
        elif (request.outputs > tokens or record.generated) and not request.for_remote:
            self._of(record).add(now_s - record.last_token_s)
        if not (request.for_remote and record.generated):
            record.last_token_s = now_s

    def decoded(self, worker: int, records: Sequence[RequestState], ends_s: NDArray[np.float64]) -> None:
        """Requests of a run received one token each at each of these times."""
        if self._streams is not None:
            for record in records:
                self._streams.made(record.request.index, worker, ends_s)
                record.last_token_s = float(ends_s[-1])
            return
        first_s, last_s, counted = float(ends_s[0]), float(ends_s[-1]), 0
        for record in records:
            gaps_s = self._of(record)
            gaps_s.add(first_s - record.last_token_s)
            counted += gaps_s is self.counted_s
            record.last_token_s = last_s
        between_s = ends_s[1:] - ends_s[:-1]
        self.counted_s.add_many(between_s, counted)
        if counted < len(records):
            self.left_out_s.add_many(between_s, len(records) - counted)

    def ended(self, record: RequestState) -> None:
        """A request has come to its end."""
        if self._streams is not None:
            self._of(record).add_many(self._streams.ended(record.request.index))

    def _of(self, record: RequestState) -> WeightedSample:
        """Return the sample that has the gaps of a request."""
        return self.left_out_s if record.request.index in self._left_out else self.counted_s
