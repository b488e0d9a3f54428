"""The baseline without time."""

from sim.measured.run import load_run
from sim.scenario.scenario import Scenario
from sim.validation.predictions import lru
from sim.validation.replay.recording import recording
from sim.validation.replay.settings import scenario_of
from tests.measured.small_run import SMALL


def found(*overrides: str, name: str = "cpu-agg2") -> tuple[dict[int, int], Scenario]:
    run = load_run(SMALL)
    scenario = scenario_of(run, name, overrides)[0]
    return lru.cached_tokens(recording(run), scenario), scenario


def test_prompts_find_what_their_worker_had() -> None:
    assert found()[0] == {0: 0, 1: 0, 2: 16}


def test_a_prompts_end_is_evicted_before_its_start() -> None:
    # Worker 1 has room for one block: of request 1 it keeps the first, which request 2 starts with.
    assert found("engine.kv_blocks=2")[0] == {0: 0, 1: 0, 2: 16}


def test_a_cpu_tier_is_more_room() -> None:
    blocks = lru.numbers(recording(load_run(SMALL)), found(name="cpu-off2")[1])
    assert blocks == {"computed_tokens": 134, "recomputed_tokens": 32}


def test_its_numbers_are_those_of_completed_requests() -> None:
    assert lru.numbers(recording(load_run(SMALL)), found()[1]) == {
        "computed_tokens": 134,
        "recomputed_tokens": 32,
        "local_hit_tokens": 16,
    }
