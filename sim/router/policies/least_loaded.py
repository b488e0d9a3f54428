"""Who has the fewest requests."""

from collections.abc import Sequence
from typing import ClassVar

from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies.policy import NamedPolicy, one_of
from sim.router.query import Query


class LeastLoaded:
    """A candidate with the fewest running requests, ties uniformly."""

    reads_cache: ClassVar[bool] = False

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank."""
        return one_of(Candidates.of(terms).least_loaded(), draw)


POLICY = NamedPolicy(
    "least-loaded", lambda config, around: LeastLoaded(), "Dynamo 1.5.0, --router-mode least-loaded"
)
