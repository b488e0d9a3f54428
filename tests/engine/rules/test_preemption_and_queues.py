"""Who is preempted, and who is looked at first; blocks of 16."""

from collections import deque

import pytest

from sim.engine.active import ActiveRequest, Status
from sim.engine.rules.preemption import preemption
from sim.engine.rules.queues import queues
from tests.engine.helpers import Prompts
from tests.engine.rules.helpers import build


def request(number: int, *, computed: int = 0, loading: bool = False) -> ActiveRequest:
    made = ActiveRequest(number, 32, 1, [])
    made.computed = computed
    if loading:
        made.status = Status.LOADING
    return made


@pytest.mark.parametrize(("version", "first", "second"), [("0.28", [1, 2, 9], [5]), ("0.33", [2, 9], [1, 5])])
def test_those_passed_over_go_before_others_only_if_they_hold_blocks_since_0_33(
    version: str, first: list[int], second: list[int]
) -> None:
    rule = queues(version, by_priority=False)
    held, waiting = deque([request(9, computed=16)]), deque([request(5)])
    rule.put_back([request(1), request(2, computed=16, loading=True)], held, waiting)
    assert [r.request_id for r in held] == first
    assert [r.request_id for r in waiting] == second
    assert rule.next_queue(held, waiting) is held


def test_by_priority_0_33_still_looks_at_those_with_blocks_first() -> None:
    holder, urgent = request(0, computed=16), request(1)
    holder.priority = 5
    held, waiting = deque([holder]), deque([urgent])
    assert queues("0.28", by_priority=True).next_queue(held, waiting) is waiting
    assert queues("0.33", by_priority=True).next_queue(held, waiting) is held


def test_0_33_spares_a_victim_whose_blocks_come_back_too_late() -> None:
    victim = request(0)
    victim.in_flight = 1
    assert not preemption("0.28", frees_late=True).spares(victim)
    assert preemption("0.33", frees_late=True).spares(victim)
    assert not preemption("0.33", frees_late=False).spares(victim)  # no connector that consumes
    victim.in_flight = 0
    assert not preemption("0.33", frees_late=True).spares(victim)


@pytest.mark.parametrize(("version", "preempted"), [("0.28", [1, 0]), ("0.33", [0, 1])])
def test_a_victim_whose_step_is_in_flight_is_preempted_at_once_in_0_28_and_a_call_later_in_0_33(
    version: str, preempted: list[int]
) -> None:
    """Two hold a block each and need a second one at once; there are three."""
    driver, prompts = build(version, 3, kv_role="kv_both"), Prompts()
    for name in "ab":
        driver.engine.add(prompts.request((name, 15), output=8))
    plans = [driver.turn() for _ in range(4)]
    assert [len(plan.preempted) for plan in plans[2:] if plan is not None] == preempted
    assert [r.request_id for plan in plans if plan is not None for r in plan.preempted] == [1]


def test_a_prompt_that_fits_alone_is_served_by_kv_both_at_last_in_0_33() -> None:
    """In 0.28 the two preempt each other for ever: that is its livelock."""
    driver, prompts = build("0.33", 3, kv_role="kv_both"), Prompts()
    requests = [prompts.request((name, 15), output=30) for name in "ab"]
    for made in requests:
        driver.engine.add(made)
    driver.run(400)
    assert [made.outputs for made in requests] == [30, 30]
