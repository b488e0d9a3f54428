"""The choice of Dynamo's KV router: the least cost."""

from collections.abc import Sequence
from math import exp

from sim.base.sums import added
from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies.policy import NamedPolicy, cheapest, one_of
from sim.router.query import Query


def softmax(costs: Sequence[float], temperature: float) -> list[float]:
    """Return each candidate's probability at a temperature above 0 (Dynamo 1.5.0).

    Costs are normalised by their range, so only their relative distances count.
    """
    least = min(costs)
    spread = (max(costs) - least) * temperature
    if not spread:
        return [1.0 / len(costs)] * len(costs)
    odds = [exp((least - cost) / spread) for cost in costs]
    total = added(odds)
    return [part / total for part in odds]


class Kv:
    """Dynamo's choice: the least cost, exact ties uniformly; with a temperature, by softmax of the costs."""

    def __init__(self, temperature: float = 0.0) -> None:
        self._temperature = temperature

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank; the request's own temperature comes before the policy's."""
        override = query.overrides.temperature
        temperature = self._temperature if override is None else override
        if not temperature:
            return one_of(cheapest(terms), draw)
        candidates, left = Candidates.of(terms), draw
        chances = softmax(candidates.costs.tolist(), temperature)
        for rank, chance in zip(candidates.ranks, chances, strict=True):
            left -= chance
            if left < 0:
                return rank
        return candidates.ranks[-1]


POLICY = NamedPolicy("kv", lambda config, around: Kv(config.temperature), "Dynamo 1.5.0, --router-mode kv")
