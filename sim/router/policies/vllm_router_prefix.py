"""The prefix-aware rule of vLLM's production stack."""

from collections.abc import Sequence
from typing import ClassVar

from sim.kv.runs import BlockRuns
from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies.policy import NamedPolicy, one_of
from sim.router.query import Query
from sim.router.ranks import members
from sim.router.routed import RoutedPrefixes


class VllmRouterPrefix:
    """Any of the candidates to which most of the prompt's first blocks were sent; of all, if none was.

    Load does not count, and nothing is ever forgotten.
    """

    reads_cache: ClassVar[bool] = False

    def __init__(self, ranks: int) -> None:
        self._routed = RoutedPrefixes(ranks)

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank."""
        blocks, among = BlockRuns.of(query.blocks), 0
        for rank in Candidates.of(terms).ranks:
            among |= 1 << rank
        _, had = self._routed.deepest(blocks, among)
        chosen = one_of(members(had).tolist(), draw)
        self._routed.add(chosen, blocks)
        return chosen


POLICY = NamedPolicy(
    "vllm-router-prefix",
    lambda config, around: VllmRouterPrefix(around.ranks),
    "vLLM production-stack at 008a23bd, --routing-logic prefixaware (routing_logic.py, hashtrie.py)",
)
