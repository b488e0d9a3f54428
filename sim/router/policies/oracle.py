"""Who truly has most of the prompt."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies.policy import NamedPolicy, one_of
from sim.router.query import Query


class Oracle:
    """The candidate that would compute the fewest tokens of the prompt, its queue being as it is now.

    It looks into the caches themselves; of equal ones it takes the least of Dynamo's costs, then any. Where
    no caches can be looked into, cost alone decides. It does not look ahead: where the prompt leaves its
    blocks for later ones, and what it drives out, does not count.
    """

    reads_cache: ClassVar[bool] = True

    def __init__(self, cached_tokens: Callable[[Query], Sequence[int]] | None) -> None:
        self._cached_tokens = cached_tokens

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank."""
        if self._cached_tokens is None:
            return one_of(Candidates.of(terms).cheapest(), draw)
        cached = self._cached_tokens(query)
        most = max([cached[each.rank] for each in terms])
        best = [each for each in terms if cached[each.rank] == most]
        least = min([each.cost for each in best])
        return one_of([each.rank for each in best if each.cost == least], draw)


POLICY = NamedPolicy("oracle", lambda config, around: Oracle(around.cached_tokens), "no release: a bound")
