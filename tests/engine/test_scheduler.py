"""Which tokens run next: budget, chunks, admission, preemption."""

import pytest

from sim.engine.active import ActiveRequest, Status
from sim.engine.plan import StepPlan
from tests.engine.helpers import Driver, Prompts, build


def tokens(plan: StepPlan) -> list[tuple[int, int]]:
    return [(request.request_id, count) for request, count in plan.scheduled]


def kinds(plan: StepPlan) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Prefills and decodes of a step."""
    prefills, decodes = (
        [(request.request_id, count) for request, count in chunks] for chunks in (plan.prefills, plan.decodes)
    )
    return prefills, decodes


def start(driver: Driver, *requests: ActiveRequest) -> None:
    for request in requests:
        driver.engine.add(request)


def chunks(driver: Driver, request: ActiveRequest) -> list[int]:
    """Tokens of a request, step by step, until it ends."""
    start(driver, request)
    return [count for plan in driver.run() for other, count in plan.scheduled if other is request]


@pytest.mark.parametrize("async_scheduling", [False, True])
class TestBudget:
    def test_a_long_prompt_takes_the_budget_until_it_is_done(self, async_scheduling: bool) -> None:
        driver = build(20, max_num_batched_tokens=64, async_scheduling=async_scheduling)
        assert chunks(driver, Prompts().request(("a", 150), output=3)) == [64, 64, 22, 1, 1]

    def test_running_requests_come_first_in_order_of_admission(self, async_scheduling: bool) -> None:
        driver, prompts = build(40, max_num_batched_tokens=64, async_scheduling=async_scheduling), Prompts()
        start(driver, prompts.request(("a", 100), output=9), prompts.request(("b", 60), output=9))
        plans = driver.run()
        assert [tokens(plan) for plan in plans[:4]] == [
            [(0, 64)],
            [(0, 36), (1, 28)],
            [(0, 1), (1, 32)],
            [(0, 1), (1, 1)],
        ]

    def test_the_threshold_caps_each_prefill(self, async_scheduling: bool) -> None:
        driver, prompts = (
            build(
                40,
                max_num_batched_tokens=64,
                long_prefill_token_threshold=20,
                async_scheduling=async_scheduling,
            ),
            Prompts(),
        )
        start(driver, prompts.request(("a", 50)), prompts.request(("b", 50)))
        assert [tokens(plan) for plan in driver.run()[:3]] == [
            [(0, 20), (1, 20)],
            [(0, 20), (1, 20)],
            [(0, 10), (1, 10)],
        ]

    def test_a_chunk_of_one_token_is_a_prefill_unless_it_is_the_last(self, async_scheduling: bool) -> None:
        driver, prompts = build(40, max_num_batched_tokens=61, async_scheduling=async_scheduling), Prompts()
        start(driver, prompts.request(("a", 60), output=9), prompts.request(("b", 61), output=9))
        plans = driver.run()
        assert [kinds(plan) for plan in plans[:3]] == [
            ([(0, 60), (1, 1)], []),
            ([(1, 60)], [(0, 1)]),
            ([], [(0, 1), (1, 1)]),
        ]

    def test_the_last_token_of_a_prompt_that_is_cached_is_a_decode(self, async_scheduling: bool) -> None:
        driver, prompts = build(40, async_scheduling=async_scheduling), Prompts()
        assert chunks(driver, prompts.request(("a", 33))) == [33]
        start(driver, prompts.request(("a", 33)))
        assert [kinds(plan) for plan in driver.run()[:1]] == [([], [(1, 1)])]

    def test_max_seqs_bounds_the_running_requests(self, async_scheduling: bool) -> None:
        driver, prompts = build(40, max_num_seqs=2, async_scheduling=async_scheduling), Prompts()
        start(driver, *(prompts.request((name, 20), output=4) for name in "abc"))
        plans = driver.run()
        assert tokens(plans[0]) == [(0, 20), (1, 20)]
        assert max(len(plan.scheduled) for plan in plans) == 2

    def test_the_model_length_ends_a_request(self, async_scheduling: bool) -> None:
        driver = build(40, max_model_len=24, async_scheduling=async_scheduling)
        request = Prompts().request(("a", 20), output=50)
        assert chunks(driver, request) == [20, 1, 1, 1]
        assert request.num_tokens == 24

    def test_no_step_is_wasted_on_a_request_whose_last_token_is_in_flight(
        self, async_scheduling: bool
    ) -> None:
        driver = build(40, async_scheduling=async_scheduling)
        assert chunks(driver, Prompts().request(("a", 20), output=5)) == [20, 1, 1, 1, 1]


class TestCuts:
    """Where the chunks of a hybrid model end: state checkpoints are made at block boundaries only."""

    def hybrid(self, blocks: int = 400, **limits: float) -> Driver:
        return build(blocks, 800, 3, **limits)  # type: ignore[arg-type]

    def prompts(self) -> Prompts:
        return Prompts(800)

    def test_chunks_end_on_block_boundaries_and_the_rest_is_a_step_of_its_own(self) -> None:
        assert chunks(self.hybrid(), self.prompts().request(("a", 20_300))) == [8000, 8000, 4000, 300]

    def test_a_prompt_of_whole_blocks_has_no_rest(self) -> None:
        assert chunks(self.hybrid(), self.prompts().request(("a", 16_000))) == [8000, 8000]

    def test_a_budget_shared_with_decodes_still_ends_on_a_boundary(self) -> None:
        driver, prompts = self.hybrid(max_num_batched_tokens=2000), self.prompts()
        start(driver, prompts.request(("a", 100), output=9), prompts.request(("b", 4100)))
        assert [tokens(plan) for plan in driver.run()[:5]] == [
            [(0, 100), (1, 1600)],
            [(0, 1), (1, 1600)],
            [(0, 1), (1, 800)],
            [(0, 1), (1, 100)],
            [(0, 1)],
        ]

    def test_no_chunk_is_started_that_would_not_reach_a_boundary(self) -> None:
        driver, prompts = self.hybrid(max_num_batched_tokens=1000), self.prompts()
        start(driver, prompts.request(("a", 700), output=3), prompts.request(("b", 1700)))
        assert [tokens(plan) for plan in driver.run()[:4]] == [
            [(0, 700)],  # 300 tokens are left, less than a block
            [(0, 1), (1, 800)],
            [(0, 1), (1, 800)],
            [(1, 100)],
        ]

    @pytest.mark.parametrize("limit", ["max_num_batched_tokens", "long_prefill_token_threshold"])
    def test_a_block_that_no_step_can_hold_is_computed_in_pieces(self, limit: str) -> None:
        driver = self.hybrid(**{limit: 600})
        assert chunks(driver, self.prompts().request(("a", 1700))) == [600, 200, 600, 200, 100]

    def test_a_shared_prefix_without_a_checkpoint_gets_one(self) -> None:
        driver, prompts = self.hybrid(), self.prompts()
        assert chunks(driver, prompts.request(("shared", 4000), ("a", 6100))) == [8000, 1600, 500]
        second = prompts.request(("shared", 4000), ("b", 6100))
        assert chunks(driver, second) == [4000, 5600, 500]
        assert second.local_tokens == 0
        third = prompts.request(("shared", 4000), ("c", 6100))
        assert chunks(driver, third) == [5600, 500]
        assert third.local_tokens == 4000

    def test_a_request_waits_a_step_for_a_checkpoint_made_in_this_one(self) -> None:
        driver, prompts = self.hybrid(), self.prompts()
        start(driver, prompts.request(("a", 4000), output=2), prompts.request(("a", 4000), ("b", 900)))
        plans = driver.run()
        assert [tokens(plan) for plan in plans[:2]] == [[(0, 4000)], [(0, 1), (1, 800)]]
        assert plans[1].admitted[0].local_tokens == 4000

    def test_attention_blocks_of_the_same_step_are_hit_at_once(self) -> None:
        driver, prompts = build(20), Prompts()
        start(driver, prompts.request(("a", 64)), prompts.request(("a", 64), ("b", 10)))
        assert tokens(driver.run()[0]) == [(0, 64), (1, 10)]


class TestAdmission:
    def test_the_whole_prompt_must_fit_although_only_a_chunk_runs(self) -> None:
        driver, prompts = build(10, max_num_batched_tokens=16, async_scheduling=False), Prompts()
        start(driver, prompts.request(("a", 64), output=9), prompts.request(("b", 112)))
        plans = driver.run()
        assert [tokens(plan) for plan in plans[:5]] == [[(0, 16)], [(0, 16)], [(0, 16)], [(0, 16)], [(0, 1)]]
        assert tokens(plans[11]) == [(0, 1)]
        assert tokens(plans[12]) == [(1, 16)]  # the first has ended: ten blocks are free, seven are needed

    def test_the_first_that_does_not_fit_blocks_those_behind_it(self) -> None:
        driver, prompts = build(10), Prompts()
        start(
            driver, *(prompts.request((name, n), output=5) for name, n in (("a", 96), ("b", 96), ("c", 16)))
        )
        first = driver.run()[0]
        assert tokens(first) == [(0, 96)]

    def test_the_watermark_counts_only_for_those_who_join_others(self) -> None:
        driver, prompts = build(10, watermark=0.2, async_scheduling=False), Prompts()
        start(
            driver,
            prompts.request(("a", 96), output=5),
            prompts.request(("b", 48)),
            prompts.request(("c", 16)),
        )
        plans = driver.run()
        assert tokens(plans[0]) == [(0, 96)]  # three of four free blocks would do, two more must stay free
        assert tokens(plans[5]) == [(1, 48), (2, 16)]

    def test_alone_a_request_may_use_the_whole_pool(self) -> None:
        driver = build(10, watermark=0.5)
        assert chunks(driver, Prompts().request(("a", 160))) == [160]


class TestPreemption:
    def test_the_last_admitted_goes_first_and_is_back_first(self) -> None:
        driver, prompts = build(6, async_scheduling=False), Prompts()
        requests = [prompts.request((name, 31), output=8) for name in "abc"]
        start(driver, *requests)
        plans = driver.run()
        assert tokens(plans[0]) == [(0, 31), (1, 31), (2, 31)]
        assert tokens(plans[1]) == [(0, 1), (1, 1), (2, 1)]
        assert plans[2].preempted == [requests[2]]  # the first needs a third block; so does the second
        assert tokens(plans[2]) == [(0, 1), (1, 1)]
        assert [request.preemptions for request in requests] == [0, 0, 1]
        assert all(request.outputs == 8 for request in requests)

    def test_a_request_may_preempt_itself(self) -> None:
        driver, prompts = build(4, async_scheduling=False), Prompts()
        requests = [prompts.request((name, 31), output=8) for name in "ab"]
        start(driver, *requests)
        driver.turn()
        driver.turn()
        plan = driver.turn()
        assert plan is not None
        assert plan.preempted == [requests[1]]
        assert tokens(plan) == [(0, 1)]
        assert requests[1].status is Status.PREEMPTED
        assert driver.engine.scheduler.waiting[0] is requests[1]

    def test_nobody_is_admitted_in_a_step_that_preempts(self) -> None:
        driver, prompts = build(6, async_scheduling=False), Prompts()
        start(driver, *(prompts.request((name, 31), output=8) for name in "abc"), prompts.request(("d", 1)))
        plans = driver.run()
        assert [request.request_id for request, _ in plans[0].scheduled] == [0, 1, 2]
        assert [request.request_id for request, _ in plans[2].scheduled] == [0, 1]

    def test_outputs_are_kept_and_what_was_evicted_is_computed_again(self) -> None:
        driver, prompts = build(4, async_scheduling=False), Prompts()
        requests = [prompts.request((name, 31), output=8) for name in "ab"]
        start(driver, *requests)
        plans = driver.run()
        back = next(plan for plan in plans if plan.admitted and plan.admitted[0].resumed)
        # 31 prompt tokens and two generated ones; one of its blocks was taken, the head is still there
        assert back.admitted[0].local_tokens == 16
        assert tokens(back) == [(1, 33 - 16)]
        assert requests[1].local_tokens == 0  # the counter keeps the first admission

    def test_a_token_in_flight_is_delivered_to_a_preempted_request(self) -> None:
        driver, prompts = build(4), Prompts()
        requests = [prompts.request((name, 31), output=8) for name in "ab"]
        start(driver, *requests)
        while not requests[1].preemptions:
            driver.turn()
        assert (requests[1].outputs, requests[1].in_flight, requests[1].placeholders) == (2, 0, 0)
        driver.run()
        assert all(request.outputs == 8 for request in requests)
