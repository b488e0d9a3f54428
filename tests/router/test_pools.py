"""The routers of a disaggregated deployment: what each stage costs and books."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.router import Overrides, Router, RouterConfig
from sim.router.pools import StageRouting, conditional_decode_stage, decode_stage, prefill_stage
from tests.router.helpers import BLOCK, book_on, load, query


def router_of(stage: StageRouting, ranks: int) -> Router:
    return Router(stage.config, BLOCK, ranks, worker_type=stage.worker_type)


def test_prefill_costs_prefill_and_requests_only() -> None:
    stage = prefill_stage(RouterConfig(prefill_load_scale=3.0, decode_active_request_weight=2.0))
    router = router_of(stage, 2)
    router.stored(1, None, [1, 2], "device")
    router.stored(1, 2, [3], "host")
    book_on(router, 1, query([9, 9, 9], tail_tokens=8, overrides=stage.overrides))
    idle, holder = router.terms(query([1, 2, 3], tail_tokens=8, overrides=stage.overrides), 0.0)
    assert idle.cost == 3.0 * 3.5
    # 56 tokens booked and 56 of this prompt, less 2 + 0.75 blocks; one request there.
    assert holder.cost == 3.0 * (7 - 2.75) + 2.0
    assert (idle.decode_blocks, holder.decode_blocks) == (0, 0)


def test_the_life_of_a_prefill_booking() -> None:
    """The first token takes the prompt's tokens away, the answer's end the request; there are no blocks."""
    stage = prefill_stage(RouterConfig())
    router = router_of(stage, 2)
    router.stored(0, None, [1, 2], "device")
    ask = query([1, 2, 3], tail_tokens=8, overrides=stage.overrides)
    first, second = (book_on(router, 0, ask) for _ in range(2))
    assert load(router) == ([48, 0], [0, 0], [2, 0])
    router.first_token(first, 1.0)
    assert load(router) == ([24, 0], [0, 0], [2, 0])
    router.free(first, 1.5)
    assert load(router) == ([24, 0], [0, 0], [1, 0])
    # One that fails before its first token leaves nothing either.
    router.free(second, 2.0)
    assert load(router) == ([0, 0], [0, 0], [0, 0])


def test_decode_costs_blocks_without_sharing_and_requests() -> None:
    stage = decode_stage(RouterConfig(decode_active_request_weight=0.5))
    router = router_of(stage, 2)
    assert not router.stored(0, None, [1, 2, 3], "device")
    ask = query([1, 2, 3], tail_tokens=8, overrides=stage.overrides)
    bookings = [book_on(router, 0, ask) for _ in range(2)]
    assert load(router) == ([0, 0], [6, 0], [2, 0])
    busy, idle = router.terms(ask, 0.0)
    # The partial block is not counted.
    assert (busy.cost, idle.cost) == (6 + 3 + 2 * 0.5, 3.0)
    for booking in bookings:
        router.first_token(booking, 1.0)
    assert load(router) == ([0, 0], [6, 0], [2, 0])
    router.free(bookings[0], 2.0)
    assert load(router) == ([0, 0], [3, 0], [1, 0])


def test_neither_prefill_scale_nor_credit_moves_a_decode_choice() -> None:
    def costs(config: RouterConfig) -> list[float]:
        stage = decode_stage(config)
        router = router_of(stage, 2)
        book_on(router, 1, query([1, 2], overrides=stage.overrides))
        return [t.cost for t in router.terms(query([1, 2, 3], overrides=stage.overrides), 0.0)]

    assert costs(RouterConfig()) == [3, 5]
    assert costs(RouterConfig(prefill_load_scale=4.0)) == [3, 5]
    assert costs(RouterConfig(overlap_score_credit=0.0)) == [3, 5]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=12), st.integers(0, 6))
def test_a_router_without_index_is_the_same_as_a_credit_of_0_in_each_query(
    booked: list[tuple[int, int]], held: int
) -> None:
    """Dynamo's router has an index, and each query overrides credit, tracking of prefill and reuse."""
    config = RouterConfig(decode_active_request_weight=1.5)
    stage = decode_stage(config)
    ours, dynamo_s = router_of(stage, 3), Router(config, BLOCK, 3)
    sent = Overrides(overlap_score_credit=0.0, track_prefill_tokens=False, assume_kv_reuse=False)
    for router, overrides in ((ours, stage.overrides), (dynamo_s, sent)):
        router.stored(2, None, list(range(held)), "device")
        for rank, length in booked:
            book_on(router, rank, query(range(length), overrides=overrides))
    assert load(ours) == load(dynamo_s)
    costs = [t.cost for t in ours.terms(query(range(6), overrides=stage.overrides), 0.0)]
    assert costs == [t.cost for t in dynamo_s.terms(query(range(6), overrides=sent), 0.0)]


def test_conditional_decode_keeps_the_credit_for_its_three_ways_to_ask() -> None:
    stage = conditional_decode_stage(RouterConfig())
    router = router_of(stage, 2)
    router.stored(0, None, [1, 2], "device")
    book_on(router, 0, query([1, 2, 3], tail_tokens=0))
    prompt = [1, 2, 3, 4]
    # The stage behind a remote prefill: 3 blocks run there, all 4 of the prompt are new, less a credit of 2.
    behind = router.terms(query(prompt, tail_tokens=0, overrides=stage.overrides), 0.0)
    assert [t.cost for t in behind] == [3 + 4 - 2, 4]
    # The peek: prefill booked (1 block) and whole (4) less 2; one new block beside the 3.
    assert [t.cost for t in router.terms(query(prompt, tail_tokens=0), 0.0)] == [1 + 4 - 2 + 4, 4 + 4]
    # One that stays is booked with the 2 blocks of prefill that are left.
    before = load(router)
    book_on(router, 0, query(prompt, tail_tokens=0, pinned=0))
    assert before == ([16, 0], [3, 0], [1, 0])
    assert load(router) == ([16 + 32, 0], [4, 0], [2, 0])


def test_conditional_disaggregation_needs_dynamo_s_policy() -> None:
    with pytest.raises(InputError, match=r'router.policy = "round-robin": .* "kv" only'):
        conditional_decode_stage(RouterConfig(policy="round-robin"))
