"""Consistent hashing with bounded loads."""

from collections.abc import Sequence
from math import ceil
from typing import ClassVar

from sim.router.cost import CostTerms
from sim.router.policies.options import ConsistentHashOptions
from sim.router.policies.policy import NamedPolicy
from sim.router.query import Query
from sim.router.ring import SIZE, HashRing, place_of


class ConsistentHashBounded:
    """The first candidate clockwise of the session that has room: no more than its share of all requests.

    The share is `load_factor` times the mean, the new request counted, rounded up: somebody has room always.
    A request without a session lies anywhere on the ring.
    """

    reads_cache: ClassVar[bool] = False

    def __init__(self, options: ConsistentHashOptions, ranks: int) -> None:
        self._ring = HashRing(ranks, options.points)
        self._load_factor = options.load_factor

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank."""
        place = int(draw * SIZE) if query.session is None else place_of(query.session)
        requests = {each.rank: each.active_requests for each in terms}
        share = ceil(self._load_factor * (sum(requests.values()) + 1) / len(requests))
        return next(
            rank for rank in self._ring.clockwise(place) if rank in requests and requests[rank] < share
        )


POLICY = NamedPolicy(
    "consistent-hash-bounded",
    lambda config, around: ConsistentHashBounded(config.consistent_hash, around.ranks),
    "Mirrokni, Thorup, Zadimoghaddam: Consistent Hashing with Bounded Loads (2016); factor 1.25",
)
