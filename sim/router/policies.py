"""Who gets a request. A policy is any callable `(terms, query, draw) -> rank`.

`terms` are the candidates' `CostTerms` in order of rank: costs, overlaps and loads. `query` is the request
(its session, its overrides). `draw` is a uniform number in [0, 1) that belongs to this decision: use it where
chance decides, and equal seeds give equal runs. A policy is asked once for each decision and may keep state.
One that does not care what workers hold says so with an attribute `reads_cache = False`: all overlaps are 0
then, and nobody spends time on an index.
The cheapest worker, ties by rank, from a notebook:

    def first_cheapest(terms, query, draw):
        return min(terms, key=lambda candidate: candidate.cost).rank

The policies here do without the terms of each single candidate: `Candidates.of(terms)` has them by columns.
"""

from collections.abc import Callable, Sequence
from math import exp
from typing import ClassVar, Protocol

from sim.base.sums import added
from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.query import Query


class Policy(Protocol):
    """Chooses a rank among the candidates."""

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return the rank of one of `terms`."""


def reads_cache(policy: Policy) -> bool:
    """Whether a policy wants to know what workers hold; it does unless it says otherwise."""
    return bool(getattr(policy, "reads_cache", True))


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


def cheapest(terms: Sequence[CostTerms]) -> list[int]:
    """Return the ranks that share the least cost."""
    return Candidates.of(terms).cheapest()


def one_of(ranks: Sequence[int], draw: float) -> int:
    """Return one of the ranks, each with equal chance."""
    return ranks[int(draw * len(ranks))]


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


class Random:
    """Any candidate."""

    reads_cache: ClassVar[bool] = False

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank, each with equal chance."""
        return one_of(Candidates.of(terms).ranks, draw)


class LeastLoaded:
    """A candidate with the fewest running requests, ties uniformly."""

    reads_cache: ClassVar[bool] = False

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return a rank."""
        return one_of(Candidates.of(terms).least_loaded(), draw)


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


class PolicySettings(Protocol):
    """What a router's settings (`sim.router.config`) tell its policy."""

    @property
    def policy(self) -> str:
        """Its name."""

    @property
    def temperature(self) -> float:
        """0: the cheapest worker. Above: a draw by softmax of the costs."""


Maker = Callable[[PolicySettings], Policy]

POLICIES: dict[str, Maker] = {
    "kv": lambda config: Kv(config.temperature),
    "round-robin": lambda config: RoundRobin(),
    "random": lambda config: Random(),
    "least-loaded": lambda config: LeastLoaded(),
    "session-sticky": lambda config: SessionSticky(),
}
"""Every policy that has a name, made afresh for each router. Names that settings may have follow from it."""


def make_policy(config: PolicySettings) -> Policy:
    """Return a fresh policy of the kind that the settings name."""
    return POLICIES[config.policy](config)
