"""Working memory by rule, and start-up logs of real engines beside it."""

import pytest

from sim.hardware.capacity import capacity
from sim.hardware.layers import stages
from sim.hardware.parallel import ONE_GPU, Parallel
from sim.hardware.runtime_memory import captured_sizes, layer_bytes_per_token, runtime
from tests.hardware.models import gpu, shipped, toy

GIB = 2**30
H200 = gpu("h200-141gb")


@pytest.mark.parametrize(
    ("tokens", "sequences", "kv_tokens", "kv_gib"),
    [(8192, 1024, 348_304, 53.15), (16_384, 1024, 347_488, 53.02), (8192, 128, 369_568, 56.39)],
)
def test_llama_70b_on_one_h200_as_vllm_0_14_logged_it(
    tokens: int, sequences: int, kv_tokens: int, kv_gib: float
) -> None:
    """DO-Solutions/gtc-2026-doks (MIT), vLLM 0.14.1: three start-ups; the first made the context of the
    rule."""
    found = capacity(
        shipped("llama-3.1-70b-fp8"),
        H200,
        gpu_memory_utilization=0.9,
        max_num_batched_tokens=tokens,
        max_num_seqs=sequences,
        release="0.14.1",
    )
    assert found.share.weights_bytes / GIB == pytest.approx(67.7, abs=0.05)
    assert found.pool_tokens == pytest.approx(kv_tokens, rel=0.002)
    assert found.pool_bytes / GIB == pytest.approx(kv_gib, rel=0.002)


def test_the_talks_engine_as_vllm_0_28_logged_it() -> None:
    """The model's measured values taken away: the rule of 0.28.0 was made from them."""
    model = shipped("qwen3.8-27b-fp8").model_copy(
        update={"peak_activation_bytes": None, "cuda_graphs_bytes": None}
    )
    (stage,) = stages(model, 1)
    found = runtime(
        *(model, gpu("h100-80gb"), ONE_GPU, stage), max_num_batched_tokens=8192, max_num_seqs=1024
    )
    assert found.context / GIB == pytest.approx(1.01)
    assert found.activation / GIB == pytest.approx(2.10, abs=0.005)
    assert found.graphs / GIB == pytest.approx(0.96, abs=0.005)
    assert found.communication == 0


def test_a_token_of_the_mlp_by_hand() -> None:
    (stage,) = stages(shipped("llama-3.1-70b-fp8"), 1)
    # Gate, up and what is made of them, and the residual, in BF16; the input in FP8.
    assert layer_bytes_per_token(shipped("llama-3.1-70b-fp8"), stage) == 2 * (3 * 28_672 + 8192) + 8192
    assert layer_bytes_per_token(shipped("llama-3.1-70b-bf16"), stage) == 2 * (3 * 28_672 + 2 * 8192)


def test_a_token_of_experts_by_hand() -> None:
    model = shipped("qwen3-30b-a3b-bf16")
    (stage,) = stages(model, 1)
    # 8 experts, each with an output of 2,048 (wider than 2 x 768) and 768 between, and residual and input.
    assert layer_bytes_per_token(model, stage) == 2 * (8 * (2048 + 768) + 2 * 2048)


@pytest.mark.parametrize(("sequences", "sizes"), [(1024, 51), (256, 51), (128, 35), (16, 7), (1, 2)])
def test_sizes_that_vllm_captures(sequences: int, sizes: int) -> None:
    # 1, 2, 4; 8 to 248 by 8; 256 to 512 by 16.
    assert captured_sizes(sequences) == sizes


def test_logits_are_made_on_the_last_stage_alone() -> None:
    model = shipped("qwen3-8b-bf16")
    first, last = stages(model, 2)
    limits = {"max_num_batched_tokens": 2048, "max_num_seqs": 1024}
    parallel = Parallel(1, 2)
    front, back = (runtime(model, H200, parallel, stage, **limits) for stage in (first, last))
    assert front.activation == 2048 * 2 * (3 * 12_288 + 2 * 4096)
    assert back.activation == 2048 * 4096 * 2 + int(1024 * 151_936 * 8.54)
    assert front.communication == back.communication == 342 * 2**20


def test_no_more_sequences_than_tokens_are_sampled() -> None:
    model = toy(vocab_size=1_000_000)
    (stage,) = stages(model, 1)
    limits = {"max_num_batched_tokens": 10, "max_num_seqs": 1024}
    assert runtime(model, H200, ONE_GPU, stage, **limits).activation == 10 * 8 * 2 + int(10 * 1e6 * 8.54)


def test_measured_values_go_before_the_rule() -> None:
    model = toy(peak_activation_bytes=7, cuda_graphs_bytes=9)
    (stage,) = stages(model, 1)
    found = runtime(model, H200, ONE_GPU, stage, max_num_batched_tokens=8192, max_num_seqs=1024)
    assert (found.activation, found.graphs) == (7, 9)
    assert found.total == found.context + 16
