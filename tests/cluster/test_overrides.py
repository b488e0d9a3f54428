"""What every request carries along for the router, in whole runs."""

from typing import Any

import pytest

from tests.clusters import Pace, rows, run_cluster, scenario, trace, turn

OWN_BLOCKS = [5 + n % 3 for n in range(24)]
"""Of each prompt, after a first block that every fourth one has."""
TURNS = trace(
    *(
        turn(0.25 * n, 16 + 16 * own, 8, [n % 4, *range(50 * n, 50 * n + own)], str(n))
        for n, own in enumerate(OWN_BLOCKS)
    )
)


def decided(**router: Any) -> list[dict[str, Any]]:
    """Return who was chosen by which costs."""
    return rows(run_cluster(scenario(router=router), TURNS, Pace(0.2, 0.001)), "decisions")


SETTINGS: list[dict[str, float | bool]] = [
    {"overlap_score_credit": 0.25},
    {"prefill_load_scale": 3.0},
    {"temperature": 2.0},
    {"overlap_score_weight": 0.5},
    {"assume_kv_reuse": False},
    {"track_prefill_tokens": False},
]
OF_BOTH = SETTINGS[-2:]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_setting_that_every_request_carries_is_as_one_of_the_router(
    settings: dict[str, float | bool],
) -> None:
    carried = decided(overrides=settings)
    assert carried == decided(**settings)
    assert carried != decided()


@pytest.mark.parametrize("settings", SETTINGS)
def test_1_6_takes_only_what_is_tracked_and_reused(settings: dict[str, float | bool]) -> None:
    carried = decided(version="1.6", overrides=settings)
    assert carried == decided(version="1.6", **(settings if settings in OF_BOTH else {}))


def test_what_a_request_carries_wins() -> None:
    assert decided(prefill_load_scale=9.0, overrides={"prefill_load_scale": 3.0}) == decided(
        prefill_load_scale=3.0
    )


def test_a_credit_of_0_that_is_carried_keeps_the_index_for_the_booking() -> None:
    """The second prompt comes when the first has long been computed: 2 blocks are known to be there."""
    requests = trace(turn(0, 32, 2, [1, 2]), turn(9, 48, 2, [1, 2, 3], "later"))
    found = {}
    for name, router in (
        ("carried", {"overrides": {"overlap_score_credit": 0}}),
        ("set", {"overlap_score_credit": 0}),
    ):
        settings = scenario(router=router, workers={"count": 1})
        last = rows(run_cluster(settings, requests), "decisions")[-1]
        found[name] = last["device_blocks"], last["cost"]
    assert found == {"carried": (2, 3 + 3), "set": (0, 3 + 3)}
