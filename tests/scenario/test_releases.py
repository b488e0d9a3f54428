"""Settings that a release of vLLM does not have, or refuses."""

import pytest

from sim.base.errors import InputError
from sim.scenario.load import load_scenario

NEW = {
    "max_num_active_seqs": 3,
    "max_num_queued_reqs": 4,
    "max_num_queued_tokens": 1000,
    "long_prefill_token_threshold_adaptive": "true",
    "prefix_cache_retention_interval": 0,
    "sync_load_budget_bytes": 1,
}


@pytest.mark.parametrize(("key", "value"), NEW.items())
def test_0_28_refuses_what_it_does_not_have(key: str, value: object) -> None:
    with pytest.raises(InputError, match=rf"engine\.{key}=.*0\.28 has no such setting"):
        load_scenario("agg8", [f"engine.{key}={value}"])
    load_scenario("agg8", [f"engine.{key}={value}", "engine.version=0.33"])


def test_0_28_keeps_every_state_and_may_say_so() -> None:
    load_scenario("agg8", ["engine.prefix_cache_retention_interval=dense"])


def test_0_33_is_without_the_fault_of_0_28() -> None:
    with pytest.raises(InputError, match="without that fault"):
        load_scenario("agg8", ["engine.version=0.33", "engine.vllm_0_28_faults=true"])


def test_no_more_may_run_than_the_runner_has_places_for() -> None:
    with pytest.raises(InputError, match=r"at most engine\.max_num_seqs = 4"):
        load_scenario(
            "agg8", ["engine.version=0.33", "engine.max_num_seqs=4", "engine.max_num_active_seqs=5"]
        )


def test_an_interval_of_states_is_whole_blocks() -> None:
    settings = ["engine.version=0.33", "engine.prefix_cache_retention_interval=1664"]
    load_scenario("agg8", settings)
    with pytest.raises(InputError, match="multiple of a block, here 800 tokens"):
        load_scenario("agg8", [*settings, "engine.gdn_prefill_backend=triton"])


def test_a_plain_model_has_no_states_to_keep() -> None:
    plain = ["engine.version=0.33", "model=qwen3-32b-bf16", "workers.tensor_parallel=2"]
    load_scenario("agg8", [*plain, "engine.prefix_cache_retention_interval=0"])
    with pytest.raises(InputError, match="neither recurrent states nor windows"):
        load_scenario("agg8", [*plain, "engine.prefix_cache_retention_interval=1600"])
