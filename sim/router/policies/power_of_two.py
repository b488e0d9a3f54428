"""The emptier one of two that chance picks."""

from collections.abc import Sequence
from typing import ClassVar

from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies.policy import NamedPolicy
from sim.router.query import Query


class PowerOfTwo:
    """Of two different candidates, all pairs with equal chance, who has fewer requests; ties the first."""

    reads_cache: ClassVar[bool] = False

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank: the whole part of the draw picks the first, what is left of it the other."""
        count = len(terms)
        place = draw * count
        first = int(place)
        other = (first + 1 + int((place - first) * (count - 1))) % count
        candidates = Candidates.of(terms)
        fewer = candidates[first].active_requests <= candidates[other].active_requests
        return candidates.ranks[first if fewer else other]


POLICY = NamedPolicy(
    "power-of-two",
    lambda config, around: PowerOfTwo(),
    "Dynamo 1.5.0, --router-mode power-of-two (push_router.rs); SGLang's gateway has the same",
)
