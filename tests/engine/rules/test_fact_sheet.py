"""What an upgrade does to a pool of 1,635 blocks of 800: figures that the classes of both releases gave.

Agents come back in turn, alone: the first prompt is cold and has 213,000 tokens, each later one 1,200 more,
of which 20 are the answer. A prompt hits up to the last block boundary that leaves a token of the one before:
212,800 of 214,200, 213,600 of 215,400, 215,200 of 216,600.
"""

from typing import Any

import pytest

from tests.engine.helpers import Prompts
from tests.engine.rules.helpers import build

POOL = 1634
FIRST, ADDED, ANSWER = 213_000, 1_200, 20
HIT = [0, 212_800, 213_600, 215_200]
NONE = [0, 0, 0, 0]
HOST_64_GIB = 2621
"""Blocks of 26,214,400 bytes."""


def rounds(version: str, sessions: int, blocks: int = POOL, block: int = 800, **more: Any) -> list[list[int]]:
    """Serve four rounds; return what each round hit, in GPU memory and in the host tier, of all prompts."""
    driver, prompts = build(version, blocks, block, 3, **more), Prompts(block)
    contents = [[(f"first {number}", FIRST)] for number in range(sessions)]
    found: list[list[int]] = [[], []]
    for _ in HIT:
        requests = []
        for content in contents:
            request = prompts.request(*content, output=ANSWER)
            driver.engine.add(request)
            driver.run()
            content += [(f"answer {request.request_id}", ANSWER)]
            content += [(f"after {request.request_id}", ADDED - ANSWER)]
            requests.append(request)
        found[0].append(sum(request.local_tokens for request in requests))
        found[1].append(sum(request.external_tokens for request in requests))
    return found


@pytest.mark.parametrize(
    ("version", "sessions", "hit"),
    [
        ("0.28", 4, HIT),
        ("0.28", 5, NONE),
        ("0.33", 5, HIT),
        # Of the six first prompts five are still there; then each round evicts what the next would hit.
        ("0.33", 6, [0, 212_800 * 5 / 6, 0, 0]),
    ],
)
def test_five_agents_fit_instead_of_four(version: str, sessions: int, hit: list[float]) -> None:
    assert rounds(version, sessions) == [[round(sessions * tokens) for tokens in hit], NONE]


def test_of_five_agents_prompts_nothing_hits_in_0_28_and_three_quarters_in_0_33() -> None:
    """4.3 million tokens are computed, and 1.1 million."""
    prompts = sum(5 * (FIRST + ADDED * turn) for turn in range(4))
    assert prompts == 4_296_000
    shares = [sum(rounds(version, 5)[0]) / prompts for version in ("0.28", "0.33")]
    assert shares == [0, pytest.approx(0.747, abs=5e-4)]


def test_five_fit_in_blocks_of_832_too_of_which_there_are_1_572() -> None:
    hits = [0, 256 * 832, 257 * 832, 258 * 832]
    assert rounds("0.33", 5, 1571, 832, saves_inside=True) == [[5 * hit for hit in hits], NONE]
    assert rounds("0.33", 6, 1571, 832, saves_inside=True)[0][2:] == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "sessions", "loaded"),
    [("0.28", 7, HIT), ("0.28", 8, NONE), ("0.33", 9, HIT), ("0.33", 10, NONE)],
)
def test_nine_agents_fit_into_64_gib_of_host_memory_instead_of_seven(
    version: str, sessions: int, loaded: list[int]
) -> None:
    found = rounds(version, sessions, cpu_blocks=HOST_64_GIB)
    assert found == [NONE, [sessions * tokens for tokens in loaded]]


@pytest.mark.parametrize(("version", "together"), [("0.28", 4), ("0.33", 6)])
def test_six_cold_prompts_run_together_instead_of_four(version: str, together: int) -> None:
    driver, prompts = build(version, POOL, 800, 3), Prompts(800)
    for number in range(8):
        driver.engine.add(prompts.request((f"first {number}", FIRST), output=2500))
    most = 0
    while not driver.idle:
        driver.turn()
        most = max(most, len(driver.engine.scheduler.running))
    assert most == together


@pytest.mark.parametrize(("version", "ends", "preempted"), [("0.28", False, 390), ("0.33", True, 1)])
def test_two_answers_that_do_not_fit_together_hang_kv_both_in_0_28_and_end_in_0_33(
    version: str, ends: bool, preempted: int
) -> None:
    """Each needs all three blocks in the end. In 0.28 nearly every one of 400 steps preempts."""
    driver, prompts = build(version, 3, kv_role="kv_both"), Prompts()
    requests = [prompts.request((name, 15), output=30) for name in "ab"]
    for request in requests:
        driver.engine.add(request)
    plans = []
    while not driver.idle and len(plans) < 400:
        plan = driver.turn()
        if plan is not None:
            plans.append(plan)
    assert all(request.outputs == 30 for request in requests) is ends
    assert sum(len(plan.preempted) for plan in plans) == preempted
