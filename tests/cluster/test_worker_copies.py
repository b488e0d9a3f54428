"""Copies to and from the CPU tier on the worker's clock: a step takes 1 s, a block is copied in 1 s."""

import pytest

from tests.cluster.bench import Bench
from tests.clusters import Pace
from tests.engine.helpers import Prompts


def test_a_store_starts_when_its_step_has_been_computed():
    bench, prompts = Bench(50, cpu_blocks=9), Prompts()
    bench.arrive(0, prompts.request(("a", 32)))
    bench.run()
    assert bench.link.copies == [("to host", 1, 3)]


def test_stores_follow_one_another():
    bench, prompts = Bench(50, cpu_blocks=9, max_num_batched_tokens=32), Prompts()
    bench.arrive(0, prompts.request(("a", 64)))
    bench.run()
    assert bench.link.copies == [("to host", 1, 3), ("to host", 3, 5)]


def test_an_idle_worker_notices_the_end_of_a_copy():
    bench, prompts = Bench(50, cpu_blocks=9), Prompts()
    bench.arrive(0, prompts.request(("a", 32)))
    bench.run()
    assert bench.ends == [(0, 1)]
    assert bench.cpu_events == [(3, True), (3, True)]
    assert not bench.engine.has_work


def test_a_busy_worker_notices_it_with_the_next_output():
    bench, prompts = Bench(50, cpu_blocks=9, async_scheduling=False), Prompts()
    bench.arrive(0.25, prompts.request(("a", 16), output=20))
    bench.run()
    assert bench.link.copies == [("to host", 1.25, 2.25)]
    assert bench.cpu_events == [(2.25, True)], "an output at that very time"

    late = Bench(50, cpu_blocks=9, async_scheduling=False, law=Pace(0.75))
    late.arrive(0, prompts.request(("b", 16), output=20))
    late.run()
    assert late.link.copies == [("to host", 0.75, 1.75)]
    assert late.cpu_events == [(2.25, True)], "outputs at 0.75, 1.5, 2.25"


def test_a_load_starts_at_once_on_an_idle_worker_and_its_prefill_when_it_is_done():
    bench, prompts = Bench(50, cpu_blocks=9), Prompts()
    bench.keep(prompts.hashes(("a", 32)))
    bench.arrive(5, prompts.request(("a", 40)))
    assert bench.run() == [(0, 8)]
    assert bench.link.copies == [("to GPU", 5, 7)]
    assert bench.plans == [(7, {0: 8})]


@pytest.mark.parametrize("fast_forward", [True, False])
def test_a_load_starts_behind_the_compute_before_its_step(fast_forward):
    bench, prompts = Bench(50, cpu_blocks=9, fast_forward=fast_forward), Prompts()
    bench.keep(prompts.hashes(("b", 32)))
    bench.arrive(0, prompts.request(("a", 8), output=30))
    bench.arrive(2.5, prompts.request(("b", 40)))
    bench.run()
    # Planned at 3 while the step from 3 to 4 is computed; reported by the output at 6, planned there for 7.
    assert bench.link.copies == [("to GPU", 4, 6)]
    assert [time_s for index, time_s in bench.tokens if index == 1] == [8]


def test_others_are_served_while_a_load_is_under_way():
    bench, prompts = Bench(50, cpu_blocks=9, async_scheduling=False), Prompts()
    bench.keep(prompts.hashes(("a", 48)))
    bench.arrive(0, prompts.request(("a", 56)))
    bench.arrive(0.5, prompts.request(("b", 8)))
    bench.arrive(1.75, prompts.request(("c", 8)))
    assert bench.run() == [(1, 1.5), (2, 2.75), (0, 4)]
    assert bench.link.copies == [("to GPU", 0, 3)]


def test_a_copy_ends_and_a_request_arrives_at_one_instant():
    bench, prompts = Bench(50, cpu_blocks=9), Prompts()
    bench.keep(prompts.hashes(("a", 32)))
    bench.arrive(0, prompts.request(("a", 40)))
    bench.arrive(2, prompts.request(("b", 8)))
    assert bench.run() == [(0, 3), (1, 3)]
    assert bench.plans == [(2, {0: 8, 1: 8})]


def test_a_copy_and_a_step_end_at_one_instant():
    bench, prompts = Bench(50, cpu_blocks=9, async_scheduling=False), Prompts()
    bench.keep(prompts.hashes(("a", 32)))
    bench.arrive(0, prompts.request(("a", 40)))
    bench.arrive(1, prompts.request(("b", 8), output=2))
    assert bench.run() == [(1, 2), (1, 3), (0, 3)]
    assert bench.plans == [(1, {1: 8}), (2, {1: 1, 0: 8})]


def test_a_preempted_request_s_stores_stall_the_step_for_what_is_left():
    bench, prompts = Bench(4, cpu_blocks=9, async_scheduling=False), Prompts()
    bench.arrive(0, prompts.request(("a", 32), output=3))
    bench.arrive(0, prompts.request(("b", 31), output=5))
    bench.run()
    # Both stores follow the first step. The next one takes a block of b, whose store ends at 4.
    assert bench.link.copies[:2] == [("to host", 1, 3), ("to host", 3, 4)]
    assert bench.plans[:2] == [(0, {0: 32, 1: 31}), (1, {0: 1})]
    assert bench.tokens[:4] == [(0, 1), (1, 1), (0, 5), (0, 6)]


@pytest.mark.parametrize("async_scheduling", [True, False])
def test_a_step_without_tokens_is_stalled_like_any_other(async_scheduling):
    bench, prompts = Bench(2, cpu_blocks=9, async_scheduling=async_scheduling), Prompts()
    bench.arrive(0, prompts.request(("a", 32), output=5))
    bench.arrive(0.5, prompts.request(("b", 32)))
    bench.run()
    # The first one's store, from 1 to 3, has to be over before another request uses its blocks. Its token is
    # there at 1; synchronous scheduling looks at it after the stall.
    assert bench.link.copies[0] == ("to host", 1, 3)
    assert bench.ends == [("0 outgrew_pool", 1 if async_scheduling else 3), (1, 4)]


def test_a_step_is_stalled_by_a_store_of_its_own_plan():
    bench, prompts = Bench(2, cpu_blocks=9, async_scheduling=False, prompt_only=False), Prompts()
    bench.arrive(0, prompts.request(("a", 15), output=17))
    bench.arrive(3, prompts.request(("b", 32)))
    bench.run()
    # Its last token makes a's second block full, which is stored when b is about to take it.
    assert bench.ends == [(0, 17), (1, 19)]
    assert bench.link.copies[:2] == [("to host", 2, 3), ("to host", 17, 18)]
    assert bench.plans[-1] == (17, {1: 32})


def test_a_load_starts_after_the_flush_of_the_blocks_that_it_fills():
    bench, prompts = Bench(3, cpu_blocks=9, async_scheduling=False, prompt_only=False), Prompts()
    bench.keep(prompts.hashes(("b", 32)))
    bench.arrive(0, prompts.request(("a", 15), output=17))
    bench.arrive(3, prompts.request(("b", 40)))
    bench.run()
    assert bench.link.copies[:3] == [("to host", 2, 3), ("to host", 17, 18), ("to GPU", 18, 20)]
    assert bench.ends == [(0, 17), (1, 21)]
