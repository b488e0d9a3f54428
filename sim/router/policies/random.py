"""Anyone."""

from collections.abc import Sequence
from typing import ClassVar

from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies.policy import NamedPolicy, one_of
from sim.router.query import Query


class Random:
    """Any candidate."""

    reads_cache: ClassVar[bool] = False

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank, each with equal chance."""
        return one_of(Candidates.of(terms).ranks, draw)


POLICY = NamedPolicy("random", lambda config, around: Random(), "Dynamo 1.5.0, --router-mode random")
