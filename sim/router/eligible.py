"""Which ranks may serve a request, and which of them it would rather have (Dynamo 1.5.0)."""

from collections.abc import Mapping, Sequence, Set
from math import exp, tanh
from struct import pack, unpack

import numpy as np

from sim.base.sums import added
from sim.router.columns import Column
from sim.router.query import Query


class NoEligibleWorkerError(Exception):
    """No rank satisfies what the request demands."""


class Eligible:
    """The ranks of a router, with their taints; None: no rank has any."""

    __slots__ = ("_taints", "everyone", "ranks")

    def __init__(self, ranks: int, taints: Sequence[Set[str]] | None) -> None:
        self.ranks = range(ranks)
        self.everyone = (1 << ranks) - 1
        """All of them as a set."""
        self._taints = taints if taints is not None else [frozenset()] * ranks

    def of(self, query: Query) -> tuple[Sequence[int], int]:
        """Return the ranks that may serve a request, as a sequence and as a set.

        Raises:
            NoEligibleWorkerError: none may.
        """
        if query.pinned is None and query.allowed is None and not query.required_taints:
            return self.ranks, self.everyone
        ranks = [
            rank
            for rank in self.ranks
            if (query.pinned is None or rank == query.pinned)
            and (query.allowed is None or rank in query.allowed)
            and query.required_taints <= self._taints[rank]
        ]
        if not ranks:
            raise NoEligibleWorkerError(
                f"request {query.request}: none of {len(self.ranks)} ranks is eligible; allowed "
                f"{query.allowed}, pinned {query.pinned}, required taints {sorted(query.required_taints)}"
            )
        return ranks, sum(1 << rank for rank in ranks)

    def factors(self, query: Query) -> Column:
        """Return what preferred taints multiply each rank's cost by; a pinned request has no preference."""
        if not query.preferred_taints or query.pinned is not None:
            return 1.0
        return np.array([_factor(query.preferred_taints, taints) for taints in self._taints])


def _factor(preferred: Mapping[str, float], taints: Set[str]) -> float:
    # Dynamo keeps the weights as 32-bit floats and adds them as 64-bit ones.
    weights = [unpack("f", pack("f", weight))[0] for taint, weight in preferred.items() if taint in taints]
    return exp(-tanh(added(weights)))
