"""What holds for every policy: those that have a name, and some as users write them."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from sim.router import (
    Booking,
    CostTerms,
    Decision,
    NoEligibleWorkerError,
    Policy,
    Query,
    Router,
    RouterConfig,
)
from sim.router.policies import POLICIES, Surroundings, make_policy, reads_cache
from sim.router.report import WorkerReport
from tests.router.helpers import BLOCK, load, query

RANKS = 4


def first_cheapest(terms: Sequence[CostTerms], query: Query, draw: float) -> int:
    return min(terms, key=lambda candidate: candidate.cost).rank


class Stubborn:
    """Keeps the same worker as long as it may, and looks at nothing."""

    reads_cache = False

    def __init__(self) -> None:
        self._last = -1

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        ranks = [candidate.rank for candidate in terms]
        if self._last not in ranks:
            self._last = ranks[int(draw * len(ranks))]
        return self._last


def said(rank: int) -> WorkerReport:
    """What a worker said once and for all: the higher its rank, the more it has to do."""
    return WorkerReport(rank, 2 * rank, 10 * rank, 100)


def cached(query: Query) -> list[int]:
    """A prompt's true hits: rank 1 has the first block of all."""
    return [BLOCK if rank == 1 and query.blocks else 0 for rank in range(RANKS)]


AROUND = Surroundings(RANKS, BLOCK, said, cached, lambda rank: 1.0)
SILENT = Surroundings(RANKS, BLOCK)


def named(name: str, around: Surroundings = AROUND) -> Callable[[], Policy]:
    return lambda: make_policy(RouterConfig(policy=name), around)


MAKERS: Mapping[str, Callable[[], Policy]] = MappingProxyType(
    {name: named(name) for name in POLICIES}
    | {f"{name}, nothing around": named(name, SILENT) for name in POLICIES}
    | {
        "kv, temperature 1": lambda: make_policy(RouterConfig(temperature=1.0)),
        "first cheapest": lambda: first_cheapest,
        "stubborn": Stubborn,
    }
)
every_policy = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


@st.composite
def queries(draw: DrawFn) -> dict[str, Any]:
    """A request of one of three conversations, perhaps with demands that some rank meets."""
    session, turns = draw(st.integers(0, 2)), draw(st.integers(1, 4))
    blocks = range(100 * session, 100 * session + 3 * turns)
    demands = draw(
        st.sampled_from([{}, {}, {"pinned": 2}, {"allowed": frozenset({1, 3})}, {"allowed": frozenset({0})}])
    )
    return {"blocks": blocks, "session": draw(st.sampled_from([None, str(session)])), **demands}


histories = st.lists(st.tuples(queries(), st.floats(0, 1, exclude_max=True), st.booleans()), max_size=12)
"""Requests, the draw for each, and whether the oldest one ends before."""
History = list[tuple[dict[str, Any], float, bool]]


class Books:
    """A router that serves a history, and tells its index what each rank then holds."""

    def __init__(self, policy: Policy) -> None:
        self.router = Router(RouterConfig(), BLOCK, RANKS, policy=policy)
        self.open: list[Booking] = []

    def serve(self, demands: dict[str, Any], draw: float, ends: bool) -> Decision:
        if ends and self.open:
            self.router.free(self.open.pop(0), 0.0)
        asked = query(**demands)
        decision = self.router.choose(asked, 0.0, draw)
        self.open.append(self.router.book(asked, decision.chosen, 0.0))
        self.router.stored(decision.chosen.rank, None, demands["blocks"], "device")
        return decision


@every_policy
@settings(max_examples=20)
@given(history=histories)
def test_it_returns_a_candidate_that_meets_the_demands(make: Callable[[], Policy], history: History) -> None:
    books = Books(make())
    for demands, draw, ends in history:
        rank = books.serve(demands, draw, ends).chosen.rank
        assert rank in demands.get("allowed", range(RANKS))
        assert rank == demands.get("pinned", rank)


@every_policy
@settings(max_examples=20)
@given(history=histories)
def test_equal_draws_make_equal_choices(make: Callable[[], Policy], history: History) -> None:
    one, other = Books(make()), Books(make())
    for step in history:
        assert one.serve(*step).chosen == other.serve(*step).chosen


@every_policy
@settings(max_examples=20)
@given(history=histories)
def test_asking_changes_nothing(make: Callable[[], Policy], history: History) -> None:
    asked, left_alone = Books(make()), Books(make())
    for demands, draw, ends in history:
        before = load(asked.router)
        terms = [*asked.router.terms(query(**demands), 0.0)]
        assert [*asked.router.terms(query(**demands), 0.0)] == terms
        assert load(asked.router) == before
        assert asked.serve(demands, draw, ends).chosen == left_alone.serve(demands, draw, ends).chosen


@every_policy
@settings(max_examples=20)
@given(history=histories)
def test_all_load_is_gone_when_everything_has_ended(make: Callable[[], Policy], history: History) -> None:
    books = Books(make())
    for step in history:
        books.serve(*step)
    assert sum(load(books.router)[2]) == len(books.open)
    for booking in books.open:
        books.router.free(booking, 0.0)
    assert load(books.router) == ([0] * RANKS, [0] * RANKS, [0] * RANKS)


@every_policy
def test_it_sees_what_workers_hold_if_it_reads_caches(make: Callable[[], Policy]) -> None:
    policy = make()
    router = Router(RouterConfig(), BLOCK, RANKS, policy=policy)
    router.stored(2, None, range(5), "device")
    seen = [candidate.device_blocks for candidate in router.terms(query(range(5)), 0.0)]
    assert seen == ([0, 0, 5, 0] if reads_cache(policy) else [0] * RANKS)
    assert router.hears_events == reads_cache(policy)


@pytest.mark.parametrize("name", POLICIES)
def test_by_name_it_sees_the_same_as_when_it_is_passed(name: str) -> None:
    config = RouterConfig(policy=name)
    routers = Router(config, BLOCK, RANKS), Router(config, BLOCK, RANKS, policy=make_policy(config, SILENT))
    assert len({router.hears_events for router in routers}) == 1
    asked = query(range(3), session="a")
    assert len({router.choose(asked, 0.0, 0.3).chosen.rank for router in routers}) == 1


@every_policy
@settings(max_examples=20)
@given(history=histories, spoilt=histories)
def test_each_router_has_a_state_of_its_own(
    make: Callable[[], Policy], history: History, spoilt: History
) -> None:
    alone, one, other = Books(make()), Books(make()), Books(make())
    for step in spoilt:
        other.serve(*step)
    assert [one.serve(*step).chosen for step in history] == [alone.serve(*step).chosen for step in history]


@every_policy
@settings(max_examples=20)
@given(history=histories)
def test_ranks_that_leave_and_return_are_chosen_only_while_they_are_there(
    make: Callable[[], Policy], history: History
) -> None:
    books = Books(make())
    for turn, (demands, draw, ends) in enumerate(history):
        alive = frozenset(rank for rank in range(RANKS) if (turn + rank) % 3)
        asked = demands if "pinned" in demands else {**demands, "allowed": alive}
        rank = books.serve(asked, draw, ends).chosen.rank
        assert rank in alive or rank == demands.get("pinned")


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=20)
@given(history=histories)
def test_of_one_rank_it_takes_that_one(name: str, history: History) -> None:
    for around in (Surroundings(1, BLOCK), Surroundings(1, BLOCK, said, lambda query: [0])):
        config = RouterConfig(policy=name)
        router = Router(config, BLOCK, 1, around=around)
        for demands, draw, _ in history:
            asked = query(demands["blocks"], session=demands["session"])
            assert router.choose(asked, 0.0, draw).chosen.rank == 0


@every_policy
def test_a_prompt_without_a_full_block_is_no_special_case(make: Callable[[], Policy]) -> None:
    books = Books(make())
    ranks = [
        books.serve({"blocks": range(0), "session": None}, draw / 8, False).chosen.rank for draw in range(8)
    ]
    assert set(ranks) <= set(range(RANKS))


def unlike(terms: Sequence[CostTerms]) -> list[CostTerms]:
    """Return the terms of candidates that hold other blocks and are booked the same."""
    return [each._replace(device_blocks=each.rank, cost=float(-each.rank)) for each in terms]


@pytest.mark.parametrize("name", [name for name in POLICIES if not reads_cache(named(name)())])
@settings(max_examples=20)
@given(history=histories)
def test_what_reads_no_cache_goes_by_nothing_that_an_index_knows(name: str, history: History) -> None:
    one, other = named(name)(), named(name)()
    router = Router(RouterConfig(), BLOCK, RANKS)
    for demands, draw, _ in history:
        asked = query(**demands)
        terms = router.terms(asked, 0.0)
        rank = one(terms, asked, draw)
        assert other(unlike(terms), asked, draw) == rank
        router.book(asked, {each.rank: each for each in terms}[rank], 0.0)


@every_policy
def test_where_nobody_may_serve_it_is_not_asked(make: Callable[[], Policy]) -> None:
    with pytest.raises(NoEligibleWorkerError):
        Router(RouterConfig(), BLOCK, RANKS, policy=make()).choose(query(allowed=frozenset()), 0.0, 0.5)


def test_which_policies_read_caches() -> None:
    reading = [name for name in POLICIES if reads_cache(named(name)())]
    assert reading == ["dynamo-two-tier", "kv", "llm-d", "oracle"]
    assert reads_cache(first_cheapest)
    assert not reads_cache(Stubborn())
