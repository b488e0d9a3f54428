"""How vLLM's API server spreads requests over its data-parallel engines."""

from collections.abc import Sequence
from typing import ClassVar

from sim.router.cost import CostTerms
from sim.router.policies.policy import NamedPolicy, Surroundings
from sim.router.query import Query


class VllmDp:
    """The engine with the least score, the first of equal ones.

    Waiting and running are what the engine last said, and what was sent there since counts as waiting. One
    client is assumed, which knows its own requests in flight. Release 0.28 begins to look one engine further
    at each request; `four_times` is the rule of release 0.10, which begins at the first. An engine that says
    nothing has its requests in flight running.
    """

    reads_cache: ClassVar[bool] = False

    def __init__(self, around: Surroundings, *, four_times: bool = False) -> None:
        self._ranks = around.ranks
        self._report = around.report
        self._when_s = around.said_s
        self._four_times = four_times
        self._start = 0
        self._sent = [0] * around.ranks
        self._said_s = [-1.0] * around.ranks

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank."""
        rank, least = -1, 0.0
        scores = {each.rank: self._score(each.rank, each.active_requests) for each in terms}
        for place in range(self._ranks):
            each = (self._start + place) % self._ranks
            if each in scores and (rank < 0 or scores[each] < least):
                rank, least = each, scores[each]
        self._sent[rank] += 1
        if not self._four_times:
            self._start = (self._start + 1) % self._ranks
        return rank

    def _score(self, rank: int, in_flight: int) -> float:
        if self._report is None:
            return float(in_flight)
        said = self._report(rank)
        said_s = 0.0 if self._when_s is None else self._when_s(rank)
        if said_s != self._said_s[rank]:
            self._said_s[rank] = said_s
            self._sent[rank] = 0
        waiting, running = said.waiting_requests + self._sent[rank], said.running_requests
        if self._four_times:
            return float(waiting * 4 + running)
        used = said.used_kv_blocks / said.total_kv_blocks if said.total_kv_blocks else 0.0
        return max(in_flight, waiting + running) + waiting * 6.0 * max(0.0, used - 0.5)


POLICY = NamedPolicy(
    "vllm-dp",
    lambda config, around: VllmDp(around, four_times=config.vllm_dp.version == "0.10"),
    "vLLM 0.28.0, DPLBAsyncMPClient (v1/engine/core_client.py); 0.10.2 for waiting * 4 + running",
    reads_reports=True,
    report_interval_s=0.1,
)
