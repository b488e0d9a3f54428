"""Requests with priorities in an engine: who is admitted, and who is preempted."""

import heapq
import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.engine.active import ActiveRequest, Status
from sim.engine.priority import insert, is_before, least_urgent, next_of
from tests.engine.helpers import Driver, Prompts, build


def request(number: int, priority: int = 0) -> ActiveRequest:
    made = ActiveRequest(number, 16, 1, [])
    made.priority, made.arrival = priority, number
    return made


def asked(prompts: Prompts, label: str, tokens: int, output: int, priority: int) -> ActiveRequest:
    made = prompts.request((label, tokens), output=output)
    made.priority = priority
    return made


def tokens(driver: Driver) -> list[list[tuple[int, int]]]:
    steps = [[(each.request_id, count) for each, count in plan.scheduled] for plan in driver.run()]
    return [step for step in steps if step]


def by_priority(blocks: int, **limits: float) -> Driver:
    return build(blocks, async_scheduling=False, scheduling_policy="priority", **limits)  # type: ignore[arg-type]


@given(st.lists(st.integers(-2, 2), max_size=20))
def test_the_queue_goes_as_a_heap_of_priority_and_arrival(priorities: list[int]) -> None:
    queue: deque[ActiveRequest] = deque()
    heap: list[tuple[int, int]] = []
    for number, priority in enumerate(priorities):
        insert(queue, request(number, priority))
        heapq.heappush(heap, (priority, number))
        if number % 3 == 2:
            assert queue.popleft().request_id == heapq.heappop(heap)[1]
    assert [each.request_id for each in queue] == [number for _, number in sorted(heap)]


def test_of_two_queues_the_one_with_the_most_urgent_is_looked_at() -> None:
    early, late, urgent = request(0), request(1), request(2, -1)
    assert is_before(early, late)
    assert is_before(urgent, early)
    skipped, waiting = deque([late]), deque([early])
    assert next_of(skipped, waiting) is waiting
    assert next_of(waiting, skipped) is waiting
    assert next_of(skipped, deque([urgent]))[0] is urgent
    assert next_of(skipped, deque()) is skipped
    assert next_of(deque(), waiting) is waiting


def test_the_least_urgent_that_came_last_is_preempted() -> None:
    running = [request(3, 1), request(0), request(5, 1), request(4, -9)]
    assert least_urgent(running) == 2
    assert least_urgent(running[1:2]) == 0


def test_the_urgent_is_admitted_first_and_the_others_as_they_came() -> None:
    driver, prompts = by_priority(40, max_num_batched_tokens=32), Prompts()
    for label, priority in (("a", 0), ("b", 0), ("c", -5), ("d", 1)):
        driver.engine.add(asked(prompts, label, 32, 1, priority))
    assert tokens(driver) == [[(2, 32)], [(0, 32)], [(1, 32)], [(3, 32)]]


def test_without_the_policy_priorities_do_not_count() -> None:
    driver, prompts = build(40, max_num_batched_tokens=32, async_scheduling=False), Prompts()
    for label, priority in (("a", 0), ("b", -5)):
        driver.engine.add(asked(prompts, label, 32, 1, priority))
    assert tokens(driver) == [[(0, 32)], [(1, 32)]]


def test_one_that_is_in_the_step_already_gives_its_tokens_back() -> None:
    """40 and 16 tokens fill four blocks; the next token of the second needs a fifth."""
    driver, prompts = by_priority(4, max_num_batched_tokens=64), Prompts()
    low = asked(prompts, "low", 40, 3, 1)
    urgent = asked(prompts, "urgent", 16, 2, -1)
    driver.engine.add(low)
    assert [(each.request_id, count) for each, count in driver.schedule().scheduled] == [(0, 40)]
    driver.complete()
    driver.engine.add(urgent)
    plan = driver.schedule()
    assert [(each.request_id, count) for each, count in plan.scheduled] == [(0, 1), (1, 16)]
    driver.complete()
    plan = driver.schedule()  # the first in the list takes a token, then the urgent one finds no block
    assert plan.preempted == [low]
    assert [(each.request_id, count) for each, count in plan.scheduled] == [(1, 1)]
    assert (plan.prefills, [each.request_id for each, _ in plan.decodes]) == ([], [1])
    assert low.status is Status.PREEMPTED
    assert driver.engine.requests == [urgent, low]
    driver.complete()
    driver.run()
    assert (low.outputs, urgent.outputs, low.preemptions) == (3, 2, 1)


def test_the_one_that_finds_no_block_may_be_its_own_victim() -> None:
    driver, prompts = by_priority(4, max_num_batched_tokens=64), Prompts()
    urgent, low = asked(prompts, "urgent", 31, 3, -1), asked(prompts, "low", 32, 2, 1)
    driver.engine.add(urgent)
    driver.engine.add(low)
    driver.schedule()
    driver.complete()
    plan = driver.schedule()
    assert plan.preempted == [low]
    assert [(each.request_id, count) for each, count in plan.scheduled] == [(0, 1)]


def test_a_preempted_request_waits_where_its_priority_puts_it() -> None:
    driver, prompts = by_priority(4, max_num_batched_tokens=64), Prompts()
    urgent, low = asked(prompts, "urgent", 31, 3, -1), asked(prompts, "low", 32, 2, 1)
    between = asked(prompts, "between", 64, 1, 0)
    for each in (urgent, low, between):
        driver.engine.add(each)
    driver.schedule()
    driver.complete()
    driver.schedule()
    assert [*driver.engine.scheduler.waiting] == [between, low]


LENGTHS = st.tuples(st.integers(1, 60), st.integers(1, 20), st.integers(-2, 2))


@given(
    st.lists(LENGTHS, min_size=1, max_size=8),
    st.integers(6, 20),
    st.booleans(),
    st.sampled_from([24, 64, 200]),
)
def test_all_end_and_the_pool_is_free_again(
    lengths: list[tuple[int, int, int]], blocks: int, asynchronous: bool, budget: int
) -> None:
    driver = build(
        blocks,
        scheduling_policy="priority",  # type: ignore[arg-type]
        async_scheduling=asynchronous,
        max_num_batched_tokens=budget,
    )
    prompts = Prompts()
    made = [
        asked(prompts, f"p{n}", length, output, priority)
        for n, (length, output, priority) in enumerate(lengths)
    ]
    for each in made:
        driver.engine.add(each)
    for plan in driver.run():
        assert sum(count for _, count in plan.scheduled) == plan.n_tokens <= budget
        assert len(plan.scheduled) == len(plan.prefills) + len(plan.decodes)
    assert [each.outputs for each in made] == [output for _, output, _ in lengths]
    assert driver.engine.cache.pool.free_blocks == blocks


@pytest.mark.parametrize("policy", ["fcfs", "priority"])
def test_the_policies_are_vllms_names(policy: str) -> None:
    assert build(4, scheduling_policy=policy).engine.settings.scheduling_policy == policy  # type: ignore[arg-type]


RECORDED = Path(__file__).parent / "data" / "vllm_priority.jsonl"
"""Two engines of vLLM 0.28.0 with `--scheduling-policy priority`: the real Scheduler and AsyncScheduler, on a
CPU with a fake model. A step: "sch", tokens by request, free blocks, preempted, running, waiting; "upd", free
blocks after an output."""


def replayed(recorded: dict[str, Any], policy: str) -> list[list[object]]:
    driver = build(recorded["blocks"], scheduling_policy=policy, **recorded["limits"])
    engine, prompts, made = driver.engine, Prompts(), list[ActiveRequest]()
    for number, each in enumerate(recorded["requests"]):
        shared = [(each["shared"], each["pre"])] if each["pre"] else []
        made.append(prompts.request(*shared, (f"own {number}", each["own"]), output=each["out"]))
        made[-1].priority = each["pr"]
    coming = deque(zip(made, recorded["requests"], strict=True))
    tick, steps = 0, list[list[object]]()

    def complete() -> None:
        driver.complete()
        steps.append(["upd", engine.cache.pool.free_blocks])

    while coming or not driver.idle:
        if driver.idle:
            tick = max(tick, coming[0][1]["tick"])
        while coming and coming[0][1]["tick"] <= tick:
            engine.add(coming.popleft()[0])
        tick += 1
        if not engine.has_work:
            complete()
            continue
        plan = driver.schedule()
        scheduled = [[each.request_id, count] for each, count in plan.scheduled]
        preempted = sorted(each.request_id for each in plan.preempted)
        running = len(engine.scheduler.running)
        steps.append(["sch", scheduled, engine.cache.pool.free_blocks, preempted, running, engine.waiting])
        if not driver.has_room(plan):
            complete()
    return steps


@pytest.mark.parametrize("line", [0, 1])
def test_every_step_is_that_of_the_real_scheduler(line: int) -> None:
    recorded = json.loads(RECORDED.read_text().splitlines()[line])
    assert replayed(recorded, "priority") == recorded["steps"]
    assert replayed(recorded, "fcfs") != recorded["steps"]
