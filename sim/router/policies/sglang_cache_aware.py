"""SGLang's rule: where most of a prompt went before, unless the queues are uneven."""

from collections.abc import Sequence
from typing import ClassVar

from sim.kv.runs import BlockRuns
from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies.options import SglangOptions
from sim.router.policies.policy import NamedPolicy
from sim.router.query import Query
from sim.router.routed import RoutedPrefixes


class SglangCacheAware:
    """The rank that had most of the prompt first, if that is more than `cache_threshold` of it.

    Else, and whenever the queues are uneven, the first with the shortest one. The gateway knows prompts by
    what it sent where; it hears of no cache. Queues are its own requests in flight. A rank that is found and
    cannot be chosen gives way to the first that can, and nothing is remembered.
    """

    reads_cache: ClassVar[bool] = False

    def __init__(self, options: SglangOptions, ranks: int, block_tokens: int) -> None:
        self._cache_threshold = options.cache_threshold
        self._abs = options.balance_abs_threshold
        self._rel = options.balance_rel_threshold
        self._block_tokens = block_tokens
        self._everyone = (1 << ranks) - 1
        block_characters = options.characters_per_token * max(block_tokens, 1)
        self._routed = RoutedPrefixes(ranks, int(options.max_tree_size / block_characters))

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank."""
        loads = [each.active_requests for each in terms]
        ranks, blocks = Candidates.of(terms).ranks, BlockRuns.of(query.blocks)
        most, least = max(loads), min(loads)
        rank = ranks[loads.index(least)]
        if most - least <= self._abs or most <= least * self._rel:
            depth, had = self._routed.deepest(blocks, self._everyone)
            if depth * self._block_tokens / query.isl_tokens > self._cache_threshold:
                rank = self._routed.first(blocks[depth - 1], had)
                if rank not in ranks:
                    return ranks[0]
        self._routed.add(rank, blocks)
        return rank


POLICY = NamedPolicy(
    "sglang-cache-aware",
    lambda config, around: SglangCacheAware(config.sglang, around.ranks, around.block_tokens),
    "SGLang model gateway at 053b63ff, sgl-model-gateway/src/policies/cache_aware.rs and tree.rs",
)
