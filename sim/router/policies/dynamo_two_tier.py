"""Overlap while the load is even, and the fewest requests where it is not."""

from collections.abc import Sequence

from sim.router.cost import CostTerms
from sim.router.policies.options import TwoTierOptions
from sim.router.policies.policy import NamedPolicy, one_of
from sim.router.query import Query


class TwoTier:
    """The least loaded of those that hold most, if that is enough of the prompt and the load is even.

    Else the least loaded of all. Load is the router's own number of requests. Ties are drawn: Dynamo takes
    them in an order that it does not say.
    """

    def __init__(self, options: TwoTierOptions, block_tokens: int) -> None:
        self._cache_threshold = options.cache_threshold
        self._abs = options.balance_abs_threshold
        self._rel = options.balance_rel_threshold
        self._block_tokens = block_tokens

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank."""
        candidates = [*terms]
        loads = [each.active_requests for each in candidates]
        most, least = max(loads), min(loads)
        uneven = most - least > self._abs and most > self._rel * least
        best = max([each.device_blocks for each in candidates])
        prompt_blocks = -(-query.isl_tokens // self._block_tokens) if self._block_tokens else 1
        if not uneven and best / prompt_blocks > self._cache_threshold:
            candidates = [each for each in candidates if each.device_blocks == best]
            least = min([each.active_requests for each in candidates])
        return one_of([each.rank for each in candidates if each.active_requests == least], draw)


POLICY = NamedPolicy(
    "dynamo-two-tier",
    lambda config, around: TwoTier(config.two_tier, around.block_tokens),
    "Dynamo 1.5.0 and 1.6.1, worker selector dynamo-two-tier-cost-fn, as measured on 1.6.1",
)
