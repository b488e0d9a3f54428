"""Sizes that follow from a model's shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sim.base.shipped import preset
from sim.hardware.model import GpuSettings, ModelSettings

QWEN27 = ModelSettings.model_validate(preset("models", "qwen3.8-27b-fp8"))
QWEN14 = ModelSettings.model_validate(preset("models", "qwen3-14b-bf16"))
LLAMA8 = ModelSettings.model_validate(preset("models", "llama-3.1-8b-bf16"))
TOY = ModelSettings(
    name="toy",
    hidden_size=8,
    intermediate_size=16,
    vocab_size=100,
    full_attention_layers=2,
    attention_heads=4,
    kv_heads=2,
    head_dim=4,
)


def test_toy_weights_by_hand() -> None:
    mlp, attention, embedding = 3 * 8 * 16 * 2, 8 * 4 * (4 * 2 + 2 * 2) * 2, 2 * 100 * 8
    assert [part.params for part in TOY.weight_parts()] == [mlp, attention, embedding]
    assert TOY.weights_computed_bytes == 2 * (mlp + attention + embedding)
    assert TOY.weights_bytes == TOY.weights_computed_bytes
    tied = TOY.model_copy(update={"tied_embeddings": True})
    assert tied.weights_computed_bytes == 2 * (mlp + attention + embedding // 2)
    # A tied head is still read in every step.
    assert tied.step_weights_bytes == TOY.step_weights_bytes == 2 * (mlp + attention + 100 * 8)


def test_toy_cache_by_hand() -> None:
    assert TOY.kv_bytes_per_token == 2 * 2 * 4 * 2 * 2
    assert TOY.state_bytes_per_sequence == 0
    assert TOY.state_groups == 0
    assert TOY.block_tokens() == 16
    assert TOY.block_tokens(64) == 64
    assert TOY.block_bytes(64) == 64 * TOY.kv_bytes_per_token


def test_the_talks_sum_of_weights() -> None:
    billions = {part.label: round(part.params / 1e9, 2) for part in QWEN27.weight_parts()}
    assert billions == {
        "MLP": 17.11,
        "full attention": 1.68,
        "linear attention": 5.54,
        "embedding and head": 2.54,
        "vision tower": 0.50,
    }
    assert [part.bytes_per_param for part in QWEN27.weight_parts()] == [1, 1, 1, 2, 2]
    assert QWEN27.weights_computed_bytes / 2**30 == pytest.approx(28.3, abs=0.05)
    assert QWEN27.weights_bytes / 2**30 == pytest.approx(28.88, abs=1e-6)


def test_the_talks_cache_sizes() -> None:
    assert QWEN27.kv_bytes_per_token == 32 * 1024
    assert QWEN27.state_bytes_per_layer == 3 * 10_240 * 2 + 48 * 128 * 128 * 2 == 1_634_304
    assert QWEN27.state_bytes_per_sequence / 2**20 == pytest.approx(74.8, abs=0.05)
    assert QWEN27.block_tokens() == 800
    assert QWEN27.block_bytes() == 25 * 2**20
    assert QWEN27.state_groups == 3


def test_operations_of_the_hybrid_model() -> None:
    assert QWEN27.flop_per_token / 1e9 == pytest.approx(48.65, abs=0.01)
    assert QWEN27.attention_flop_per_pair == 393_216


@pytest.mark.parametrize(
    ("changes", "tokens"),
    [({"kv_dtype": "bf16"}, 400), ({"kv_dtype": "bf16", "ssm_state_dtype": "fp32"}, 784)],
)
def test_formats_move_the_hybrid_block(changes: dict[str, str], tokens: int) -> None:
    assert QWEN27.model_copy(update=changes).block_tokens() == tokens


def test_public_parameter_counts_of_the_plain_presets() -> None:
    assert sum(part.params for part in QWEN14.weight_parts()) / 1e9 == pytest.approx(14.77, abs=0.01)
    assert sum(part.params for part in LLAMA8.weight_parts()) / 1e9 == pytest.approx(8.03, abs=0.01)
    assert QWEN14.kv_bytes_per_token == 160 * 1024
    assert LLAMA8.kv_bytes_per_token == 128 * 1024


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention_heads": 5}, "attention_heads = 5 is not a multiple of kv_heads = 2"),
        ({"linear_attention_layers": 2}, "linear_attention_layers = 2 must be 0 or at least 1.5 times"),
        ({"linear_attention_layers": 6}, "linear_key_heads must be 1 or more"),
        ({"kv_dtype": "int4"}, "'fp8', 'bf16' or 'fp16'"),
        ({"hidden_size": 0}, "greater than 0"),
        ({"hiden_size": 8}, "Extra inputs are not permitted"),
        ({"weights_loaded_bytes": "28.88Gbps"}, "is not a size"),
    ],
)
def test_impossible_models_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ModelSettings.model_validate(TOY.model_dump() | changes)


def test_gpu_preset() -> None:
    gpu = GpuSettings.model_validate(preset("gpus", "h100-80gb"))
    assert gpu.memory_bytes / 2**30 == pytest.approx(79.22)
    assert gpu.memory_bandwidth_bytes_per_s == 3.35e12
    assert gpu.achieved == type(gpu.achieved)()


@given(
    key_heads=st.integers(1, 64),
    value_heads=st.integers(1, 64),
    head_dim=st.sampled_from([64, 128, 256]),
    kv_heads=st.sampled_from([1, 2, 4, 8]),
    state=st.sampled_from(["bf16", "fp32"]),
    cache=st.sampled_from(["bf16", "fp8"]),
)
def test_a_hybrid_block_holds_a_state_and_no_smaller_one_would(
    *, key_heads: int, value_heads: int, head_dim: int, kv_heads: int, state: str, cache: str
) -> None:
    model = ModelSettings.model_validate(
        {
            **TOY.model_dump(),
            **{"linear_attention_layers": 6, "linear_key_heads": key_heads, "linear_key_head_dim": head_dim},
            **{"linear_value_heads": value_heads, "linear_value_head_dim": head_dim, "head_dim": head_dim},
            **{"attention_heads": 8, "kv_heads": kv_heads, "ssm_state_dtype": state, "kv_dtype": cache},
        }
    )
    page = model.kv_bytes_per_token_and_layer
    assert model.block_tokens() % 16 == 0
    assert model.block_tokens() * page >= model.state_bytes_per_layer
    assert (model.block_tokens() - 16) * page < model.state_bytes_per_layer
    assert model.block_bytes() == model.block_tokens() * page * model.full_attention_layers
