"""The OffloadingConnector: what is stored and when, what is loaded, what is forced."""

import pytest

from sim.engine.active import ActiveRequest, Status
from sim.engine.connector import OffloadingConnector
from sim.engine.plan import StepPlan
from sim.engine.transfer_job import TransferJob
from sim.kv.extent import Extent
from sim.kv.key_runs import Key
from sim.kv.offload import IDLE, WRITING
from tests.engine.helpers import Driver, Prompts, build


def connector(driver: Driver) -> OffloadingConnector:
    assert driver.engine.offload is not None
    return driver.engine.offload


def run(driver: Driver, *requests: ActiveRequest) -> list[StepPlan]:
    for request in requests:
        driver.engine.add(request)
    return driver.run()


def stored(plans: list[StepPlan]) -> list[list[int]]:
    """Hashes of each store, in order."""
    return [[block_id for block_id, _ in job.blocks] for plan in plans for job in plan.stores]


def evict_gpu(driver: Driver) -> None:
    """Take every free block once: nothing stays cached on the GPU."""
    pool = driver.engine.cache.pool
    count, everything = pool.free_blocks, Extent(0, 0)
    pool.allocate(everything, count)
    pool.free([(everything, 0, count)])


class TestStore:
    def test_full_prompt_blocks_are_stored_in_the_step_that_computes_them(self) -> None:
        driver, prompts = build(20, cpu_blocks=20, max_num_batched_tokens=40), Prompts()
        request = prompts.request(("a", 70), output=30)
        assert stored(run(driver, request)) == [[*request.block_ids[:2]], [*request.block_ids[2:4]]]

    def test_generated_blocks_are_stored_on_request(self) -> None:
        driver, prompts = build(20, cpu_blocks=20, prompt_only=False, async_scheduling=False), Prompts()
        request = prompts.request(("a", 30), output=20)
        assert stored(run(driver, request)) == [[block] for block in request.block_ids]
        assert len(request.block_ids) == 3

    def test_a_generated_block_is_stored_once_all_its_tokens_are_known(self) -> None:
        driver, prompts = build(20, cpu_blocks=20, prompt_only=False), Prompts()
        request = prompts.request(("a", 30), output=20)
        plans = run(driver, request)
        # 30 prompt tokens; token 32 is scheduled in step 3 and known when step 4 is planned
        assert [plan.number for plan in plans if plan.stores] == [1, 4, 20]
        assert stored(plans) == [[block] for block in request.block_ids]

    def test_a_key_is_ready_one_step_after_the_copy_was_handed_over(self) -> None:
        driver, prompts = build(20, cpu_blocks=20, async_scheduling=False, store_steps=0), Prompts()
        request = prompts.request(("a", 16), output=4)
        driver.engine.add(request)
        key: Key = (request.block_ids[0], 0)
        driver.turn()
        assert connector(driver).tier.state(key) == WRITING
        driver.turn()
        assert connector(driver).tier.state(key) == IDLE

    def test_events_come_with_completion_and_name_the_parent(self) -> None:
        driver, prompts = build(20, cpu_blocks=20, async_scheduling=False), Prompts()
        request = prompts.request(("a", 32), output=9)
        driver.engine.add(request)
        seen = []
        while not driver.idle:
            driver.schedule()
            seen += [event for event in driver.complete().events if event.tier == "host"]
        first, second = request.block_ids[:2]
        assert [(event.parent, event.blocks) for event in seen] == [(None, [first]), (first, [second])]

    def test_what_the_tier_holds_is_not_stored_again(self) -> None:
        driver, prompts = build(20, cpu_blocks=20), Prompts()
        run(driver, prompts.request(("a", 48)))
        second = prompts.request(("a", 48), ("b", 16))
        assert stored(run(driver, second)) == [[*second.block_ids[3:4]]]

    def test_gpu_hits_that_the_tier_lost_are_stored_again(self) -> None:
        driver, prompts = build(20, cpu_blocks=3), Prompts()
        first = prompts.request(("a", 48))
        run(driver, first)
        run(driver, prompts.request(("b", 48)))  # takes all of the tier
        again = prompts.request(("a", 48), ("c", 5))
        assert stored(run(driver, again)) == [[*first.block_ids[:3]]]
        assert again.local_tokens == 48

    def test_without_room_nothing_is_stored_and_the_next_step_tries_again(self) -> None:
        driver, prompts = build(20, cpu_blocks=2, async_scheduling=False), Prompts()
        plans = run(driver, prompts.request(("a", 48), output=3))
        assert stored(plans) == []
        assert connector(driver).failed_stores == 4  # three steps, and once more after the end

    def test_a_state_can_be_stored_from_a_block_that_went_back_to_the_pool(self) -> None:
        driver = build(60, 800, 3, cpu_blocks=40, async_scheduling=False, max_num_batched_tokens=800)
        tier, busy = connector(driver).tier, [(-number, 0) for number in range(1, 36)]
        tier.store(busy)  # four free blocks are left but one: too few for a block and its three states
        request = Prompts(800).request(("a", 4000), output=3)
        driver.engine.add(request)
        for _ in range(4):
            driver.turn()
        stored_first = request.block_ids[0]
        assert connector(driver).failed_stores == 3
        assert tier.state((stored_first, 3)) is not None
        assert 1 not in request.tables[0].parts
        tier.stored(busy)
        plan = driver.turn()
        assert plan is not None
        assert [job.blocks_by_group(4) for job in plan.stores] == [[4, 4, 4, 4]]
        assert (request.block_ids[1], 0) in plan.stores[0].blocks

    def test_what_found_no_room_is_tried_once_more_after_the_end(self) -> None:
        driver, prompts = build(20, cpu_blocks=4, async_scheduling=False), Prompts()
        tier = connector(driver).tier
        tier.store([(-1, 0)])
        request = prompts.request(("a", 64))
        driver.engine.add(request)
        driver.turn()
        assert request.status is Status.FINISHED
        tier.stored([(-1, 0)])
        plan = driver.turn()
        assert plan is not None
        assert [list(job.blocks) for job in plan.stores] == [[(block, 0) for block in request.block_ids[:4]]]

    @pytest.mark.parametrize(("aborted", "sizes"), [(True, []), (False, [2])])
    def test_of_an_aborted_request_only_computed_tokens(self, aborted: bool, sizes: list[int]) -> None:
        driver, prompts = (
            build(20, cpu_blocks=8, async_scheduling=False, max_num_batched_tokens=32),
            Prompts(),
        )
        offload, busy = connector(driver), [(-number, 0) for number in range(1, 8)]
        offload.tier.store(busy)
        request = prompts.request(("a", 64))
        driver.engine.add(request)
        driver.turn()
        offload.tier.stored(busy)
        request.computed = 0  # as preemption leaves it
        offload.finished(request, aborted=aborted)
        stores, _ = offload.plan([], [])
        assert [len(job.blocks) for job in stores] == sizes

    def test_of_a_request_that_outgrew_the_pool_nothing_is_stored_any_more(self) -> None:
        driver, prompts = build(4, cpu_blocks=8, async_scheduling=False), Prompts()
        tier, busy = connector(driver).tier, [(-number, 0) for number in range(1, 9)]
        tier.store(busy)  # no room for its prompt while it runs
        request = prompts.request(("a", 40), output=60)
        driver.engine.add(request)
        while not (outgrown := driver.engine.drop_outgrown()):
            driver.turn()
        assert (outgrown, request.num_tokens) == ([request], 65)
        tier.stored(busy)
        assert stored(driver.run()) == []


class TestLoad:
    def test_the_rest_of_a_prompt_comes_from_the_tier(self) -> None:
        driver, prompts = build(20, cpu_blocks=20, load_steps=3), Prompts()
        run(driver, prompts.request(("shared", 32), ("a", 32)))
        evict_gpu(driver)
        run(driver, prompts.request(("shared", 32), ("b", 5)))  # brings the shared part back
        request = prompts.request(("shared", 32), ("a", 40))
        driver.engine.add(request)
        plan = driver.turn()
        assert plan is not None
        assert (request.status, request.computed) == (Status.LOADING, 64)
        assert plan.scheduled == []
        assert [list(job.blocks) for job in plan.loads] == [[(block, 0) for block in request.block_ids[2:4]]]
        plans = driver.run()
        assert (request.local_tokens, request.external_tokens) == (32, 32)
        assert [count for later in plans for _, count in later.scheduled] == [8]

    def test_all_tokens_of_a_plain_prompt_may_be_loaded_and_the_last_is_computed_again(self) -> None:
        driver, prompts = build(20, cpu_blocks=20), Prompts()
        run(driver, prompts.request(("a", 64)))
        evict_gpu(driver)
        request = prompts.request(("a", 64))
        plans = run(driver, request)
        assert request.external_tokens == 64
        assert [count for plan in plans for _, count in plan.scheduled] == [1]

    def test_a_hybrid_hit_leaves_the_last_block_and_moves_one_state_a_group(self) -> None:
        driver, prompts = build(60, 800, 3, cpu_blocks=60), Prompts(800)
        run(driver, prompts.request(("a", 8000)))
        evict_gpu(driver)
        again = prompts.request(("a", 8000))
        run(driver, again)
        assert again.external_tokens == 0  # the only checkpoint is at the end, one token must be computed
        evict_gpu(driver)
        longer = prompts.request(("a", 8000), ("b", 100))
        plans = run(driver, longer)
        assert longer.external_tokens == 8000
        assert [job.blocks_by_group(4) for plan in plans for job in plan.loads] == [[1, 1, 1, 10]]

    def test_loaded_blocks_are_findable_only_after_they_arrived(self) -> None:
        driver, prompts = build(20, cpu_blocks=20, load_steps=2), Prompts()
        run(driver, prompts.request(("a", 64)))
        evict_gpu(driver)
        request = prompts.request(("a", 64), ("b", 9))
        driver.engine.add(request)
        driver.turn()
        assert driver.engine.cache.lookup(request.block_ids, 80).tokens == 0
        driver.run()
        assert driver.engine.cache.lookup(request.block_ids, 80).tokens == 64

    def test_who_wants_keys_that_are_being_read_asks_again(self) -> None:
        driver, prompts = build(20, cpu_blocks=20, load_steps=3), Prompts()
        run(driver, prompts.request(("a", 64)))
        evict_gpu(driver)
        first, second = (prompts.request(("a", 64), (name, 9)) for name in "bc")
        run(driver, first, second)
        assert (first.external_tokens, second.external_tokens) == (64, 0)
        assert second.local_tokens == 64  # by then the first one's blocks are on the GPU

    def test_who_wants_keys_that_are_being_written_asks_again_and_others_pass(self) -> None:
        driver, prompts = build(9, cpu_blocks=40, store_steps=6, async_scheduling=False), Prompts()
        run(driver, prompts.request(("a", 16)))
        first = prompts.request(("b", 64))
        driver.engine.add(first)
        driver.turn()  # computed and ended; its copies take six more steps
        evict_gpu(driver)
        waits, passes = prompts.request(("b", 64), ("c", 9)), prompts.request(("d", 20))
        driver.engine.add(waits)
        driver.engine.add(passes)
        plan = driver.turn()
        assert plan is not None
        assert [request for request, _ in plan.scheduled] == [passes]
        assert list(driver.engine.scheduler.skipped) == [waits]
        driver.run()
        assert waits.external_tokens == 64

    @pytest.mark.parametrize(
        ("blocks", "watermark", "loads"),
        [(13, 0.0, False), (14, 0.0, True), (14, 0.07, False), (15, 0.07, True)],
    )
    def test_a_load_leaves_room_for_prefills_that_have_begun(
        self, blocks: int, watermark: float, loads: bool
    ) -> None:
        """Two of the prefill's ten blocks are taken and eight reserved; the load needs four, and later one.

        A watermark of 7 % is one block more that must stay free.
        """
        limits = {"long_prefill_token_threshold": 16, "max_num_batched_tokens": 64, "watermark": watermark}
        driver, prompts = build(blocks, cpu_blocks=40, async_scheduling=False, **limits), Prompts()
        run(driver, prompts.request(("a", 64)))
        evict_gpu(driver)
        prefill, load = prompts.request(("b", 160)), prompts.request(("a", 64), ("c", 2))
        driver.engine.add(prefill)
        driver.turn()
        driver.engine.add(load)
        driver.turn()
        pool, scheduler = driver.engine.cache.pool, driver.engine.scheduler
        assert prefill.computed == 32
        assert load.status is (Status.LOADING if loads else Status.WAITING)
        assert pool.free_blocks == blocks - 2 - (4 if loads else 0)
        assert scheduler.reserved_blocks() == 8 + (1 if loads else 0)
        driver.run()
        assert load.external_tokens == 64

    @pytest.mark.parametrize(("blocks", "loads"), [(14, False), (15, True)])
    def test_a_load_leaves_room_for_what_other_loads_will_compute(self, blocks: int, loads: bool) -> None:
        """The first loads four of its eleven blocks: seven are reserved when the next one needs four."""
        driver, prompts = build(blocks, cpu_blocks=40, async_scheduling=False), Prompts()
        run(driver, prompts.request(("a", 64)), prompts.request(("d", 64)))
        evict_gpu(driver)
        first, second = prompts.request(("a", 64), ("b", 100)), prompts.request(("d", 64), ("c", 2))
        driver.engine.add(first)
        driver.engine.add(second)
        driver.turn()
        assert first.status is Status.LOADING
        assert second.status is (Status.LOADING if loads else Status.WAITING)


class TestTouch:
    def test_a_look_up_touches_the_checkpoint_it_hits_and_no_older_one(self) -> None:
        """Two state groups and blocks of 16: a block and two states at each boundary fill a tier of 12."""
        driver = build(20, 16, 2, cpu_blocks=12, async_scheduling=False, max_num_batched_tokens=16)
        prompts, offload = Prompts(), connector(driver)
        first, other = prompts.request(("a", 48)), prompts.request(("x", 16))
        run(driver, first)
        run(driver, other)
        assert offload.tier.used_blocks == 12
        assert offload.lookup(prompts.request(("a", 48), ("b", 3)), 0) == 48
        one, two, three = first.block_ids[:3]
        (alone,) = other.block_ids[:1]
        # The states at 16 and 32 tokens, all of the other prompt, and only then the state that was hit.
        room = offload.tier.store([(-number, 0) for number in range(1, 10)])
        assert room is not None
        older = [(one, 0), (one, 1), (two, 0), (two, 1), (alone, 0), (alone, 1), (alone, 2)]
        assert room[1] == [*older, (three, 0), (three, 1)]


class TestFlush:
    def slow(self, blocks: int = 5) -> tuple[Driver, Prompts]:
        return build(blocks, cpu_blocks=20, store_steps=50, async_scheduling=False), Prompts()

    def end(self, driver: Driver, request: ActiveRequest) -> TransferJob:
        """Run a request of one step; return its store, which is still pending."""
        driver.engine.add(request)
        plan = driver.turn()
        assert plan is not None
        (job,) = plan.stores
        return job

    def test_taking_a_source_block_of_an_ended_request_forces_the_copy(self) -> None:
        driver, prompts = self.slow()
        job = self.end(driver, prompts.request(("a", 64)))
        driver.engine.add(prompts.request(("b", 40)))
        plan = driver.turn()
        assert plan is not None
        assert plan.flushes == [job.job_id]
        assert job.job_id not in connector(driver).jobs

    def test_so_does_a_hit(self) -> None:
        driver, prompts = self.slow(10)
        job = self.end(driver, prompts.request(("a", 64)))
        request = prompts.request(("a", 64), ("b", 9))
        driver.engine.add(request)
        plan = driver.turn()
        assert plan is not None
        assert (request.local_tokens, plan.flushes) == (64, [job.job_id])

    def test_other_blocks_do_not(self) -> None:
        driver, prompts = self.slow(10)
        self.end(driver, prompts.request(("a", 64)))
        driver.engine.add(prompts.request(("b", 40)))
        plan = driver.turn()
        assert plan is not None
        assert plan.flushes == []

    def test_preemption_forces_the_copies_of_the_victim(self) -> None:
        driver, prompts = self.slow(4)
        requests = [prompts.request((name, 31), output=8) for name in "ab"]
        for request in requests:
            driver.engine.add(request)
        first, second, third = driver.turn(), driver.turn(), driver.turn()
        assert first is not None
        assert second is not None
        assert third is not None
        assert third.preempted == [requests[1]]
        assert third.flushes == [job.job_id for job in first.stores if job.request_id == 1]


def test_what_is_in_the_tier_is_the_fold_of_its_events() -> None:
    driver, prompts = build(12, cpu_blocks=8, async_scheduling=False), Prompts()
    for name in "abcabdea":
        driver.engine.add(prompts.request((name, 50), output=3))
    there: set[Key] = set()
    while not driver.idle:
        driver.schedule()
        for event in driver.complete().events:
            keys = {(block_id, event.group) for block_id in event.blocks}
            if event.tier == "host":
                assert keys.isdisjoint(there) if event.stored else keys <= there
                there ^= keys
    assert there == {key for key in there if connector(driver).tier.state(key) == IDLE}
    assert len(there) == connector(driver).tier.used_blocks == 8
