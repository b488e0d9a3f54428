"""Pulls that end when a recording says."""

from math import inf

from sim.links.network import LinkUse
from sim.validation.replay.delays import Timing
from sim.validation.replay.events.engine_times import NOTHING, EngineTimes


class RecordedTransfers:
    """A `Transport` of pulls that end when KV events say, else with their request's first token.

    Of those that end together the first to start is the first to end: the decode engine asks for each in that
    order, and that lets the prefill engine know.
    """

    def __init__(self, times: Timing, engines: EngineTimes = NOTHING, pull_s: float = 0.0) -> None:
        """`pull_s`: the least that a pull takes of which KV events say nothing."""
        self._times = times
        self._engines = engines
        self._pull_s = pull_s
        self._started: set[int] = set()
        self._ends_s: dict[int, float] = {}
        """Of those under way, in the order in which they started."""

    def start(
        self,
        transfer_id: int,
        n_bytes: int,
        descriptors: int,
        source: int,
        target: int,
        *,
        now_s: float,
        of_host: bool = False,
        posting_s: float | None = None,
    ) -> None:
        """See `Transport`."""
        self._started.add(transfer_id)
        pulled = self._engines.pulled.get(transfer_id)
        if pulled is None:
            self._ends_s[transfer_id] = max(now_s, self._end_s(transfer_id, now_s))
        elif pulled.together <= self._started:
            ended_s = max(now_s, pulled.after_s)
            under_way = [other for other in self._ends_s if other in pulled.together]
            self._ends_s |= dict.fromkeys((*under_way, transfer_id), ended_s)
        else:
            self._ends_s[transfer_id] = max(now_s, pulled.by_s)

    def _end_s(self, transfer_id: int, now_s: float) -> float:
        if (transfer_id, True) in self._engines.queued:
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
