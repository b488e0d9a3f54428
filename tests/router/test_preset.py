"""The preset `--load-aware`."""

from sim.router import Router, RouterConfig
from sim.router.preset import apply_load_aware
from tests.router.helpers import BLOCK, book_on, load, query


def test_the_preset_wins_over_what_it_sets_and_leaves_the_rest() -> None:
    config = RouterConfig(
        load_aware=True,
        overlap_score_credit=0.5,
        use_kv_events=True,
        predicted_ttl_secs=3,
        shared_cache_type="hicache",
        track_active_blocks=False,
        track_prefill_tokens=False,
        assume_kv_reuse=True,
        prefill_load_scale=2,
        host_cache_hit_weight=0.5,
    )
    assert config == RouterConfig(
        load_aware=True,
        overlap_score_credit=0,
        use_kv_events=False,
        predicted_ttl_secs=None,
        shared_cache_type="none",
        track_active_blocks=True,
        track_prefill_tokens=True,
        assume_kv_reuse=False,
        prefill_load_scale=2,
        host_cache_hit_weight=0.5,
    )
    assert RouterConfig(**config.model_dump()) == config


def test_without_it_nothing_is_set() -> None:
    data = {"load_aware": False, "overlap_score_credit": 0.5}
    assert apply_load_aware(data) == data
    assert apply_load_aware("load_aware") == "load_aware"


def test_load_alone_decides_and_equal_prompts_share_nothing() -> None:
    router = Router(RouterConfig(load_aware=True), BLOCK, 2)
    assert not router.stored(0, None, [1, 2], "device")
    ask = query([1, 2], tail_tokens=0)
    assert [terms.cost for terms in router.terms(ask, 0.0)] == [4, 4]
    book_on(router, 0, ask)
    assert load(router) == ([32, 0], [2, 0], [1, 0])
    # Booked prefill 2 + prompt 2 + blocks 2 + 2, of which none is shared.
    assert [terms.cost for terms in router.terms(ask, 0.0)] == [8, 4]
