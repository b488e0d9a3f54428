from collections.abc import Sequence
from math import exp, tanh
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.base.uniform import uniform
from sim.router import CostTerms, NoEligibleWorkerError, Query, Router, RouterConfig
from sim.router.index import Overlap
from tests.router.helpers import BLOCK, book_on, load, query

# Cost and booking together


def test_a_request_goes_where_its_prefix_is_and_books_what_is_left() -> None:
    router = Router(RouterConfig(), BLOCK, 3)
    router.stored(1, None, [1, 2, 3], "device")
    router.stored(1, 3, [4], "host")
    decision = router.choose(query([1, 2, 3, 4, 5], tail_tokens=8), now_s=0.0, draw=0.9)
    assert decision.chosen.rank == 1
    assert decision.ties == 1
    # 5.5 blocks of prefill less 3 + 0.75, and 5 new blocks.
    assert decision.chosen.cost == 5.5 - 3.75 + 5
    assert [t.cost for t in decision.terms] == [10.5, 6.75, 10.5]
    booking = router.book(query([1, 2, 3, 4, 5], tail_tokens=8), decision.chosen, now_s=0.0)
    assert booking.credit_tokens == 60
    assert load(router) == ([0, 28, 0], [0, 5, 0], [0, 1, 0])


def test_what_a_query_says_of_overlap_is_taken_for_what_the_index_says() -> None:
    router = Router(RouterConfig(), BLOCK, 2)
    router.stored(0, None, [1, 2], "device")
    told = query([1, 2])._replace(overlap=Overlap(np.array([0, 1]), 0, 0))
    assert [t.overlap_credit_blocks for t in router.terms(told, 0.0)] == [0, 1]
    allowed = told._replace(allowed=frozenset({1}))
    assert [t.overlap_credit_blocks for t in router.terms(allowed, 0.0)] == [1]
    assert [t.overlap_credit_blocks for t in router.terms(query([1, 2]), 0.0)] == [2, 0]


def test_asking_changes_nothing() -> None:
    router = Router(RouterConfig(), BLOCK, 2)
    router.stored(1, None, [1], "device")
    book_on(router, 0, query([1, 2]))
    before = load(router), list(router.terms(query([1, 2]), 0.0))
    router.choose(query([1, 2]), 0.0, draw=0.5)
    assert (load(router), list(router.terms(query([1, 2]), 0.0))) == before


def test_a_decision_shows_what_it_was_made_from_whatever_is_booked_later() -> None:
    router = Router(RouterConfig(), BLOCK, 2)
    decision = router.choose(query([1, 2]), 0.0, draw=0.0)
    router.book(query([1, 2]), decision.chosen, 0.0)
    assert [(t.cost, t.active_requests) for t in decision.terms] == [(2.0625 + 2, 0)] * 2


def test_blocks_of_running_requests_are_not_counted_as_new() -> None:
    router = Router(RouterConfig(), BLOCK, 2)
    book_on(router, 0, query([1, 2, 3]))
    shared, fresh = router.terms(query([1, 2, 4]), 0.0)
    # Three blocks run there, one of this prompt is new; nothing is cached, so the prompt is charged in full.
    assert (shared.decode_blocks, fresh.decode_blocks) == (4, 3)
    assert shared.active_blocks == 3
    assert shared.adjusted_prefill_blocks == (49 + 49) / BLOCK


def test_the_life_of_a_booking() -> None:
    router = Router(RouterConfig(), BLOCK, 1)
    first, second = (book_on(router, 0, query([1, 2, last], tail_tokens=0)) for last in (3, 4))
    assert load(router) == ([96], [4], [2])
    router.first_token(first, 1.0)
    router.first_token(first, 1.0)
    assert load(router) == ([48], [4], [2])
    router.free(second, 2.0)
    assert load(router) == ([0], [3], [1])
    router.free(first, 3.0)
    router.free(first, 3.0)
    assert load(router) == ([0], [0], [0])


def test_active_requests_cost_by_their_weight() -> None:
    router = Router(RouterConfig(decode_active_request_weight=2.5), BLOCK, 2)
    for _ in range(2):
        router.first_token(book_on(router, 0, query(tail_tokens=4)), 0.0)
    assert [t.cost for t in router.terms(query(tail_tokens=8), 0.0)] == [5.5, 0.5]


# Who may serve


def test_constraints_leave_the_ranks_that_meet_them_all() -> None:
    taints = [frozenset({"a"}), frozenset({"b"}), frozenset({"a", "b"}), frozenset[str]()]
    router = Router(RouterConfig(), BLOCK, 4, taints)

    def ranks(**constraints: Any) -> list[int]:
        return [t.rank for t in router.terms(query([1], **constraints), 0.0)]

    assert ranks() == [0, 1, 2, 3]
    assert ranks(required_taints=frozenset({"a"})) == [0, 2]
    assert ranks(required_taints=frozenset({"a", "b"})) == [2]
    assert ranks(allowed=frozenset({1, 2, 9}), required_taints=frozenset({"a"})) == [2]
    assert ranks(pinned=3) == [3]
    impossible_ones: tuple[dict[str, object], ...] = (
        {"allowed": frozenset[int]()},
        {"required_taints": frozenset({"c"})},
        {"pinned": 3, "required_taints": frozenset({"a"})},
        {"pinned": 1, "allowed": frozenset({2})},
        {"pinned": 4},
    )
    for impossible in impossible_ones:
        with pytest.raises(NoEligibleWorkerError, match="request 0"):
            ranks(**impossible)


def test_the_least_booked_prefill_is_that_of_the_eligible() -> None:
    router = Router(RouterConfig(overlap_score_credit_decay=1.0), BLOCK, 3)
    for rank, tail_tokens in enumerate((8, 24, 40)):
        book_on(router, rank, Query(request=0, isl_tokens=tail_tokens, blocks=range(tail_tokens // BLOCK)))
    decays = [t.overlap_credit_decay for t in router.terms(query([7], 0, allowed=frozenset({1, 2})), 0.0)]
    # Rank 2 has one block more than rank 1, as much as the prompt: half the credit.
    assert decays == [1.0, 0.5]


def test_preferred_taints_multiply_the_cost_but_not_of_a_pinned_request() -> None:
    taints = [frozenset({"a"}), frozenset({"a", "b"}), frozenset[str]()]
    router = Router(RouterConfig(), BLOCK, 3, taints)
    preferred = {"a": 2.0, "b": 0.5}
    costs = [t.cost for t in router.terms(query([1], 0, preferred_taints=preferred), 0.0)]
    assert costs == [2.0 * exp(-tanh(2.0)), 2.0 * exp(-tanh(2.5)), 2.0]
    (pinned,) = router.terms(query([1], 0, preferred_taints=preferred, pinned=1), 0.0)
    assert pinned.cost == 2.0
    # A negative weight makes dearer; 0.1 is kept in 32 bits.
    (dearer, *_) = router.terms(query([1], 0, preferred_taints={"a": -0.1}), 0.0)
    assert dearer.cost == 2.0 * exp(tanh(0.10000000149011612))


# Policies


def test_a_policy_of_one_s_own_chooses() -> None:
    def last(terms: Sequence[CostTerms], query: Query, draw: float) -> int:
        return terms[-1].rank

    decision = Router(RouterConfig(), BLOCK, 3, policy=last).choose(query([1]), 0.0, draw=0.0)
    assert (decision.chosen.rank, decision.ties) == (2, 3)


def test_a_policy_that_names_no_candidate_is_told_so() -> None:
    router = Router(RouterConfig(), BLOCK, 3, policy=lambda terms, query, draw: 7)
    with pytest.raises(ValueError, match="rank 7"):
        router.choose(query([1]), 0.0, draw=0.0)


# Faults seen in other simulators


def test_unrelated_requests_spread_over_idle_workers_by_the_seed() -> None:
    """Equal cost must not always choose worker 0."""

    def choices(seed: int) -> list[int]:
        router, chosen = Router(RouterConfig(), BLOCK, 8), []
        for request in range(64):
            now_s = request * 10.0
            ask = Query(request, isl_tokens=4 * BLOCK, blocks=range(request * 4, request * 4 + 4))
            decision = router.choose(ask, now_s, uniform(seed, "route", request))
            assert decision.ties == 8
            booking = router.book(ask, decision.chosen, now_s)
            router.first_token(booking, now_s + 1)
            router.free(booking, now_s + 2)
            chosen.append(decision.chosen.rank)
        return chosen

    counts = [choices(seed=3).count(rank) for rank in range(8)]
    assert min(counts) >= 2
    assert max(counts) <= 20
    assert choices(seed=3) == choices(seed=3)
    assert choices(seed=3) != choices(seed=4)


def test_a_prompt_cut_by_another_block_size_is_refused() -> None:
    """Router and engine with different block sizes: the overlap would silently be 0."""
    router = Router(RouterConfig(), block_size=16, ranks=2)
    with pytest.raises(
        InputError, match=r"request 5: 10 full blocks for 640 .* block size of 16 .* makes 40"
    ):
        router.terms(Query(request=5, isl_tokens=640, blocks=range(10)), 0.0)
    with pytest.raises(InputError, match="at least 1 token"):
        router.terms(Query(request=5, isl_tokens=0, blocks=()), 0.0)


# Invariants


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8), st.booleans()), max_size=20),
    st.sampled_from(
        [RouterConfig(), RouterConfig(assume_kv_reuse=False), RouterConfig(overlap_score_credit=0.3)]
    ),
)
def test_what_is_booked_and_freed_leaves_no_trace(
    history: list[tuple[int, int, bool]], config: RouterConfig
) -> None:
    router = Router(config, BLOCK, 3)
    router.stored(1, None, list(range(5)), "device")
    idle = list(router.terms(query(range(6)), 0.0))
    bookings = []
    for request, (start, length, prefill_ends) in enumerate(history):
        ask = query(range(start * 100, start * 100 + length))
        decision = router.choose(ask, 0.0, uniform(0, "route", request))
        bookings.append(router.book(ask, decision.chosen, 0.0))
        if prefill_ends:
            router.first_token(bookings[-1], 0.0)
    assert sum(load(router)[2]) == len(history)
    for booking in bookings:
        router.free(booking, 0.0)
    assert load(router) == ([0] * 3, [0] * 3, [0] * 3)
    assert list(router.terms(query(range(6)), 0.0)) == idle
