"""Prompt tokens that fade over the time that they should take: by hand, and as the real router had them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.router import Query, RouterConfig
from sim.router.fading_prefill import FadingPrefill
from sim.router.load import Booking, Loads
from sim.router.router import Router

AIC = RouterConfig(prefill_load_model="aic")


def booking(request: int, tokens: int, prefill_s: float, booked_s: float = 0.0, rank: int = 0) -> Booking:
    return Booking(
        request=request,
        rank=rank,
        booked_s=booked_s,
        isl_tokens=tokens,
        expected_osl=None,
        credit_tokens=0,
        prefill_tokens=tokens,
        blocks=(),
        own_blocks=0,
        total_blocks=0,
        prefill_s=prefill_s,
    )


def left(loads: Loads, now_s: float) -> int:
    return int(loads.prefill_left(now_s)[0])


def test_the_oldest_is_computed_and_runs_over_into_those_behind_it() -> None:
    loads = Loads(1, prefill_fades=True)
    loads.book(booking(1, 100, 10.0))
    loads.book(booking(2, 60, 1.0, booked_s=2.0))
    assert [left(loads, now_s) for now_s in (0.0, 2.0, 5.05, 10.0, 15.0, 16.0, 99.0)] == [
        160,
        140,
        110,  # 50.5 tokens are done: 50 whole ones
        60,
        10,
        0,
        0,
    ]
    assert loads.prefill_tokens == [160]  # what is booked stays


def test_the_next_one_begins_when_the_oldest_has_ended_with_all_its_tokens() -> None:
    loads = Loads(1, prefill_fades=True)
    first, second, third = booking(1, 100, 10.0), booking(2, 60, 6.0), booking(3, 8, 4.0)
    for each in (first, second, third):
        loads.book(each)
    assert left(loads, 15.0) == 18
    loads.end_prefill(first, 15.0)
    assert left(loads, 15.0) == 68
    assert left(loads, 18.0) == 38
    loads.free(third, 18.0)  # not the oldest: the pace goes on
    assert left(loads, 20.0) == 10
    loads.free(second, 20.0)
    assert left(loads, 20.0) == 0
    loads.book(booking(4, 10, 1.0, booked_s=30.0))
    assert left(loads, 30.5) == 5


def test_what_takes_no_time_is_done_at_once_and_ranks_are_apart() -> None:
    loads = Loads(2, prefill_fades=True)
    loads.book(booking(1, 7, 0.0))
    loads.book(booking(2, 9, 3.0))
    loads.book(booking(3, 12, 3.0, rank=1))
    assert loads.prefill_left(0.0).tolist() == [9, 12]
    assert loads.prefill_left(1.0).tolist() == [9, 8]


def test_nothing_fades_unless_it_is_asked_for() -> None:
    loads = Loads(1)
    loads.book(booking(1, 100, 10.0))
    assert left(loads, 1e6) == 100
    assert not loads.prefill_fades


READ = [  # seconds after the three were booked within 4 ms, tokens left
    (0.005, 80275),
    (0.256, 78965),
    (1.010, 75032),
    (2.015, 69786),
    (4.032, 59229),
    (6.052, 48712),
    (7.565, 40819),
]
"""KvRouter of Dynamo 1.5.0 with AIConfigurator 0.12.0 (h100_sxm, Qwen3-32B): 60,000, 20,000, 300 tokens."""


def test_it_is_what_the_real_router_had() -> None:
    rank = FadingPrefill(1)
    for request, (tokens, duration_s) in enumerate(
        [(60_000, 11.496542368), (20_000, 2.486620646), (300, 0.05)]
    ):
        rank.book(request, 0, tokens, duration_s, 0.0)
    for now_s, tokens in READ:
        found = [int(rank.left(np.array([80_300]), now_s + by_s)[0]) for by_s in (-0.006, 0.006)]
        assert found[1] <= tokens <= found[0]


def test_the_router_asks_for_uncached_tokens_behind_what_is_cached() -> None:
    asked: list[tuple[int, int]] = []

    def prefill_s(tokens: int, prefix: int) -> float:
        asked.append((tokens, prefix))
        return 2.0

    router = Router(AIC, 16, 2, prefill_s=prefill_s)
    router.stored(0, None, range(4), "device")
    query = Query(1, 100, range(6))
    mine = router.book(query, router.terms(query, 0.0)[0], 0.0)
    assert asked == [(36, 64)]
    other = Query(2, 16, [99])
    assert [terms.active_prefill_tokens for terms in router.terms(other, 1.0)] == [18, 0]
    assert [terms.cost for terms in router.terms(other, 1.0)] == [(18 + 16) / 16 + 7, 1 + 1]
    router.first_token(mine, 1.5)
    assert [terms.active_prefill_tokens for terms in router.terms(other, 1.5)] == [0, 0]
    whole = Query(3, 64, range(4))
    router.book(whole, router.terms(whole, 2.0)[0], 2.0)
    assert len(asked) == 1  # nothing to compute, nothing to ask


@pytest.mark.parametrize("settings", [{}, {"prefill_load_model": "aic"}])
def test_without_the_setting_or_an_estimate_prompts_count_whole(settings: dict[str, str]) -> None:
    estimate = None if settings else (lambda tokens, prefix: 1.0)
    router = Router(RouterConfig(**settings), 16, 1, prefill_s=estimate)  # type: ignore[arg-type]
    query = Query(1, 32, [1, 2])
    router.book(query, router.terms(query, 0.0)[0], 0.0)
    assert router.terms(query, 50.0)[0].active_prefill_tokens == 32


def test_reports_of_load_say_what_is_left_when_something_happens_at_a_rank() -> None:
    config = RouterConfig(prefill_load_model="aic", active_prefill_tokens_threshold=50, report_delay_s=0.0)
    router = Router(config, 16, 2, prefill_s=lambda tokens, prefix: 10.0)
    query = Query(1, 160, range(10))
    router.book(query, router.terms(query, 0.0)[0], 0.0)
    assert router.reported_prefill(5.0) == [160, 0]  # fading by itself is not told
    more = Query(2, 16, [50])
    second = router.book(more, router.terms(more, 5.0)[0], 5.0)
    assert router.reported_prefill(6.0) == [96, 0]
    router.free(second, 7.0)
    assert router.reported_prefill(8.0) == [48, 0]


@given(
    st.lists(
        st.tuples(st.sampled_from("ben"), st.integers(0, 3), st.integers(0, 50), st.floats(0, 5)), max_size=40
    )
)
def test_what_is_left_is_never_more_than_booked_nor_less_than_nothing(steps) -> None:
    loads, now_s, opened = Loads(2, prefill_fades=True), 0.0, list[Booking]()
    for number, (what, choice, tokens, by_s) in enumerate(steps):
        before = loads.prefill_left(now_s)
        now_s += by_s
        assert (loads.prefill_left(now_s) <= before).all()
        if what == "b":
            opened.append(booking(number, tokens, by_s, now_s, rank=choice % 2))
            loads.book(opened[-1])
        elif opened:
            chosen = opened.pop(choice % len(opened))
            (loads.end_prefill if what == "e" else loads.free)(chosen, now_s)
        found = loads.prefill_left(now_s)
        assert ((found >= 0) & (found <= loads.prefill_tokens)).all()
