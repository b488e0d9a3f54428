from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.uniform import uniform
from sim.router.config import RouterConfig
from sim.router.cost import CostTerms
from sim.router.overrides import Overrides
from sim.router.policies import make_policy
from sim.router.policies.kv import Kv, softmax
from sim.router.policies.least_loaded import LeastLoaded
from sim.router.policies.random import Random
from sim.router.policies.round_robin import RoundRobin
from sim.router.policies.session_sticky import SessionSticky
from sim.router.query import Query

QUERY = Query(request=0, isl_tokens=1, blocks=())
BLANK = CostTerms(*[0] * len(CostTerms._fields))


def candidates(*costs: float, requests: tuple[int, ...] = ()) -> list[CostTerms]:
    """Return candidates on ranks 10, 11 and so on."""
    running = requests or (0,) * len(costs)
    return [
        BLANK._replace(rank=10 + i, cost=cost, active_requests=count)
        for i, (cost, count) in enumerate(zip(costs, running, strict=True))
    ]


def test_kv_takes_the_cheapest() -> None:
    assert all(Kv()(candidates(3.0, 1.0, 2.0), QUERY, u) == 11 for u in (0.0, 0.5, 0.999))


def test_kv_breaks_exact_ties_uniformly_and_only_those() -> None:
    terms = candidates(1.0, 2.0, 1.0, 1.0 + 1e-15, 1.0)
    counts = Counter(Kv()(terms, QUERY, i / 300) for i in range(300))
    assert counts == {10: 100, 12: 100, 14: 100}


def test_softmax_normalises_by_the_range() -> None:
    # Two costs: the loser's odds are exp(-1 / T), however close they are.
    for far in (1.001, 100.0):
        better, worse = softmax([1.0, far], 0.5)
        assert worse / better == pytest.approx(0.1353352832366127)
    assert softmax([4.0, 4.0, 4.0, 4.0], 0.1) == [0.25] * 4


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8), st.floats(0.01, 10))
def test_softmax_is_a_distribution_that_prefers_the_cheaper(costs: list[float], temperature: float) -> None:
    chances = softmax(costs, temperature)
    assert sum(chances) == pytest.approx(1.0)
    by_cost = [chance for _, chance in sorted(zip(costs, chances, strict=True))]
    assert all(a >= b - 1e-12 for a, b in pairwise(by_cost))


def test_temperature_samples_the_softmax_and_a_request_may_override_it() -> None:
    terms = candidates(6.125, 11.125, 16.125, 26.125)
    counts = Counter(Kv(0.3)(terms, QUERY, (i + 0.5) / 10_000) for i in range(10_000))
    for rank, chance in enumerate(softmax([t.cost for t in terms], 0.3), start=10):
        assert counts[rank] == pytest.approx(10_000 * chance, abs=1.5)
    cold = Query(request=0, isl_tokens=1, blocks=(), overrides=Overrides(temperature=0.0))
    assert {Kv(0.3)(terms, cold, i / 50) for i in range(50)} == {10}
    assert Kv(0.3)(terms, QUERY, 1 - 2**-53) == 13
    assert Kv(0.3)(candidates(1.0, 1.0), QUERY, 0.5) == 11


def test_round_robin_takes_turns_among_those_there() -> None:
    policy = RoundRobin()
    assert [policy(candidates(1, 9, 9), QUERY, 0.0) for _ in range(4)] == [10, 11, 12, 10]
    assert policy(candidates(1, 9)[1:], QUERY, 0.0) == 11


def test_random_is_uniform() -> None:
    counts = Counter(Random()(candidates(1, 9, 9), QUERY, i / 300) for i in range(300))
    assert counts == {10: 100, 11: 100, 12: 100}


def test_least_loaded_counts_requests_and_breaks_ties_uniformly() -> None:
    terms = candidates(0, 9, 9, requests=(5, 2, 2))
    assert Counter(LeastLoaded()(terms, QUERY, i / 100) for i in range(100)) == {11: 50, 12: 50}


def test_sessions_stick_to_the_rank_that_was_least_loaded_at_first() -> None:
    policy = SessionSticky()
    first = Query(request=0, isl_tokens=1, blocks=(), session="a")
    second = Query(request=1, isl_tokens=1, blocks=(), session="b")
    assert policy(candidates(0, 0, 0, requests=(1, 0, 2)), first, 0.9) == 11
    assert policy(candidates(0, 0, 0, requests=(0, 9, 0)), first, 0.0) == 11
    assert policy(candidates(0, 0, 0, requests=(0, 9, 0)), second, 0.9) == 12
    # Its rank is no candidate: the session moves, and stays where it went.
    assert policy(candidates(0), first, 0.5) == 10
    assert policy(candidates(0, 0, requests=(9, 0)), first, 0.5) == 10


def test_without_a_session_sticky_is_least_loaded() -> None:
    policy = SessionSticky()
    assert policy(candidates(0, 0, requests=(1, 0)), QUERY, 0.5) == 11
    assert policy(candidates(0, 0, requests=(0, 1)), QUERY, 0.5) == 10


@pytest.mark.parametrize("name", ["kv", "random", "least-loaded"])
def test_idle_workers_share_unrelated_requests_evenly(name: str) -> None:
    """Equal costs must not herd onto worker 0, and equal seeds must choose alike."""

    def choices(seed: int) -> list[int]:
        policy = make_policy(RouterConfig(policy=name))
        return [
            policy(candidates(*[5.0] * 8), QUERY, uniform(seed, "route", request)) for request in range(640)
        ]

    counts = Counter(choices(seed=1))
    assert sorted(counts) == list(range(10, 18))
    # 80 each on average, standard deviation 8.4.
    assert all(45 < count < 115 for count in counts.values())
    assert choices(seed=1) == choices(seed=1)
    assert choices(seed=1) != choices(seed=2)
