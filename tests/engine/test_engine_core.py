"""Scheduler, cache and host tier together: worked examples of the hybrid model, faults that others had."""

import pytest

from sim.engine.active import ActiveRequest
from sim.engine.plan import StepPlan
from sim.kv.extent import Extent
from sim.kv.runs import BlockRuns
from tests.engine.helpers import Driver, Prompts, build
from tests.kv.helpers import blocks_of, cached

POOL = 1634
"""Usable blocks of 800 tokens: a 27B hybrid model on an 80 GB GPU."""


def run(driver: Driver, *requests: ActiveRequest) -> list[StepPlan]:
    for request in requests:
        driver.engine.add(request)
    return driver.run()


class Session:
    """Turns of one conversation: each prompt repeats the one before, its answer, and 1,000 new tokens."""

    def __init__(self, prompts: Prompts, name: str, first: int, answer: int) -> None:
        self._prompts = prompts
        self._name = name
        self._parts: list[tuple[str, int]] = [(f"{name} opens", first)]
        self._answer = answer

    def turn(self) -> ActiveRequest:
        number = len(self._parts)
        request = self._prompts.request(*self._parts, output=self._answer)
        said = (f"{self._name} answer {number}", self._answer)
        request.block_ids = BlockRuns.of(self._prompts.hashes(*self._parts, said))
        self._parts += [said, (f"{self._name} asks {number}", 1000)]
        return request


class Watched:
    """What one turn of the worked example does to the pool."""

    def __init__(self, driver: Driver, request: ActiveRequest) -> None:
        pool, scheduler = driver.engine.cache.pool, driver.engine.scheduler
        driver.engine.add(request)
        self.chunks: list[int] = []
        self.peak_blocks = 0
        self.held: list[list[int]] = []
        while not driver.idle:
            plan = driver.turn()
            self.peak_blocks = max(self.peak_blocks, pool.used_blocks)
            if plan is not None and plan.scheduled and plan.scheduled[0][1] > 1:
                self.chunks.append(plan.scheduled[0][1])
            if scheduler.running and request.computed >= request.prompt_tokens:
                self.held.append([table.held_blocks for table in request.tables])
        self.cached = [len(cached(pool, group)) for group in range(4)]


@pytest.mark.parametrize(
    ("async_scheduling", "peaks", "first_held", "last_held"),
    [
        (False, (273, 274, 276), ([2, 2, 2], [267, 268, 270]), [1, 1, 1]),
        (True, (351, 277, 279), ([28, 3, 3], [267, 268, 270]), [27, 1, 2]),
    ],
)
def test_three_turns_of_a_213k_session(
    async_scheduling: bool,
    peaks: tuple[int, ...],
    first_held: tuple[list[int], list[int]],
    last_held: list[int],
) -> None:
    driver = build(POOL, 800, 3, async_scheduling=async_scheduling)
    session = Session(Prompts(800), "a", 213_000, 200)
    turns, requests = [], []
    for _ in range(3):
        requests.append(session.turn())
        turns.append(Watched(driver, requests[-1]))
    assert [request.prompt_tokens for request in requests] == [213_000, 214_200, 215_400]
    assert [request.local_tokens for request in requests] == [0, 212_800, 213_600]
    assert [turn.chunks for turn in turns] == [[8000] * 26 + [4800, 200], [800, 600], [1600, 200]]
    assert tuple(turn.peak_blocks for turn in turns) == peaks
    assert [turn.held[0][0] for turn in turns] == first_held[0]
    assert [turn.held[0][3] for turn in turns] == first_held[1]
    assert [turn.held[-1][0] for turn in turns] == last_held
    assert [turn.cached for turn in turns] == [[27, 27, 27, 266], [28, 28, 28, 267], [29, 29, 29, 269]]
    assert driver.engine.cache.pool.free_blocks == POOL


@pytest.mark.parametrize("async_scheduling", [False, True])
def test_idle_checkpoints_are_evicted_before_attention_and_its_head_last(async_scheduling: bool) -> None:
    driver, session = (
        build(POOL, 800, 3, async_scheduling=async_scheduling),
        Session(Prompts(800), "a", 213_000, 200),
    )
    run(driver, session.turn())
    request = session.turn()
    run(driver, request)
    pool = driver.engine.cache.pool
    position = {block_id: index for index, block_id in enumerate(request.block_ids)}
    idle = [(content[1], position[content[0]]) for content in pool.free_queue() if content is not None]
    chunk_ends = [*range(9, 260, 10)]  # the checkpoint at 8,000 tokens is in position 9
    if async_scheduling:
        old = [(group, end) for group in range(3) for end in reversed(chunk_ends)]
    else:
        old = [(group, end) for end in chunk_ends for group in range(3)]
    newest = [(group, end) for end in (265, 266) for group in range(3)]
    assert idle == old + newest + [(3, end) for end in range(266, -1, -1)]


@pytest.mark.parametrize("async_scheduling", [False, True])
@pytest.mark.parametrize(("sessions", "hit"), [(4, [0, 212_800, 212_800]), (5, [0, 0, 0])])
def test_four_cold_213k_sessions_in_turn_keep_their_prefix_and_five_lose_it(
    async_scheduling: bool, sessions: int, hit: list[int]
) -> None:
    driver, prompts = build(POOL, 800, 3, async_scheduling=async_scheduling), Prompts(800)
    talks = [Session(prompts, f"s{number}", 213_000, 20) for number in range(sessions)]
    for expected in hit:
        requests = [talk.turn() for talk in talks]
        for request in requests:
            run(driver, request)
        assert [request.local_tokens // 212_800 * 212_800 for request in requests] == [expected] * sessions


@pytest.mark.parametrize(("async_scheduling", "together"), [(False, 6), (True, 4)])
def test_how_many_cold_213k_requests_run_at_once(async_scheduling: bool, together: int) -> None:
    driver, prompts = build(POOL, 800, 3, async_scheduling=async_scheduling), Prompts(800)
    plans = run(driver, *(prompts.request((f"s{n}", 213_000), output=300) for n in range(7)))
    assert max(len(plan.scheduled) for plan in plans) == together


@pytest.mark.parametrize(("sessions", "external"), [(7, [0, 212_800, 213_600]), (8, [0, 0, 0])])
def test_a_64_gib_tier_holds_seven_cold_213k_sessions(sessions: int, external: list[int]) -> None:
    driver, prompts = build(POOL, 800, 3, cpu_blocks=2621), Prompts(800)
    talks = [Session(prompts, f"s{number}", 213_000, 200) for number in range(sessions)]
    for expected in external:
        requests = [talk.turn() for talk in talks]
        for request in requests:
            run(driver, request)
        assert [request.external_tokens for request in requests] == [expected] * sessions
        assert [request.local_tokens for request in requests] == [0] * sessions


class TestPublicFaults:
    """Faults that other simulators and engines had."""

    @pytest.mark.parametrize(("block_tokens", "recurrent", "hit"), [(16, 0, 16_368), (800, 3, 16_000)])
    def test_reuse_does_not_stop_at_the_first_chunk(
        self, block_tokens: int, recurrent: int, hit: int
    ) -> None:
        driver, prompts = build(2000, block_tokens, recurrent), Prompts(block_tokens)  # dynamo 13188
        run(driver, prompts.request(("a", 16_384)))
        second = prompts.request(("a", 16_384))
        run(driver, second)
        assert second.local_tokens == hit

    def test_a_full_hit_leaves_a_token_to_compute(self) -> None:
        driver, prompts = build(50, 64), Prompts(64)  # vllm 11186, 17999
        run(driver, prompts.request(("a", 640)))
        second = prompts.request(("a", 640))
        plans = run(driver, second)
        assert second.local_tokens == 576
        assert plans[0].scheduled == [(second, 64)]

    def test_a_partial_block_is_never_hit(self) -> None:
        driver, prompts = build(50), Prompts()  # mooncake 4164
        run(driver, prompts.request(("a", 40)))
        second = prompts.request(("a", 40))
        run(driver, second)
        assert second.local_tokens == 32

    def test_no_hit_beyond_a_gap(self) -> None:
        driver, prompts = build(4), Prompts()  # llm-d-inference-sim 705
        first = prompts.request(("a", 48))
        run(driver, first)
        pool = driver.engine.cache.pool
        ((extent, start, stop),) = pool.run(first.block_ids, 3, 0)
        pool.touch([(extent, start + 1, stop)])
        pool.allocate(Extent(0, 0), 2)  # the first block is evicted, its successors are still there
        assert cached(pool) == [*first.block_ids[1:3]]
        assert driver.engine.cache.lookup(first.block_ids, 48).tokens == 0

    @pytest.mark.parametrize("async_scheduling", [False, True])
    def test_a_pool_far_below_demand_still_finishes(self, async_scheduling: bool) -> None:
        driver, prompts = build(60, async_scheduling=async_scheduling), Prompts()  # inference-sim 297, 963
        requests = [prompts.request((f"p{number}", 512), output=256) for number in range(12)]
        run(driver, *requests)
        assert all(request.outputs == 256 for request in requests)

    @pytest.mark.parametrize("async_scheduling", [False, True])
    def test_an_answer_that_outgrows_the_pool_is_given_up(self, async_scheduling: bool) -> None:
        driver, prompts = (
            build(15, 64, async_scheduling=async_scheduling),
            Prompts(64),
        )  # dead end in a replay
        request, other = prompts.request(("a", 930), output=200), prompts.request(("b", 100), output=5)
        driver.engine.add(request)
        driver.engine.add(other)
        outgrown = []
        while not driver.idle and driver.number < 1000:
            driver.turn()
            outgrown += driver.engine.drop_outgrown()
        assert outgrown == [request]
        assert request.num_tokens == 15 * 64 + 1  # one token more than fifteen blocks hold
        assert (other.outputs, driver.engine.cache.pool.used_blocks) == (5, 0)

    @pytest.mark.parametrize("async_scheduling", [False, True])
    def test_a_failed_allocation_leaves_no_trace(self, async_scheduling: bool) -> None:
        driver, prompts = build(8, async_scheduling=async_scheduling), Prompts()  # inference-sim 1061
        requests = [prompts.request((name, 60), output=40) for name in "abc"]
        for request in requests:
            driver.engine.add(request)
        pool = driver.engine.cache.pool
        while not driver.idle:
            driver.turn()
            held = blocks_of(
                part for request in requests for table in request.tables for part in table.parts.values()
            )
            assert (pool.used_blocks, pool.free_blocks) == (len(held), 8 - len(held))
        assert pool.free_blocks == 8

    @pytest.mark.parametrize("async_scheduling", [False, True])
    def test_a_victim_leaves_the_batch_once(self, async_scheduling: bool) -> None:
        driver, prompts = build(6, async_scheduling=async_scheduling), Prompts()  # inference-sim 349, 519
        requests = [prompts.request((name, 31), output=30) for name in "abc"]
        plans = run(driver, *requests)
        for plan in plans:
            assert not {*map(id, plan.preempted)} & {id(request) for request, _ in plan.scheduled}
            assert len({*map(id, plan.preempted)}) == len(plan.preempted)
        assert sum(request.preemptions for request in requests) < 10
        assert all(request.outputs == 30 for request in requests)

    def test_recomputation_after_preemption_is_not_free(self) -> None:
        driver, prompts = build(68 * 8, async_scheduling=False), Prompts()  # inference-sim 1121
        requests = [prompts.request((f"p{number}", 100), output=60) for number in range(200)]
        plans = run(driver, *requests)
        assert sum(request.preemptions for request in requests) > 0
        computed = sum(tokens for plan in plans for _, tokens in plan.scheduled)
        # every token but a request's last is computed, some more than once, within the budget of a step
        assert computed > sum(100 + 60 - 1 for _ in requests)
        assert all(sum(tokens for _, tokens in plan.scheduled) <= 8192 for plan in plans)
        most = max(len(plan.scheduled) for plan in plans)
        assert most <= 68 * 8 // 7 + 1  # a prompt of 100 tokens holds seven blocks at least

    @pytest.mark.parametrize(("shared", "together"), [(0, 1), (32, 3)])
    def test_a_tight_pool_holds_as_many_tokens_as_its_blocks(self, shared: int, together: int) -> None:
        """Five blocks of 16 tokens: one prompt of 48, or three that have 32 in common."""
        driver, prompts = build(5, async_scheduling=False), Prompts()
        requests = [
            prompts.request(("shared", shared), (name, 48 - shared), output=1 if name == "first" else 9)
            for name in ("first", "b", "c", "d", "e")
        ]
        run(driver, requests[0])
        for request in requests[1:]:
            driver.engine.add(request)
        driver.turn()
        pool = driver.engine.cache.pool
        assert len(driver.engine.scheduler.running) == together
        assert pool.used_blocks == (shared + together * (48 - shared)) // 16
        assert pool.used_blocks + pool.free_blocks == 5


def test_news_are_told_once_whether_published_or_not() -> None:
    driver, prompts = build(20, async_scheduling=False), Prompts()
    engine, (first, second) = driver.engine, (prompts.request((name, 48)) for name in "ab")
    for request in (first, second):
        engine.add(request)
        engine.schedule()
        assert [[*event.blocks] for event in engine.drain_events()] == [[*request.block_ids[:3]]]
        assert engine.drain_events() == []
        assert [[*event.blocks] for event in engine.complete().events] == [[*request.block_ids[:3]]]
    assert engine.drain_events() == []


def test_a_generated_block_can_be_hit_from_its_last_token_on() -> None:
    """With asynchronous scheduling the token that fills a block is not known when it is computed."""
    driver, prompts = build(20), Prompts()
    request = prompts.request(("a", 30), output=3)
    run(driver, request)
    assert len(request.block_ids) == 2
    assert driver.engine.cache.lookup(request.block_ids, 33).tokens == 32


def test_preemptions_with_tokens_between_them_are_no_livelock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.engine.engine.LIVELOCK_STEPS", 2)
    driver, prompts = build(6, async_scheduling=False), Prompts()
    for number in range(8):
        driver.engine.add(prompts.request((f"{number}", 30), output=30))
    preempting = 0
    while not driver.idle:
        plan = driver.turn()
        preempting += plan is not None and bool(plan.preempted)
        assert not driver.engine.livelocked
    assert preempting > 3
