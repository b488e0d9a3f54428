"""Regret: what a routing decision lets be computed that another candidate had."""

from collections.abc import Iterable, Sequence


def regret_tokens(cached_tokens: Sequence[int], candidates: Iterable[int], chosen: int) -> int:
    """Return the prompt tokens that the chosen rank computes and the best candidate need not; at least 0.

    `cached_tokens`: of the prompt, by rank, as `sim.router.policies.policy.Surroundings` has them. A decision
    with one candidate has no regret, nor one of policy `oracle`. The sum over a run is no bound: with other
    decisions the caches would have held other blocks.
    """
    return max([cached_tokens[rank] for rank in candidates]) - cached_tokens[chosen]
