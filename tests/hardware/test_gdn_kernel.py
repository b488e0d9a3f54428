"""Which kernel prefills gated delta nets, and the blocks that follow (vLLM 0.33.0)."""

import pytest

from sim.scenario.load import load_scenario


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        (["engine.version=0.28"], 800),
        (["engine.version=0.33"], 832),  # FlashInfer on Hopper
        (["engine.version=0.33", "engine.gdn_prefill_backend=triton"], 800),
        (["engine.version=0.33", "engine.rules.inner_checkpoint=0.28"], 800),
        (["engine.version=0.33", "gpu=a100-80gb"], 800),
        (["engine.version=0.33", "gpu=a100-80gb", "engine.gdn_prefill_backend=flashinfer"], 832),
        (["engine.version=0.33", "gpu=b200"], 832),
        (["engine.version=0.28", "model={preset='qwen3.8-27b-fp8', kv_dtype='bf16'}"], 400),
        (["engine.version=0.33", "model={preset='qwen3.8-27b-fp8', kv_dtype='bf16'}"], 448),
        (["engine.version=0.33", "model=qwen3-32b-bf16", "workers.tensor_parallel=2"], 16),
    ],
)
def test_a_block_holds_a_state_in_whole_steps_of_the_kernel(settings: list[str], tokens: int) -> None:
    assert load_scenario("agg8", settings).block_tokens == tokens


def test_blocks_of_26_mib_are_fewer() -> None:
    found = load_scenario("agg8", ["engine.version=0.33", "offload.cpu_bytes=64GiB"]).capacity()
    assert found.block_bytes == 26 * 2**20
    assert found.host[0].blocks == 2520
    # A chunk has the state it starts from, the one it makes, and one inside.
    assert (found.state_blocks, found.longest_blocks) == (3, -(-1_000_000 // 832) + 9)


def test_states_that_go_back_let_more_cold_sessions_run() -> None:
    counts = {}
    for version in ("0.28", "0.33"):
        settings = [f"engine.version={version}", "engine.gdn_prefill_backend=triton", "engine.kv_blocks=1635"]
        found = load_scenario("agg8", settings).capacity()
        counts[version] = found.session.cold, found.session.cold_prefill_async, found.running_cold_async
    # Idle: 266 blocks of attention, and 27 states a group or one; running: 351 blocks or 276.
    assert counts == {"0.28": (347, 351, 4), "0.33": (269, 276, 6)}
