"""Recurrent states under both releases: which stay findable, which go back; the fact sheet's examples.

Three groups of states and one of attention, blocks of 800, at most 8,192 tokens a step.
"""

import pytest

from tests.engine.helpers import Driver, Prompts
from tests.engine.rules.helpers import BOTH, build, chunks

POOL = 1634


def findable(driver: Driver) -> list[int]:
    """Return how many blocks carry a hash, by group."""
    counts = [0] * len(driver.engine.cache.groups)
    for part in driver.engine.cache.pool.evictable():
        extent, start, stop = part
        counts[extent.group] += stop - start
    return counts


def turn(driver: Driver, prompts: Prompts, *content: tuple[str, int], output: int) -> tuple[int, list[int]]:
    """Serve one request; return its hit and its chunks of prefill."""
    request = prompts.request(*content, output=output)
    driver.engine.add(request)
    steps = [tokens for plan in driver.run() for chunk, tokens in plan.prefills if chunk is request]
    return request.local_tokens, steps


@pytest.mark.parametrize(
    ("version", "settings", "states"),
    [
        ("0.28", {}, 27),
        ("0.33", {}, 1),
        ("0.33", {"prefix_cache_retention_interval": "dense"}, 27),
        ("0.33", {"prefix_cache_retention_interval": 16000}, 14),  # at 13 of its multiples, and the last
    ],
)
def test_a_cold_prompt_leaves_states_of_which_only_those_kept_are_findable(
    version: str, settings: dict[str, object], states: int
) -> None:
    driver, prompts = build(version, POOL, 800, 3, **settings), Prompts(800)
    turn(driver, prompts, ("a", 213_000), output=1)
    assert findable(driver) == [states] * 3 + [266]


@pytest.mark.parametrize(
    ("version", "asynchronous", "most"),
    [("0.28", False, 273), ("0.28", True, 351), ("0.33", False, 273), ("0.33", True, 276)],
)
def test_states_of_a_long_prefill_go_back_since_0_33(version: str, asynchronous: bool, most: int) -> None:
    driver, prompts = build(version, POOL, 800, 3, async_scheduling=asynchronous), Prompts(800)
    driver.engine.add(prompts.request(("a", 213_000), output=200))
    held = 0
    while not driver.idle:
        driver.turn()
        held = max(held, driver.engine.cache.pool.used_blocks)
    assert held == most


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("0.28", [(0, [8000, 8000, 4000]), (22_400, [1600])]),
        ("0.33", [(0, [8000, 8000, 3200, 800]), (19_200, [3200, 800, 800])]),
    ],
)
def test_the_answer_of_the_turn_before_is_computed_again_since_0_33(
    version: str, found: list[tuple[int, list[int]]]
) -> None:
    """Its attention blocks are there, its states are not; where they end, the next turn finds a state."""
    driver, prompts = build(version, POOL, 800, 3), Prompts(800)
    first = turn(driver, prompts, ("a", 20_000), output=3000)
    then = turn(driver, prompts, ("a", 20_000), ("answer 0", 3000), ("b", 1000), output=1)
    assert [first, then] == found


@pytest.mark.parametrize(("version", "hit"), [("0.28", 0), ("0.33", 5600)])
def test_the_same_prompt_of_whole_blocks_is_hit_since_0_33(version: str, hit: int) -> None:
    driver, prompts = build(version, POOL, 800, 3), Prompts(800)
    turn(driver, prompts, ("a", 6400), output=1)
    assert turn(driver, prompts, ("a", 6400), output=1)[0] == hit


@pytest.mark.parametrize(("version", "hits"), [("0.28", [0, 8000, 9600]), ("0.33", [0, 0, 9600])])
def test_where_prompts_part_the_second_leaves_a_state_for_the_third(version: str, hits: list[int]) -> None:
    driver, prompts = build(version, POOL, 800, 3), Prompts(800)
    found = [turn(driver, prompts, ("a", 10_000), (name, 14_000), output=1)[0] for name in "bcd"]
    assert found == hits


def test_a_plain_model_without_a_connector_is_served_alike() -> None:
    steps = []
    for version in BOTH:
        driver, prompts = build(version, 40), Prompts()
        for number in range(6):
            driver.engine.add(prompts.request(("a", 100), (f"b{number}", 100), output=40))
        plans = driver.run()
        assert sum(len(plan.preempted) for plan in plans) > 0
        steps.append([[(request.request_id, tokens) for request, tokens in plan.scheduled] for plan in plans])
    assert steps[0] == steps[1]


class TestStatesSavedInsideAChunk:
    """Blocks of 832."""

    def test_a_prompt_of_20_000_is_three_chunks_and_the_next_turn_hits_19_968(self) -> None:
        driver, prompts = build("0.33", POOL, 832, 3, saves_inside=True), Prompts(832)
        assert turn(driver, prompts, ("a", 20_000), output=1) == (0, [7488, 7488, 5024])
        assert turn(driver, prompts, ("a", 20_000), ("b", 4000), output=1)[0] == 19_968

    def test_a_prompt_of_whole_blocks_is_one_chunk_and_its_repetition_hits_all_but_the_last(self) -> None:
        driver, prompts = build("0.33", POOL, 832, 3, saves_inside=True), Prompts(832)
        assert turn(driver, prompts, ("a", 6656), output=1) == (0, [6656])
        assert turn(driver, prompts, ("a", 6656), output=1)[0] == 5824

    def test_the_last_chunk_takes_two_blocks_a_group(self) -> None:
        driver, prompts = build("0.33", POOL, 832, 3, saves_inside=True), Prompts(832)
        driver.engine.add(prompts.request(("a", 5000), output=1))
        driver.turn()
        assert driver.engine.cache.pool.used_blocks == 7 + 3 * 2

    def test_with_all_kept_every_chunk_leaves_two_states(self) -> None:
        dense = {"prefix_cache_retention_interval": "dense"}
        driver, prompts = build("0.33", POOL, 832, 3, saves_inside=True, **dense), Prompts(832)
        turn(driver, prompts, ("a", 20_000), output=1)
        # 8 and 9, 17 and 18, 23 (the last: 24 is not full)
        assert findable(driver)[0] == 6 - 1

    def test_0_28_never_saves_any(self) -> None:
        driver, prompts = build("0.28", POOL, 832, 3, saves_inside=True), Prompts(832)
        driver.engine.add(prompts.request(("a", 5000), output=1))
        assert chunks(driver) == [4992, 8]


@pytest.mark.parametrize(("version", "hit"), [("0.28", 6400), ("0.33", 5600)])
def test_a_prefill_engine_keeps_the_state_that_the_truncated_prompt_starts_from(
    version: str, hit: int
) -> None:
    """6,401 tokens are 6,400 when the last one is taken off: of whole blocks."""
    driver, prompts = build(version, POOL, 800, 3, kv_role="kv_producer"), Prompts(800)
    request = prompts.request(("a", 6401))
    request.for_remote = True
    driver.engine.add(request)
    assert request.truncated is (version == "0.33")
    while not request.outputs:
        driver.turn()
    driver.engine.release(0)
    states = driver.engine.cache.pool.cached[0]
    ends = [i + 1 for i, block_id in enumerate(request.block_ids) if states.get(block_id)]
    assert ends[-1] * 800 == hit
