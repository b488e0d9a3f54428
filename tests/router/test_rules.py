"""What differs between releases acts where it should, and nowhere else."""

import pytest

from sim.router import Overrides, Router, RouterConfig
from sim.router.rules import RULES, Version
from tests.router.helpers import book_on, query

FIVE_OF_TEN = query(range(10), tail_tokens=0)


def router_of(version: Version, *, service: bool = False, **settings: object) -> Router:
    """Two idle ranks, of which the first holds half of a prompt of 160 tokens on its device."""
    router = Router(RouterConfig(version=version, **settings), 16, 2, service=service)  # type: ignore[arg-type]
    router.stored(0, None, range(5), "device")
    return router


def costs(router: Router, **overrides: object) -> list[float]:
    asked = FIVE_OF_TEN._replace(overrides=Overrides(**overrides))  # type: ignore[arg-type]
    return [terms.cost for terms in router.terms(asked, 0.0)]


@pytest.mark.parametrize(
    ("overrides", "in_1_5", "in_1_6"),
    [
        ({"overlap_score_credit": 0}, [20, 20], [15, 20]),
        ({"prefill_load_scale": 3}, [25, 40], [15, 20]),
        ({"overlap_score_weight": 3}, [25, 40], [15, 20]),
        ({"track_prefill_tokens": False, "overlap_score_credit": 0}, [10, 10], [5, 10]),
        ({"track_prefill_tokens": False, "assume_kv_reuse": False}, [5, 10], [5, 10]),
    ],
)
def test_1_6_ignores_overrides_of_the_weights(
    overrides: dict[str, float], in_1_5: list[float], in_1_6: list[float]
) -> None:
    """The smallest examples of the fact sheet, measured on both."""
    assert costs(router_of("1.5"), **overrides) == in_1_5
    assert costs(router_of("1.6"), **overrides) == in_1_6


def test_1_6_ignores_a_temperature() -> None:
    asked = FIVE_OF_TEN._replace(overrides=Overrides(temperature=5.0))
    drawn = {
        version: router_of(version).choose(asked, 0.0, 0.999).chosen.rank  # type: ignore[arg-type]
        for version in RULES
    }
    assert drawn == {"1.5": 1, "1.6": 0}


def test_both_take_overrides_of_what_is_tracked_to_the_service() -> None:
    untracked = {"track_prefill_tokens": False, "assume_kv_reuse": False}
    assert costs(router_of("1.5", service=True), **untracked) == [10, 10]
    assert costs(router_of("1.6", service=True), **untracked) == [5, 10]


@pytest.mark.parametrize(("version", "expected"), [("1.5", [24, 13, 13, 13]), ("1.6", [13, 13, 13, 13])])
def test_the_overrides_of_a_decode_leg_are_the_decode_form_in_1_6(
    version: Version, expected: list[float]
) -> None:
    """208 tokens; 11 of their 13 blocks are on worker 0, where 11 others are active."""
    router = Router(RouterConfig(version=version), 16, 4)
    router.stored(0, None, range(11), "device")
    book_on(router, 0, query(range(100, 111), tail_tokens=0))
    leg = Overrides(track_prefill_tokens=False, assume_kv_reuse=False, overlap_score_credit=0)
    asked = query(range(13), tail_tokens=0, overrides=leg)
    assert [terms.cost for terms in router.terms(asked, 0.0)] == expected


def test_the_service_of_1_6_takes_its_workers_for_decode_workers() -> None:
    for version, expected in (("1.5", [10, 10]), ("1.6", [5, 10])):
        router = router_of(version, service=True, track_prefill_tokens=False)  # type: ignore[arg-type]
        assert costs(router) == expected
        assert costs(router_of(version, track_prefill_tokens=False)) == [5, 10]  # type: ignore[arg-type]


@pytest.mark.parametrize(("version", "expected"), [("1.5", [17, 20]), ("1.6", [20, 20])])
def test_without_credit_the_service_of_1_6_forgives_no_tier_and_books_all_of_them(
    version: Version, expected: list[float]
) -> None:
    """4 blocks in host memory: 112 tokens are booked in both."""
    router = Router(RouterConfig(version=version, overlap_score_credit=0), 16, 2, service=True)
    router.stored(0, None, range(4), "host")
    assert costs(router) == expected
    assert book_on(router, 0, FIVE_OF_TEN).prefill_tokens == 112


@pytest.mark.parametrize(("version", "expected"), [("1.5", [20, 20]), ("1.6", [10, 20])])
def test_only_the_service_of_1_6_guesses(version: Version, expected: list[float]) -> None:
    router = Router(RouterConfig(version=version, use_kv_events=False), 16, 2, service=True)
    router.free(book_on(router, 0, FIVE_OF_TEN), 1.0)
    assert costs(router) == expected


def test_of_blocks_that_count_twice_more_than_the_prompt_may_be_cached() -> None:
    """161 tokens: 10 blocks predicted on the device, 10 more on disk by events; 25 tokens are booked."""
    config = RouterConfig(version="1.6", predicted_ttl_secs=9.0)
    router = Router(config, 16, 1, service=True)
    router.free(book_on(router, 0, query(range(10))), 0.0)
    router.stored(0, None, range(10), "disk")
    book_on(router, 0, query([50], tail_tokens=9))
    (terms,) = router.terms(query(range(10)), 1.0)
    assert (terms.device_blocks, terms.disk_blocks) == (10, 10)
    assert (terms.cached_tokens, terms.overlap_credit_blocks) == (200, 12.5)
    assert (terms.raw_prefill_blocks, terms.adjusted_prefill_blocks) == (225 / 16, 1.5625)
