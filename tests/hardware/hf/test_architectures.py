"""Architectures as their publishers describe them: what is read, what is refused, and in which words."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.hardware.attention import LatentAttention, Mamba2, WindowedAttention
from sim.hardware.cache_groups import cache_groups
from sim.hardware.experts import Experts
from sim.hardware.hf.architectures import NOT_READ, READ
from sim.hardware.hf_config import from_hf_config
from sim.hardware.model import ModelSettings

PLAIN = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 32000,
    "num_hidden_layers": 12,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
}


def read(tmp_path: Path, architecture: str, **changes: Any) -> ModelSettings:
    content = {"architectures": [architecture], **PLAIN, **changes}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))
    return from_hf_config(path)


@pytest.mark.parametrize(
    "name", ["LlamaForCausalLM", "Qwen3ForCausalLM", "Glm4ForCausalLM", "Phi3ForCausalLM"]
)
def test_plain_models(tmp_path: Path, name: str) -> None:
    model = read(tmp_path, name)
    assert (model.full_attention_layers, model.head_dim, model.gated_mlp) == (12, 128, True)
    assert model.experts is model.windows is model.latent is model.mamba is None


def test_phi_has_two_matrices(tmp_path: Path) -> None:
    assert not read(tmp_path, "PhiForCausalLM").gated_mlp


def test_mistral_reads_a_window_everywhere(tmp_path: Path) -> None:
    model = read(tmp_path, "MistralForCausalLM", sliding_window=4096)
    assert model.windows == WindowedAttention(layers=12, tokens=4096)
    assert model.full_attention_layers == 0


def test_qwen_has_full_attention_in_its_first_layers(tmp_path: Path) -> None:
    window = {"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 4}
    model = read(tmp_path, "Qwen2ForCausalLM", **window)
    assert (model.full_attention_layers, model.layer_pattern) == (4, "FFFF" + "W" * 8)
    assert [spec.kind for spec in cache_groups(model)] == ["full", "sliding_window", "sliding_window"]


@pytest.mark.parametrize(("name", "full"), [("Gemma2ForCausalLM", 6), ("Gemma3ForCausalLM", 2)])
def test_gemma_alternates(tmp_path: Path, name: str, full: int) -> None:
    model = read(tmp_path, name, sliding_window=512)
    assert (model.full_attention_layers, model.layer_pattern) == (full, None)
    assert model.windows == WindowedAttention(layers=12 - full, tokens=512)


def test_gemma_4_has_other_heads_in_its_windows(tmp_path: Path) -> None:
    model = read(
        tmp_path,
        "Gemma4ForConditionalGeneration",
        text_config={
            **PLAIN,
            "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 2,
            "sliding_window": 1024,
            "head_dim": 256,
            "global_head_dim": 512,
            "num_global_key_value_heads": 2,
            "num_experts": 16,
            "top_k_experts": 2,
            "moe_intermediate_size": 704,
        },
    )
    assert (model.kv_heads, model.head_dim) == (2, 512)
    assert model.windows == WindowedAttention(layers=10, tokens=1024, kv_heads=8, head_dim=256)
    # Each layer has a plain MLP beside its experts.
    assert model.experts == Experts(
        routed=16, per_token=2, intermediate_size=704, shared_intermediate_size=14336
    )


def test_mixtral_has_experts_as_wide_as_an_mlp(tmp_path: Path) -> None:
    model = read(
        tmp_path, "MixtralForCausalLM", num_local_experts=8, num_experts_per_tok=2, sliding_window=None
    )
    assert model.experts == Experts(routed=8, per_token=2, intermediate_size=14336)


def test_qwen_moe(tmp_path: Path) -> None:
    experts = {"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408}
    steps = {"shared_expert_intermediate_size": 5632, "decoder_sparse_step": 2, "mlp_only_layers": [0, 1]}
    model = read(tmp_path, "Qwen2MoeForCausalLM", **experts, **steps)
    assert model.experts == Experts(
        **{"routed": 60, "per_token": 4, "intermediate_size": 1408, "shared_intermediate_size": 5632},
        **{"first_dense_layers": 2, "every": 2},
    )
    with pytest.raises(InputError, match=r"mlp_only_layers = \[3\]: only the first layers may be without"):
        read(tmp_path, "Qwen2MoeForCausalLM", **experts, mlp_only_layers=[3])


def test_gpt_oss(tmp_path: Path) -> None:
    model = read(
        tmp_path,
        "GptOssForCausalLM",
        layer_types=["sliding_attention", "full_attention"] * 6,
        sliding_window=128,
        num_local_experts=32,
        num_experts_per_tok=4,
        torch_dtype=None,
        quantization_config={"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]},
    )
    assert model.windows == WindowedAttention(layers=6, tokens=128)
    assert model.experts is not None
    assert (model.experts.weights_dtype, model.weights_dtype, model.dtype) == ("mxfp4", "bf16", "bf16")


def test_deepseek(tmp_path: Path) -> None:
    latent = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
    experts = {"n_routed_experts": 64, "num_experts_per_tok": 6, "moe_intermediate_size": 1408}
    model = read(
        tmp_path,
        "DeepseekV2ForCausalLM",
        **latent,
        **experts,
        q_lora_rank=None,
        n_shared_experts=2,
        first_k_dense_replace=1,
        moe_layer_freq=1,
    )
    assert model.latent == LatentAttention(**latent)
    assert model.head_dim == 192
    assert model.experts == Experts(
        **{"routed": 64, "per_token": 6, "intermediate_size": 1408, "shared_intermediate_size": 2816},
        first_dense_layers=1,
    )
    assert model.mtp_layers == 0


def test_llama_4_reads_chunks_in_three_of_four_layers(tmp_path: Path) -> None:
    text = {
        **PLAIN,
        **{"attention_chunk_size": 8192, "num_local_experts": 16, "num_experts_per_tok": 1},
        **{"intermediate_size": 8192, "intermediate_size_mlp": 16384, "interleave_moe_layer_step": 2},
    }
    model = read(tmp_path, "Llama4ForConditionalGeneration", text_config=text)
    assert model.windows == WindowedAttention(layers=9, tokens=8192, kind="chunked_local")
    assert model.intermediate_size == 16384
    assert model.experts == Experts(
        routed=16, per_token=1, intermediate_size=8192, shared_intermediate_size=8192, every=2
    )
    listed = read(
        tmp_path, "Llama4ForConditionalGeneration", text_config=text | {"no_rope_layers": [1, 1, 1, 0] * 3}
    )
    assert listed == model


def test_nemotron_has_layers_of_one_part(tmp_path: Path) -> None:
    mamba = {
        "mamba_num_heads": 64,
        "mamba_head_dim": 64,
        "ssm_state_size": 128,
        "n_groups": 8,
        "conv_kernel": 4,
    }
    experts = {"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 1856}
    shared = {"n_shared_experts": 1, "moe_shared_expert_intermediate_size": 3712}
    keys = {**mamba, **experts, **shared, "mamba_ssm_cache_dtype": "float32"}
    model = read(tmp_path, "NemotronHForCausalLM", hybrid_override_pattern="MEM-*EMEM", **keys)
    assert model.layer_pattern == "MEM-FEMEM"
    assert model.mamba == Mamba2(layers=4, heads=64, head_dim=64, state_size=128, groups=8)
    assert (model.ssm_state_dtype, model.gated_mlp) == ("fp32", False)
    assert model.experts is not None
    assert model.experts.shared_intermediate_size == 3712
    names = ["mamba", "moe", "mamba", "mlp", "attention", "moe", "mamba", "moe", "mamba"]
    assert read(tmp_path, "NemotronHForCausalLM", layers_block_type=names, **keys) == model


@pytest.mark.parametrize("name", sorted(NOT_READ))
def test_what_is_not_modelled_says_why_and_what_to_do(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is not modelled: .*; write a table") as caught:
        read(tmp_path, name)
    assert "\n" not in str(caught.value)
    assert name not in READ


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"architectures": ["GptOsForCausalLM"]},
            "the architecture 'GptOsForCausalLM'; did you mean 'GptOss",
        ),
        ({"architectures": "Llama"}, "must be a list of names"),
        ({"hybrid_override_pattern": "MX"}, r"must be a string of M \* - E"),
        ({"layers_block_type": ["rnn"]}, "must be a list of mamba, attention, mlp, moe"),
        ({"attention_chunk_size": 64, "no_rope_layers": [1]}, "must be a list of 12 numbers"),
        ({"moe_latent_size": 1024}, "experts in a latent space are not modelled"),
    ],
)
def test_keys_that_cannot_be_used(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, "LlamaForCausalLM", **changes)


def test_lists_that_are_none_are_refused(tmp_path: Path) -> None:
    experts = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
    with pytest.raises(InputError, match="mlp_only_layers = 3: only the first layers may be without experts"):
        read(tmp_path, "Qwen3MoeForCausalLM", **experts, mlp_only_layers=3)
