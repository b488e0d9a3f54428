"""A session stays where it began."""

from collections.abc import Sequence
from typing import ClassVar

from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies.least_loaded import LeastLoaded
from sim.router.policies.policy import NamedPolicy
from sim.router.query import Query


class SessionSticky:
    """All turns of a session on one rank: the least loaded one at its first turn.

    A session whose rank is not a candidate is bound anew. Requests without a session go to the least loaded.
    """

    reads_cache: ClassVar[bool] = False

    def __init__(self) -> None:
        self._rank_of: dict[str, int] = {}
        self._least_loaded = LeastLoaded()

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return the session's rank."""
        if query.session is None:
            return self._least_loaded(terms, query, draw)
        bound = self._rank_of.get(query.session)
        if bound not in Candidates.of(terms).ranks:
            bound = self._rank_of[query.session] = self._least_loaded(terms, query, draw)
        assert bound is not None
        return bound


POLICY = NamedPolicy(
    "session-sticky",
    lambda config, around: SessionSticky(),
    "no one release: what proxies call sticky sessions",
)
