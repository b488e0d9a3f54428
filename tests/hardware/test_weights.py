"""Parameters and bytes of models that have more than plain layers, against the counts of their publishers."""

import pytest

from tests.hardware.models import shipped, toy

EXPERTS = {"routed": 4, "per_token": 2, "intermediate_size": 8, "shared_intermediate_size": 6}


@pytest.mark.parametrize(
    ("name", "billions", "active", "embeddings"),
    [
        ("llama-3.1-70b-bf16", 70.55, 70.55, 2),
        ("qwen3-30b-a3b-bf16", 30.53, 3.35, 2),
        ("qwen3-235b-a22b-fp8", 235.1, 22.2, 2),
        ("gpt-oss-20b", 20.91, 3.61, 1),
        ("gpt-oss-120b", 116.83, 5.13, 1),
        ("mixtral-8x7b-bf16", 46.70, 12.88, 2),
    ],
)
def test_public_counts(name: str, billions: float, active: float, embeddings: int) -> None:
    """Of all parameters, and of those that a token goes through with the embeddings that are counted."""
    model = shipped(name)
    assert sum(part.params for part in model.weight_parts()) / 1e9 == pytest.approx(billions, rel=0.001)
    counted = embeddings * model.vocab_size * model.hidden_size
    look = 0 if model.windows is None else 4 * model.windows.layers * 64 * 64 * 128
    assert ((model.flop_per_token - look) / 2 + counted) / 1e9 == pytest.approx(active, rel=0.005)


def test_deepseek_v3_has_671_billion_and_copies_of_a_few() -> None:
    parts = {part.label: part for part in shipped("deepseek-v3").weight_parts()}
    copies = parts.pop("latent attention, for decoding")
    assert sum(part.params for part in parts.values()) / 1e9 == pytest.approx(671.0, abs=0.1)
    assert (copies.params, copies.bytes_per_param) == (512 * 128 * 256 * 61, 2)


def test_experts_by_hand() -> None:
    model = toy(experts=EXPERTS | {"first_dense_layers": 1, "weights_dtype": "mxfp4"})
    found = {part.label: (part.params, part.n_bytes) for part in model.weight_parts()}
    assert found["MLP"] == (3 * 8 * 16, 2 * 384)
    assert found["experts"] == (4 * 3 * 8 * 8, 768 * 17 // 32)
    assert found["shared experts"] == (3 * 8 * 6, 2 * 144)
    assert found["router"] == (4 * 8, 2 * 32)
    attention = 8 * 4 * (4 * 2 + 2 * 2) * 2
    assert model.flop_per_token == 2 * (384 + 2 * 3 * 8 * 8 + 144 + 32 + attention)
    active = 2 * 384 + 384 * 17 // 32 + 2 * (144 + 32 + attention) + 2 * 800
    assert model.token_weights_bytes == active
    assert model.step_weights_bytes == active + 384 * 17 // 32


def test_latent_attention_by_hand() -> None:
    latent = {"kv_lora_rank": 6, "qk_rope_head_dim": 2, "qk_nope_head_dim": 3, "v_head_dim": 5}
    plain = toy(latent=latent)
    pressed = toy(latent=latent | {"q_lora_rank": 7})
    rest = 8 * 8 + 6 * 4 * 8 + 4 * 5 * 8
    assert plain.weight_parts()[1].params == 2 * (8 * 4 * 5 + rest)
    assert pressed.weight_parts()[1].params == 2 * (7 * 8 + 7 * 4 * 5 + rest)
    assert plain.kv_bytes_per_token == 2 * (6 + 2) * 2
    assert plain.attention_flop_per_pair == 2 * 2 * 4 * (5 + 5)


def test_windows_and_mamba_by_hand() -> None:
    windowed = toy(windows={"layers": 3, "tokens": 10, "kv_heads": 1, "head_dim": 2})
    assert windowed.weight_parts()[2].params == 8 * 2 * (4 * 2 + 1 * 2) * 3
    assert windowed.kv_bytes_per_token == toy().kv_bytes_per_token
    mlp = 2 * 3 * 8 * 16 * 3
    assert windowed.flop_per_token == toy().flop_per_token + mlp + 2 * 480 + 4 * 3 * 4 * 2 * 10
    mamba = {"layers": 3, "heads": 4, "head_dim": 6, "state_size": 5, "groups": 2, "conv_kernel": 4}
    model = toy(mamba=mamba, ssm_state_dtype="fp32")
    # 24 channels, a gate for each, two matrices of 2 x 5, a step a head; out 24.
    assert model.weight_parts()[2].params == 8 * (24 + 24 + 2 * 10 + 4 + 24) * 3
    assert model.state_bytes_per_layer == 3 * (24 + 20) * 2 + 24 * 5 * 4
    assert model.state_bytes_per_sequence == 3 * model.state_bytes_per_layer


@pytest.mark.parametrize(
    ("dtype", "n_bytes"),
    [("fp8", 32_768), ("fp8_block", 32_776), ("mxfp4", 17_408), ("nvfp4", 18_432), ("int4", 16_896)],
)
def test_scales_count(dtype: str, n_bytes: int) -> None:
    model = toy(hidden_size=128, intermediate_size=128, weights_dtype=dtype)
    assert model.weight_parts()[0].params == 98_304
    assert model.weight_parts()[0].n_bytes == 3 * n_bytes


def test_attention_may_have_another_format() -> None:
    model = toy(weights_dtype="nvfp4", attention_weights_dtype="bf16")
    assert [part.bytes_per_param for part in model.weight_parts()] == [0.5625, 2, 2]


def test_two_matrices_without_a_gate() -> None:
    assert toy(gated_mlp=False).weight_parts()[0].params == 2 * 8 * 16 * 2
