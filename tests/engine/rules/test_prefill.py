"""The threshold and the interval of prefills: the smallest examples of both releases; blocks of 16."""

import pytest

from tests.engine.helpers import Prompts
from tests.engine.rules.helpers import BOTH, build, chunks

SMALL = {"max_num_batched_tokens": 128, "async_scheduling": False}


@pytest.mark.parametrize(("version", "found"), [("0.28", [32] * 6 + [8]), ("0.33", [128, 72])])
def test_a_prefill_that_is_alone_is_not_capped_since_0_33(version: str, found: list[int]) -> None:
    driver = build(version, 100, long_prefill_token_threshold=32, **SMALL)
    driver.engine.add(Prompts().request(("a", 200)))
    assert chunks(driver) == found


@pytest.mark.parametrize(
    ("version", "adaptive", "found"),
    [
        ("0.28", False, [32] * 6 + [8]),
        ("0.33", False, [32, 32, 128, 8]),  # the other one, of 20 tokens and 2, takes two steps
        ("0.33", True, [64, 64, 72]),  # half of the budget each
    ],
)
def test_one_that_is_not_alone_is_capped(version: str, adaptive: bool, found: list[int]) -> None:
    threshold = 16 if adaptive else 32
    driver, prompts = (
        build(
            version,
            100,
            long_prefill_token_threshold=threshold,
            long_prefill_token_threshold_adaptive=adaptive,
            **SMALL,
        ),
        Prompts(),
    )
    driver.engine.add(prompts.request(("a", 200)))
    driver.engine.add(prompts.request(("b", 20), output=2))
    assert chunks(driver) == found


def interval_steps(version: str) -> list[int]:
    """Return what each step computes of a prompt of 300 tokens that comes while another one decodes."""
    driver, prompts = build(version, 100, prefill_schedule_interval=4, **SMALL), Prompts()
    driver.engine.add(prompts.request(("a", 10), output=30))
    driver.turn()
    late = prompts.request(("b", 300))
    driver.engine.add(late)
    plans = []
    while late.outputs == 0:
        plans.append(driver.turn())
    return [
        sum(tokens for request, tokens in plan.scheduled if request is late)
        for plan in plans
        if plan is not None
    ]


def test_prefill_comes_every_fourth_step_while_others_decode_since_0_33() -> None:
    assert interval_steps("0.28") == [127, 127, 46]
    # The first step carried prefill: three of decoding, and so on.
    assert interval_steps("0.33") == [0, 0, 0, 127, 0, 0, 0, 127, 0, 0, 0, 46]


@pytest.mark.parametrize("version", BOTH)
def test_no_prefill_is_held_when_nobody_decodes(version: str) -> None:
    driver, prompts = build(version, 100, prefill_schedule_interval=4, **SMALL), Prompts()
    driver.engine.add(prompts.request(("a", 300)))
    assert chunks(driver) == [128, 128, 44]


def test_an_engine_that_cannot_take_all_that_wait_holds_nothing() -> None:
    driver, prompts = build("0.33", 100, prefill_schedule_interval=4, max_num_seqs=2, **SMALL), Prompts()
    driver.engine.add(prompts.request(("a", 10), output=20))
    for name in "bcd":
        driver.engine.add(prompts.request((name, 100)))
    plans = driver.run()
    first = {
        name: i
        for i, plan in reversed([*enumerate(plans)])
        for name in (r.request_id for r, _ in plan.scheduled)
    }
    # Two run; the third waits for room, so that its prefill is not held when the second has ended.
    assert [first[i] for i in range(4)] == [0, 0, 1, 2]


def test_fewer_requests_may_run_than_the_runner_has_places_for() -> None:
    driver, prompts = build("0.33", 100, max_num_active_seqs=2, max_num_seqs=16, **SMALL), Prompts()
    for name in "abc":
        driver.engine.add(prompts.request((name, 10), output=3))
    driver.turn()
    assert (len(driver.engine.scheduler.running), driver.engine.waiting) == (2, 1)
