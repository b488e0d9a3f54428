"""The worker's clock, event by event: a step takes 1 s, a block is copied in 1 s."""

from math import inf, nextafter

import numpy as np
import pytest
import simpy

from sim.agenda import Agenda
from sim.clock import Phase, at_time
from sim.worker.active import Status
from sim.worker.engine import LIVELOCK_STEPS
from sim.worker.host_link import HostLink
from sim.worker.transfer import LinkSettings
from sim.worker.worker import Worker
from tests.clusters import Pace
from tests.worker.helpers import Prompts, build


class Link(HostLink):
    """A link of one block a second that notes every copy: (direction, start, end)."""

    def __init__(self):
        super().__init__(LinkSettings(bandwidth_bytes_per_s=1, latency_s=0, per_piece_s=0), 1, 0)
        self.copies = []

    def submit(self, job, start_s):
        done_s = super().submit(job, start_s)
        self.copies.append(("to GPU" if job.load else "to host", done_s - len(job.blocks), done_s))
        return done_s


class Bench:
    """One worker, the requests that arrive there, and a log of what comes of them."""

    def __init__(self, blocks, block_tokens=16, *, law=None, fast_forward=True, pace=None, **engine):
        self.tokens = []
        """(request, when), in the order of generation."""
        self.plans = []
        """(when, {request: tokens}) of steps that were planned one by one."""
        self.ends = []
        self.cpu_events = []
        self.levels_log = []
        self.grown = []
        """(used blocks, when) of what runs took."""
        self.heard = []
        """(when it is published, event) of the GPU's cache."""
        self.event_delay_s = 0.25
        self.env = simpy.Environment()
        self.agenda = Agenda()
        self.engine = build(blocks, block_tokens, **engine).engine
        self.link = Link()
        self.worker = Worker(
            self.env,
            0,
            self.engine,
            step_time=law or Pace(1),
            link=self.link,
            observer=self,
            outbox=self,
            agenda=self.agenda,
            fast_forward=fast_forward,
            pace=pace,
        )

    def arrive(self, at_s, request):
        event = at_time(self.env, at_s, Phase.ARRIVAL, request.request_id)
        event.callbacks.append(lambda _: self.worker.add(request))
        return request

    def run(self):
        self.env.run()
        return self.tokens

    def keep(self, blocks):
        """Put blocks of a prompt into the CPU tier."""
        keys = [(block, 0) for block in blocks]
        self.engine.offload.tier.store(keys)
        self.engine.offload.tier.stored(keys)

    def planned(self, worker, plan, events, now_s):
        if plan.tokens:
            self.plans.append((now_s, {request.request_id: tokens for request, tokens in plan.tokens}))

    def processed(self, worker, output, events, now_s):
        self.tokens += [(request.request_id, now_s) for request in output.tokens]

    def decoded(self, worker, run, ends_s):
        self.tokens += [(request.request_id, end_s) for end_s in ends_s for request in run.requests]

    def levels(self, worker, engine, now_s):
        self.levels_log.append((now_s, len(engine.scheduler.running), engine.waiting))

    def output(self, worker, output):
        self.ends += [(request.request_id, self.env.now) for request in output.finished]

    def kv_events(self, worker, events, output_s):
        self.cpu_events += [(output_s, event.stored) for event in events if event.tier == "CPU"]
        self.heard += [(output_s, event) for event in events if event.tier == "GPU"]

    def kv(self, worker, events):
        """Only the ledger cares."""

    def grew(self, worker, used_blocks, now_s):
        self.grown.append((used_blocks, now_s))

    def given_up(self, worker, request, reason):
        self.ends.append((f"{request.request_id} {reason}", self.env.now))


# -- the loop ------------------------------------------------------------------------------------------------


def test_two_steps_are_in_flight():
    bench, prompts = Bench(50, max_batched_tokens=16), Prompts()
    bench.arrive(0, prompts.request(("a", 32), output=3))
    assert bench.run() == [(0, 2), (0, 3), (0, 4)]
    assert bench.plans == [(0, {0: 16}), (0, {0: 16}), (1, {0: 1}), (2, {0: 1})]
    assert bench.ends == [(0, 4)]


def test_a_pace_decides_when_steps_with_tokens_end():
    class Recorded:
        """The first token at 1.5 s; of the second the law knows better."""

        def end_s(self, plan, start_s, law_s):
            return 1.5 if plan.number == 0 else start_s + 2 * law_s

    bench, prompts = Bench(50, async_scheduling=False, pace=Recorded()), Prompts()
    bench.arrive(0, prompts.request(("a", 32), output=3))
    assert bench.run() == [(0, 1.5), (0, 3.5), (0, 5.5)]
    assert [when_s for when_s, _ in bench.plans] == [0, 1.5, 3.5]  # none is taken ahead


def test_synchronous_scheduling_plans_a_step_when_the_one_before_is_done():
    bench, prompts = Bench(50, max_batched_tokens=16, async_scheduling=False, fast_forward=False), Prompts()
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
    bench, prompts = Bench(50, max_seqs=1, async_scheduling=False), Prompts()
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
        Bench(50, law=Law(), max_batched_tokens=20, async_scheduling=False),
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


# -- copies --------------------------------------------------------------------------------------------------


def test_a_store_starts_when_its_step_has_been_computed():
    bench, prompts = Bench(50, cpu_blocks=9), Prompts()
    bench.arrive(0, prompts.request(("a", 32)))
    bench.run()
    assert bench.link.copies == [("to host", 1, 3)]


def test_stores_follow_one_another():
    bench, prompts = Bench(50, cpu_blocks=9, max_batched_tokens=32), Prompts()
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
    bench, prompts = Bench(4, cpu_blocks=9, long_prefill_threshold_tokens=3), Prompts()
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
