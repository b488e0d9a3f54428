"""The worker's clock, event by event: a step takes 1 s."""

from math import inf, nextafter

import numpy as np
import pytest

from sim.engine.active import Status
from sim.engine.engine import LIVELOCK_STEPS
from tests.cluster.bench import Bench
from tests.clusters import Pace
from tests.engine.helpers import Prompts

# -- the loop ------------------------------------------------------------------------------------------------


def test_two_steps_are_in_flight():
    bench, prompts = Bench(50, max_num_batched_tokens=16), Prompts()
    bench.arrive(0, prompts.request(("a", 32), output=3))
    assert bench.run() == [(0, 2), (0, 3), (0, 4)]
    assert bench.plans == [(0, {0: 16}), (0, {0: 16}), (1, {0: 1}), (2, {0: 1})]
    assert bench.ends == [(0, 4)]


def test_delays_that_see_steps_decide_when_they_end():
    class Recorded:
        """The first token at 1.5 s; of the second the law knows better."""

        sees_steps = True

        def computed(self, plan, start_s, law_s):
            return 1.5 if plan.number == 0 else start_s + 2 * law_s

    bench, prompts = Bench(50, async_scheduling=False, delays=Recorded()), Prompts()
    bench.arrive(0, prompts.request(("a", 32), output=3))
    assert bench.run() == [(0, 1.5), (0, 3.5), (0, 5.5)]
    assert [when_s for when_s, _ in bench.plans] == [0, 1.5, 3.5]  # nothing is fast-forwarded


def test_synchronous_scheduling_plans_a_step_when_the_one_before_is_done():
    bench, prompts = (
        Bench(50, max_num_batched_tokens=16, async_scheduling=False, fast_forward=False),
        Prompts(),
    )
    bench.arrive(0, prompts.request(("a", 32), output=3))
    assert bench.run() == [(0, 2), (0, 3), (0, 4)]
    assert bench.plans == [(0, {0: 16}), (1, {0: 16}), (2, {0: 1}), (3, {0: 1})]


@pytest.mark.parametrize("fast_forward", [True, False])
@pytest.mark.parametrize(
    ("async_scheduling", "arrival_s", "token_s"),
    [
        (True, 4.5, 7),  # step 5 runs, step 6 is planned: planned at 5, computed from 6 to 7
        (True, 5.0, 7),  # an output at 5, then the arrival, then the plan
        (True, nextafter(5.0, inf), 8),
        (False, 4.5, 6),
        (False, 5.0, 6),
        (False, nextafter(5.0, inf), 7),
    ],
)
def test_a_newcomer_enters_with_the_next_plan(fast_forward, async_scheduling, arrival_s, token_s):
    bench, prompts = (
        Bench(50, fast_forward=fast_forward, async_scheduling=async_scheduling),
        Prompts(),
    )
    bench.arrive(0, prompts.request(("a", 16), output=12))
    bench.arrive(arrival_s, prompts.request(("b", 16)))
    assert sorted(bench.run()) == [*((0, second) for second in range(1, 13)), (1, token_s)]


def test_a_newcomer_finds_an_idle_worker():
    bench, prompts = Bench(50), Prompts()
    bench.arrive(0, prompts.request(("a", 16)))
    bench.arrive(7.25, prompts.request(("b", 16)))
    assert bench.run() == [(0, 1), (1, 8.25)]


def test_those_who_arrive_together_are_scheduled_together():
    bench, prompts = Bench(50), Prompts()
    for name in "abc":
        bench.arrive(2, prompts.request((name, 16)))
    assert bench.run() == [(0, 3), (1, 3), (2, 3)]


def test_levels_are_told_at_every_arrival_and_plan():
    bench, prompts = Bench(50, max_num_seqs=1, async_scheduling=False), Prompts()
    bench.arrive(0, prompts.request(("a", 16), output=2))
    bench.arrive(0.5, prompts.request(("b", 16)))
    bench.run()
    assert list(dict.fromkeys(bench.levels_log)) == [
        (0, 0, 1),
        (0, 1, 0),
        (0.5, 1, 1),
        (1, 1, 1),
        (2, 1, 0),
        (3, 0, 0),
    ]


def test_a_step_takes_what_the_law_says_of_its_chunks_and_decodes():
    class Law(Pace):
        def step_s(self, prefill, decode_batch, decode_context_tokens):
            asked.append((list(prefill), decode_batch, decode_context_tokens))
            return super().step_s(prefill, decode_batch, decode_context_tokens)

    asked = []
    bench, prompts = (
        Bench(50, law=Law(), max_num_batched_tokens=20, async_scheduling=False),
        Prompts(),
    )
    bench.arrive(0, prompts.request(("a", 24), output=2))
    bench.arrive(0.5, prompts.request(("b", 30)))
    bench.run()
    # 20 tokens of a; its last 4 and 16 of b; a decodes with 24 tokens of context, the last 14 of b.
    assert [step for step in asked if step[0] or step[1]] == [
        ([(20, 0)], 0, 0),
        ([(4, 20), (16, 0)], 0, 0),
        ([(14, 16)], 1, 24),
    ]


@pytest.mark.parametrize("fast_forward", [True, False])
@pytest.mark.parametrize("async_scheduling", [True, False])
def test_steps_that_take_no_time_come_to_an_end(fast_forward, async_scheduling):
    bench, prompts = (
        Bench(50, law=Pace(0), fast_forward=fast_forward, async_scheduling=async_scheduling, cpu_blocks=9),
        Prompts(),
    )
    for name in "ab":
        bench.arrive(3, prompts.request((name, 40), output=50))
    assert bench.run() == [(index, 3) for _ in range(50) for index in range(2)]


@pytest.mark.parametrize("fast_forward", [True, False])
def test_steps_that_take_no_time_wait_for_who_arrives_at_their_instant(fast_forward):
    class Sudden(Pace):
        """A decode takes 1 s up to 20 tokens of context, and no time beyond."""

        def step_s(self, prefill, decode_batch, decode_context_tokens):
            free = not prefill and decode_context_tokens >= 20
            return 0.0 if free else super().step_s(prefill, decode_batch, decode_context_tokens)

        def decode_s(self, batch, sum_context_tokens, n):
            steps = [self.step_s([], batch, sum_context_tokens + batch * step) for step in range(n)]
            return np.array(steps)

    bench, prompts = (
        Bench(9, 64, law=Sudden(), fast_forward=fast_forward, async_scheduling=False),
        Prompts(64),
    )
    bench.arrive(0, prompts.request(("a", 8), output=40))
    bench.arrive(13, prompts.request(("b", 8)))
    bench.run()
    assert bench.ends == [(1, 14), (0, 14)]


# -- ends ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("async_scheduling", [True, False])
def test_a_request_that_has_outgrown_the_pool_is_given_up(async_scheduling):
    bench, prompts = Bench(2, async_scheduling=async_scheduling), Prompts()
    request = bench.arrive(0, prompts.request(("a", 16), output=40))
    bench.arrive(0, prompts.request(("b", 32)))
    bench.run()
    # The 33rd token has been generated (at 17) when the block for its own KV is missing.
    assert bench.ends == [("0 outgrew_pool", 17), (1, 18)]
    assert (request.outputs, request.status) == (17, Status.FINISHED)
    assert bench.engine.cache.pool.free_blocks == 2


@pytest.mark.parametrize("async_scheduling", [True, False])
def test_a_worker_that_nothing_can_move_stops(async_scheduling):
    bench, prompts = Bench(2, async_scheduling=async_scheduling, cpu_blocks=9), Prompts()
    too_large = bench.arrive(0, prompts.request(("a", 48)))
    behind = bench.arrive(1, prompts.request(("b", 16)))
    assert bench.run() == []
    assert bench.env.now == 1
    assert [too_large.status, behind.status] == [Status.WAITING, Status.WAITING]


@pytest.mark.parametrize("stir", ["another request", "a report of another worker"])
def test_requests_that_preempt_each_other_for_ever_come_to_rest_until_something_arrives(stir):
    bench, prompts = Bench(4, cpu_blocks=9, long_prefill_token_threshold=3), Prompts()
    for name, prompt, output in (("a", 22, 42), ("b", 15, 58)):
        bench.arrive(0, prompts.request((name, prompt), output=output))
    bench.run()
    assert bench.ends == []
    assert not bench.engine.steps
    preempted = [request.preemptions for request in bench.engine.scheduler.waiting]
    assert min(preempted) > LIVELOCK_STEPS
    plans = len(bench.plans)
    if stir == "another request":
        bench.arrive(bench.env.now + 1, prompts.request(("c", 8)))
    else:
        bench.worker.report()
    bench.run()
    assert len(bench.plans) > plans
