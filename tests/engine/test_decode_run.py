"""Fast-forward against stepping: whatever happens, equal rows, equal numbers, equal engines."""

from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sim.engine.decode_run import DecodeRun, allocate, allocations, commit, decode_run, output_times
from sim.engine.rule_set import RuleSet
from sim.kv.offload import ArcTier, LruTier
from sim.results.metrics import to_json
from sim.simulation.run import summary_of
from tests.clusters import RandomCluster, rows, run_cluster, scenario, trace, turn
from tests.engine.helpers import Driver, Prompts, build
from tests.kv.helpers import contents
from tests.kv.offload_keys import order_of


def pool_of(engine):
    """What a pool holds; how often it changed depends on how many changes were made at once."""
    return {name: value for name, value in contents(engine.cache.pool).items() if name != "changes"}


def state_of(tier):
    values = {name: getattr(tier, name) for name in dir(tier) if not name.startswith("__")}
    state = {name: value for name, value in values.items() if not callable(value)}
    return state | {"_order": order_of(tier)} if isinstance(tier, LruTier) else state


def everything(cluster):
    """What a run gave, and what it left in its engines, in a form that compares to the last bit."""
    engines = [worker.engine for worker in cluster.workers]
    return {
        "summary": to_json(summary_of(cluster)),
        **{table: rows(cluster, table) for table in cluster.recorder.rows.tables},
        "pools": [pool_of(engine) for engine in engines],
        "tiers": [state_of(engine.offload.tier) for engine in engines if engine.offload],
        "failed stores": [engine.offload.failed_stores for engine in engines if engine.offload],
    }


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
@pytest.mark.slow
def test_fast_forward_changes_nothing(seed):
    cluster = RandomCluster(Random(seed))
    assert everything(cluster.run(fast_forward=True)) == everything(cluster.run(fast_forward=False))


def of_0_33(random: Random) -> dict[str, object]:
    """Random settings of vLLM 0.33, with some rules of 0.28."""
    rules = {name: "0.28" for name in RuleSet._fields if random.random() < 0.1}
    return {
        "version": "0.33",
        "rules": rules or None,
        "prefix_cache_retention_interval": random.choice([None, None, "dense"]),
        "prefill_schedule_interval": random.choice([1, 1, 2, 4]),
        "max_num_queued_reqs": random.choice([None, None, 4]),
        "max_num_queued_tokens": random.choice([None, None, 200]),
        "sync_load_budget_bytes": random.choice([0, 0, 5000]),
        "max_num_active_seqs": random.choice([None, None, 1]),
    }


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
@example(688)  # a state is loaded and another computed in one step, where one block is free
@pytest.mark.slow
def test_fast_forward_changes_nothing_in_0_33_and_with_single_rules_of_0_28(seed):
    random = Random(seed)
    cluster = RandomCluster(random)
    cluster.use(of_0_33(random))
    assert everything(cluster.run(fast_forward=True)) == everything(cluster.run(fast_forward=False))


def test_fast_forward_saves_events():
    requests = trace(turn(0, 20, 100, [1, 2]))
    events = {}
    for fast_forward in (True, False):
        cluster = run_cluster(scenario(engine={"fast_forward": fast_forward}), requests)
        assert [row["end_s"] for row in rows(cluster)] == [100.0]
        events[fast_forward] = next(cluster.clock._eid)
    assert events[False] > 100
    assert events[True] < 45, "100 tokens touch 7 block boundaries, and a few steps at each are normal"


# -- how long a run is ---------------------------------------------------------------------------------------


def decoding(*, prompt=20, output=100, others=(), **settings) -> Driver:
    """An engine right after its first step in which every step in flight only decodes."""
    driver, prompts = build(50, **{"async_scheduling": False, **settings}), Prompts()
    for index, (tokens, answer) in enumerate([(prompt, output), *others]):
        driver.engine.add(prompts.request((f"prompt {index}", tokens), output=answer))
    driver.schedule()
    if driver.engine.settings.async_scheduling:
        driver.schedule()
    driver.complete()
    driver.schedule()
    return driver


def test_with_a_cpu_tier_a_run_stops_before_the_step_that_fills_a_block():
    run = decode_run(decoding(prompt=10, cpu_blocks=2).engine)
    # Token 11 is in flight; tokens 12 to 15 follow, the 16th fills the block.
    assert run is not None
    assert (run.steps, run.context_tokens) == (4, 11)


def test_with_two_steps_in_flight_the_block_is_full_a_step_after_its_last_token_was_scheduled():
    run = decode_run(decoding(prompt=10, cpu_blocks=2, async_scheduling=True).engine)
    assert run is not None
    assert (run.steps, run.context_tokens) == (4, 12)


def test_a_plain_engine_goes_on_in_the_next_block():
    engine = decoding().engine
    run = decode_run(engine)
    assert run is not None
    assert (run.steps, run.context_tokens) == (98, 21)
    # 32 tokens fill two blocks: pair 11 plans the 33rd, and every 16th from there takes one more.
    assert run.next_allocation == 11
    assert allocations(engine, run, 60) == [(11, 1), (27, 1), (43, 1), (59, 1)]
    allocate(engine, run, 28)
    assert (run.allocated, run.next_allocation) == (28, 43)
    assert allocations(engine, run, 60) == [(43, 1), (59, 1)]


def test_a_run_stops_before_the_pair_that_finds_no_block():
    engine = decoding(others=[(28, 100)]).engine  # 2 + 2 blocks of 50 are taken
    engine.cache.pool.free_blocks = 3
    run = decode_run(engine)
    assert run is not None
    # The second request takes a block in pairs 3 and 19, the first in pairs 11 and 27: that is one too many.
    assert run.steps == 27
    assert allocations(engine, run, run.steps) == [(3, 1), (11, 1), (19, 1)]


def test_a_run_stops_before_the_step_that_generates_the_last_token():
    # Of 5 tokens one is there and one in flight: the run brings that one and the next two into flight.
    run = decode_run(decoding(output=5).engine)
    assert run is not None
    assert run.steps == 3


def test_a_run_stops_before_the_longest_sequence():
    run = decode_run(decoding(max_model_len=26).engine)
    assert run is not None
    assert run.steps == 4


def test_the_first_of_a_batch_to_change_ends_the_run():
    run = decode_run(decoding(prompt=10, others=[(12, 100)], cpu_blocks=2).engine)
    assert run is not None
    assert (run.steps, run.context_tokens) == (2, 11 + 13)


@pytest.mark.parametrize("async_scheduling", [False, True])
def test_no_run_while_a_prefill_is_in_flight(async_scheduling):
    driver, prompts = build(50, async_scheduling=async_scheduling), Prompts()
    driver.engine.add(prompts.request(("a", 20), output=50))
    driver.schedule()
    assert decode_run(driver.engine) is None
    if async_scheduling:
        driver.schedule()
        assert decode_run(driver.engine) is None, "its first token is not there yet"


def test_no_run_while_the_pipeline_is_not_full():
    driver = decoding(async_scheduling=True)
    driver.complete()
    assert decode_run(driver.engine) is None


def test_no_run_right_after_a_request_has_ended():
    driver = decoding(prompt=10, others=[(10, 2)], cpu_blocks=2)
    driver.complete()
    driver.schedule()
    assert decode_run(driver.engine) is None
    driver.complete()
    driver.schedule()
    assert decode_run(driver.engine) is not None


def test_looking_for_a_run_changes_nothing():
    engine = decoding(others=[(28, 100)]).engine
    before = [(request.outputs, request.computed) for request in engine.scheduler.running]
    assert decode_run(engine) == decode_run(engine)
    assert [(request.outputs, request.computed) for request in engine.scheduler.running] == before


@pytest.mark.parametrize("async_scheduling", [False, True])
def test_commit_leaves_what_stepping_leaves(async_scheduling):
    fast, slow = (decoding(async_scheduling=async_scheduling, others=[(24, 60)]) for _ in range(2))
    run = decode_run(fast.engine)
    assert run is not None
    assert run.steps >= 5
    commit(fast.engine, run, 5)
    for _ in range(5):
        slow.complete()
        slow.schedule()

    def state(driver):
        engine = driver.engine
        requests = [
            (request.outputs, request.computed, request.in_flight, request.placeholders)
            for request in engine.scheduler.running
        ]
        return requests, pool_of(engine)

    assert state(fast) == state(slow)


# -- what a run has to notice --------------------------------------------------------------------------------


def with_blocked_head(driver: Driver, prompts: Prompts) -> None:
    """Let a request decode that leaves no room for the next one, a prompt of (head, 48)."""
    driver.engine.add(prompts.request(("big", 100), output=100))
    driver.schedule()
    driver.complete()
    driver.engine.add(prompts.request(("head", 48)))
    for _ in range(2):
        driver.schedule()
        driver.complete()
    driver.schedule()


def test_a_head_that_does_not_fit_does_not_disturb_a_run():
    driver = build(9, async_scheduling=False, cpu_blocks=2)
    with_blocked_head(driver, Prompts())
    assert driver.engine.waiting == 1
    assert decode_run(driver.engine) is not None


def test_a_head_that_moves_the_target_of_arc_at_every_try_forbids_a_run():
    prompts = Prompts()
    driver = build(9, async_scheduling=False, cpu_blocks=4, policy="arc")
    tier = driver.engine.offload.tier
    assert isinstance(tier, ArcTier)
    ghost = (prompts.hashes(("head", 48))[0], 0)
    for keys in ([ghost], [(-1, 0), (-2, 0), (-3, 0), (-4, 0)]):
        tier.store(keys)
        tier.stored(keys)
    assert tier.state(ghost) is None
    with_blocked_head(driver, prompts)
    while tier._target < tier.capacity_blocks:
        assert decode_run(driver.engine) is None
        driver.complete()
        driver.schedule()
    driver.complete()
    driver.schedule()
    assert decode_run(driver.engine) is not None, "at its limit the target stands still"


def test_stores_that_find_no_room_are_counted_once_a_step():
    driver, prompts = build(50, async_scheduling=False, cpu_blocks=1), Prompts()
    driver.engine.add(prompts.request(("a", 40), output=50))
    driver.schedule()
    driver.complete()
    driver.schedule()
    offload = driver.engine.offload
    assert offload.failed_stores == 2, "two blocks at once do not fit into one"
    run = decode_run(driver.engine)
    assert run is not None
    commit(driver.engine, run, 3)
    assert offload.failed_stores == 5
    driver.complete()
    driver.schedule()
    assert offload.failed_stores == 6


# -- times ---------------------------------------------------------------------------------------------------


def test_output_times_are_those_of_the_steps_in_flight_and_then_of_the_run():
    assert output_times([4.0, 5.0], np.array([1.0, 2.0, 3.0])).tolist() == [4.0, 5.0, 6.0, 8.0, 11.0]
    assert output_times([4.0], np.array([])).tolist() == [4.0]


@given(
    st.lists(st.floats(0, 1e5), min_size=1, max_size=2).map(sorted),
    st.lists(st.floats(0, 10), max_size=50),
)
def test_output_times_are_bit_for_bit_those_of_a_loop(in_flight_s, steps_s):
    expected = list(in_flight_s)
    for step_s in steps_s:
        expected.append(expected[-1] + step_s)
    assert output_times(in_flight_s, np.array(steps_s)).tolist() == expected


def test_a_run_compares_by_its_content():
    assert DecodeRun([], 1, 2) == DecodeRun([], 1, 2)
