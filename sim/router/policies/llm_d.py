"""llm-d's weighted scorers."""

from collections.abc import Callable, Sequence

from sim.router.cost import CostTerms
from sim.router.policies.options import LlmDOptions
from sim.router.policies.policy import NamedPolicy, one_of
from sim.router.query import Query
from sim.router.report import WorkerReport

_SILENT = WorkerReport(0, 0, 0, 0)


class LlmD:
    """A candidate with the greatest weighted sum of four scores from 0 to 1, ties uniformly.

    - prefix: the share of the prompt's full blocks that it has on its GPU, as KV events say;
    - queue: 1 for the shortest queue, 0 for the longest, 1 for all if they are equal;
    - KV utilisation: the free share of its pool;
    - no-hit LRU: for a request of which nobody has a block, 1 for who had such a one the longest ago and 0
      for who had the last; 0.5 for all of any other request. Who never had one comes first, in order of rank.

    Queues and pools are as the workers last said; those of a worker that says nothing are empty.
    """

    def __init__(self, options: LlmDOptions, report: Callable[[int], WorkerReport] | None) -> None:
        self._prefix = options.prefix_weight
        self._queue = options.queue_weight
        self._kv = options.kv_utilization_weight
        self._lru = options.no_hit_lru_weight
        self._report = report
        self._had_cold: list[int] = []
        """Ranks that had a request of which nobody had a block; who had the last comes last."""

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank."""
        candidates = [*terms]
        said = [_SILENT if self._report is None else self._report(each.rank) for each in candidates]
        waiting = [each.waiting_requests for each in said]
        longest, shortest = max(waiting), min(waiting)
        cold = not any(each.device_blocks for each in candidates)
        order = self._coldest([each.rank for each in candidates]) if cold else []
        scores: list[float] = []
        for candidate, report in zip(candidates, said, strict=True):
            prefix = candidate.device_blocks / len(query.blocks) if query.blocks else 0.0
            queue = 1.0
            if longest > shortest:
                queue = (longest - report.waiting_requests) / (longest - shortest)
            free = 1.0
            if report.total_kv_blocks:
                free -= report.used_kv_blocks / report.total_kv_blocks
            lru = 0.5
            if cold:
                lru = 1.0
                if len(order) > 1:
                    lru -= order.index(candidate.rank) / (len(order) - 1)
            scores.append(self._prefix * prefix + self._queue * queue + self._kv * free + self._lru * lru)
        best = max(scores)
        rank = one_of(
            [each.rank for each, score in zip(candidates, scores, strict=True) if score == best], draw
        )
        if cold:
            if rank in self._had_cold:
                self._had_cold.remove(rank)
            self._had_cold.append(rank)
        return rank

    def _coldest(self, ranks: list[int]) -> list[int]:
        """Return the ranks in the order in which they had a cold request, those that had none first."""
        never = [rank for rank in ranks if rank not in self._had_cold]
        return never + [rank for rank in self._had_cold if rank in ranks]


POLICY = NamedPolicy(
    "llm-d",
    lambda config, around: LlmD(config.llm_d, around.report),
    "llm-d-inference-scheduler at 0a4fd844 and GIE at cb1c67d3: scorers and max-score-picker",
    reads_reports=True,
    report_interval_s=0.05,
)
