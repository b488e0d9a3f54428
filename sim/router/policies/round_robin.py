"""Everyone in turn."""

from collections.abc import Sequence
from typing import ClassVar

from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies.policy import NamedPolicy
from sim.router.query import Query


class RoundRobin:
    """The candidates in turn."""

    reads_cache: ClassVar[bool] = False

    def __init__(self) -> None:
        self._turn = 0

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return the next rank."""
        rank = Candidates.of(terms).ranks[self._turn % len(terms)]
        self._turn += 1
        return rank


POLICY = NamedPolicy(
    "round-robin", lambda config, around: RoundRobin(), "Dynamo 1.5.0, --router-mode round-robin"
)
