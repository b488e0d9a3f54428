from sim.router import Overrides, Router, RouterConfig, WorkerType
from sim.router.overrides import NO_OVERRIDES
from tests.router.helpers import BLOCK, book_on, load, query


def test_a_credit_of_0_builds_no_index() -> None:
    router = Router(RouterConfig(overlap_score_credit=0.0), BLOCK, 1)
    assert not router.stored(0, None, [1, 2], "device")
    router.removed(0, [1], "device")
    router.cleared(0)
    book_on(router, 0, query([1, 2], tail_tokens=0))
    assert load(router)[0] == [32]


def test_an_override_of_0_keeps_the_index_for_the_booking() -> None:
    router = Router(RouterConfig(), BLOCK, 1)
    router.stored(0, None, [1, 2], "device")
    ask = query([1, 2, 3], tail_tokens=0, overrides=Overrides(overlap_score_credit=0.0))
    assert router.terms(ask, 0.0)[0].adjusted_prefill_blocks == 3.0
    book_on(router, 0, ask)
    assert load(router)[0] == [16]


def test_each_override_replaces_one_setting() -> None:
    router = Router(RouterConfig(prefill_load_scale=3.0), BLOCK, 1)
    book_on(router, 0, query([1], tail_tokens=0))

    def cost(**overrides: object) -> float:
        return router.terms(query([1], tail_tokens=0, overrides=Overrides(**overrides)), 0.0)[0].cost

    # Two blocks of prefill; one block runs already and is shared.
    assert cost() == 3.0 * 2 + 1
    assert cost(prefill_load_scale=0.5) == 0.5 * 2 + 1
    assert cost(overlap_score_weight=0.0) == 1
    assert cost(track_prefill_tokens=False) == 1
    assert cost(assume_kv_reuse=False) == 3.0 * 2 + 2


def test_a_shared_cache_counts_if_there_is_one_and_1_6_overrides_no_weight_of_it() -> None:
    def cost(overrides: Overrides = NO_OVERRIDES, **config: object) -> float:
        router = Router(RouterConfig(**config), BLOCK, 1)  # type: ignore[arg-type]
        ask = query([1, 2, 3, 4], tail_tokens=0, shared=2, overrides=overrides)
        return router.terms(ask, 0.0)[0].cost

    doubled = Overrides(shared_cache_multiplier=1.0)
    assert cost() == cost(doubled) == 4 + 4
    assert cost(shared_cache_type="hicache") == 4 - 0.5 * 2 + 4
    assert cost(shared_cache_type="hicache", shared_cache_multiplier=0.25) == 4 - 0.25 * 2 + 4
    assert cost(doubled, shared_cache_type="hicache") == 4 - 2 + 4
    assert cost(doubled, shared_cache_type="hicache", version="1.6") == 4 - 0.5 * 2 + 4


def test_the_decode_form_is_for_decode_workers_whose_prefill_is_not_tracked_and_that_have_a_credit() -> None:
    untracked = Overrides(track_prefill_tokens=False)

    def cost(overrides: Overrides, worker_type: WorkerType, **config: float) -> float:
        router = Router(RouterConfig(**config), BLOCK, 1, worker_type=worker_type)
        router.stored(0, None, [1, 2], "device")
        router.stored(0, 2, [3], "host")
        return router.terms(query([1, 2, 3, 4], tail_tokens=0, overrides=overrides), 0.0)[0].cost

    assert cost(untracked, "decode") == 4 - 2.75
    assert cost(untracked, "prefill") == cost(untracked, "aggregated") == 4
    assert cost(Overrides(), "decode") == 4 - 2.75 + 4
    assert cost(Overrides(), "decode", track_prefill_tokens=False) == 4 - 2.75
    assert cost(Overrides(track_prefill_tokens=True), "decode", track_prefill_tokens=False) == 4 - 2.75 + 4
    # What counts is the credit of the request; without it the host tier does not count either.
    assert cost(Overrides(track_prefill_tokens=False, overlap_score_credit=0.5), "decode") == 4 - 1.75
    assert cost(Overrides(track_prefill_tokens=False, overlap_score_credit=0.0), "decode") == 4


def test_without_reuse_equal_prompts_do_not_share_blocks() -> None:
    router = Router(RouterConfig(assume_kv_reuse=False), BLOCK, 1)
    bookings = [book_on(router, 0, query([1, 2])) for _ in range(2)]
    assert load(router)[1] == [4]
    assert router.terms(query([1, 2]), 0.0)[0].decode_blocks == 6
    for booking in bookings:
        router.free(booking, 0.0)
    assert load(router) == ([0], [0], [0])


def test_untracked_blocks_cost_nothing_and_are_not_booked() -> None:
    router = Router(RouterConfig(track_active_blocks=False, track_output_blocks=True), BLOCK, 1)
    booking = book_on(router, 0, query([1, 2]))
    router.output_tokens(booking, 100, 0.0)
    assert load(router) == ([33], [0], [1])
    assert router.terms(query([1, 2]), 0.0)[0].decode_blocks == 0


def test_untracked_prefill_is_not_booked() -> None:
    router = Router(RouterConfig(track_prefill_tokens=False), BLOCK, 1)
    book_on(router, 0, query([1, 2]))
    assert load(router) == ([0], [2], [1])


def test_output_blocks_fade_towards_the_expected_end() -> None:
    """Measured on Dynamo 1.5.0: 100 prompt tokens, 60 expected."""
    router = Router(RouterConfig(track_output_blocks=True), BLOCK, 1)
    booking = book_on(router, 0, query(range(6), tail_tokens=4, expected_osl=60))
    seen = {}
    for tokens in range(1, 46):
        router.output_tokens(booking, tokens, 0.0)
        seen[tokens] = load(router)[1][0]
    assert (seen[12], seen[13], seen[28], seen[29], seen[44], seen[45]) == (6, 5, 5, 4, 4, 2)
    router.free(booking, 0.0)
    assert load(router) == ([0], [0], [0])


def test_beyond_the_expected_end_nothing_of_the_request_is_left() -> None:
    router = Router(RouterConfig(track_output_blocks=True), BLOCK, 1)
    for expected_osl in (0, 10):
        booking = book_on(router, 0, query([1], tail_tokens=0, expected_osl=expected_osl))
        router.output_tokens(booking, 17, 0.0)
        assert load(router)[1] == [0]
        router.free(booking, 0.0)


def test_output_blocks_without_an_expected_end_count_in_full_one_a_call() -> None:
    router = Router(RouterConfig(track_output_blocks=True), BLOCK, 1)
    booking = book_on(router, 0, query([1], tail_tokens=0))
    router.output_tokens(booking, 1, 0.0)
    assert load(router)[1] == [2]
    router.output_tokens(booking, 16, 0.0)
    assert load(router)[1] == [2]
    router.output_tokens(booking, 100, 0.0)
    assert load(router)[1] == [3]


def test_output_is_not_tracked_by_default() -> None:
    router = Router(RouterConfig(), BLOCK, 1)
    router.output_tokens(book_on(router, 0, query([1])), 100, 0.0)
    assert load(router)[1] == [1]


def test_a_booking_that_expired_is_not_freed_again() -> None:
    router = Router(RouterConfig(active_request_expiry_secs=5.0), BLOCK, 1)
    old = book_on(router, 0, query([1]), now_s=3.0)
    book_on(router, 0, query([2]), now_s=55.0)
    assert load(router) == ([17], [1], [1])
    router.free(old, 56.0)
    assert load(router)[2] == [1]
