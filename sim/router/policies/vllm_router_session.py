"""The session rule of vLLM's production stack."""

from collections.abc import Sequence
from typing import ClassVar

from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies.policy import NamedPolicy
from sim.router.query import Query
from sim.router.ring import HashRing, place_of


class VllmRouterSession:
    """Where a hash ring has the session, whatever the load; without one, who has had the fewest requests.

    Of several with the fewest, the first. The ring has the candidates alone.
    """

    reads_cache: ClassVar[bool] = False

    def __init__(self, ranks: int) -> None:
        self._ring = HashRing(ranks)
        self._sent = [0] * ranks

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank."""
        ranks = Candidates.of(terms).ranks
        if query.session is None:
            rank = min(ranks, key=self._sent.__getitem__)
        else:
            rank = next(rank for rank in self._ring.clockwise(place_of(query.session)) if rank in ranks)
        self._sent[rank] += 1
        return rank


POLICY = NamedPolicy(
    "vllm-router-session",
    lambda config, around: VllmRouterSession(around.ranks),
    "vLLM production-stack at 008a23bd, --routing-logic session (routing_logic.py)",
)
