"""A Hugging Face config.json becomes the same settings as the preset of the model."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.base.shipped import preset
from sim.hardware.hf_config import from_hf_config
from sim.hardware.model import ModelSettings

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
HYBRID = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "quantization_config": {"quant_method": "fp8"},
    "tie_word_embeddings": False,
    "text_config": {
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "vocab_size": 248320,
        "num_hidden_layers": 64,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "max_position_embeddings": 262144,
        "dtype": "bfloat16",
        "attn_output_gate": True,
        "full_attention_interval": 4,
        "linear_num_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_num_value_heads": 48,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
    },
    "vision_config": {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304},
}


def write(tmp_path: Path, content: Any, changes: dict[str, Any] | None = None) -> Path:
    """Write a config.json; a change with value None takes the key away, "a.b" reaches inside."""
    content = json.loads(json.dumps(content))
    for key, value in (changes or {}).items():
        *outer, last = key.split(".")
        place = content
        for name in outer:
            place = place[name]
        if value is None:
            del place[last]
        else:
            place[last] = value
    path = tmp_path / "some-model" / "config.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def sizes(model: ModelSettings) -> dict[str, Any]:
    measured = {"name", "hf_id", "weights_loaded_bytes", "peak_activation_bytes", "cuda_graphs_bytes"}
    return model.model_dump(exclude=measured)


def test_llama_equals_its_preset(tmp_path: Path) -> None:
    model = from_hf_config(write(tmp_path, LLAMA))
    assert model.name == "some-model"
    assert sizes(model) == sizes(ModelSettings.model_validate(preset("models", "llama-3.1-8b-bf16")))


def test_hybrid_equals_its_preset_up_to_what_the_file_cannot_say(tmp_path: Path) -> None:
    model = from_hf_config(write(tmp_path, HYBRID))
    shipped = ModelSettings.model_validate(preset("models", "qwen3.8-27b-fp8"))
    assert model.vision_params == 27 * (4 * 1152**2 + 2 * 1152 * 4304)
    update = {"kv_dtype": shipped.kv_dtype, "vision_params": shipped.vision_params}
    assert sizes(model.model_copy(update=update)) == sizes(shipped)
    assert model.kv_dtype == "bf16"


def test_layer_types_say_the_same_as_the_interval(tmp_path: Path) -> None:
    kinds = (["linear_attention"] * 3 + ["full_attention"]) * 16
    by_interval = from_hf_config(write(tmp_path, HYBRID))
    by_list = from_hf_config(
        write(
            tmp_path, HYBRID, {"text_config.layer_types": kinds, "text_config.full_attention_interval": None}
        )
    )
    assert by_list == by_interval


def test_full_attention_ends_each_interval(tmp_path: Path) -> None:
    model = from_hf_config(write(tmp_path, HYBRID, {"text_config.num_hidden_layers": 63}))
    assert (model.full_attention_layers, model.linear_attention_layers) == (15, 48)


def test_the_recurrent_state_has_a_format_of_its_own(tmp_path: Path) -> None:
    model = from_hf_config(write(tmp_path, HYBRID, {"text_config.mamba_ssm_dtype": "float32"}))
    assert model.ssm_state_dtype == "fp32"
    assert model.block_tokens() == 784


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": None}, r"some-model/config\.json: the key hidden_size is missing"),
        ({"num_key_value_heads": None}, "the key num_key_value_heads is missing"),
        ({"torch_dtype": None}, "the key dtype is missing"),
        ({"torch_dtype": "int8"}, 'torch_dtype = "int8": must be one of bfloat16, float16, float32'),
        ({"vocab_size": "many"}, 'vocab_size = "many": must be a whole number of 1 or more'),
        ({"num_key_value_heads": 3}, "attention_heads = 32 is not a multiple of kv_heads = 3"),
        ({"num_local_experts": 8}, "the key num_experts_per_tok is missing"),
        (
            {"num_local_experts": 8, "num_experts_per_tok": 9},
            r"experts\.per_token = 9: there are 8 to choose from",
        ),
        ({"kv_lora_rank": 512}, "the key qk_rope_head_dim is missing"),
        ({"index_topk": 2048}, "index_topk = 2048: a sparse index is cached beside the latent vectors"),
        ({"num_kv_shared_layers": 15}, "layers that share the cache of others are not modelled"),
        (
            {"architectures": ["DeepseekV32ForCausalLM"]},
            "DeepseekV32ForCausalLM is not modelled: a sparse index",
        ),
        (
            {"architectures": ["LlamaForCausalLN"]},
            "no rule for the architecture 'LlamaForCausalLN'; did you mean",
        ),
        ({"layer_types": ["full_attention"] * 31}, "has 31 entries for num_hidden_layers = 32"),
        ({"layer_types": ["sliding_attention"] * 32}, "the key sliding_window is missing"),
        (
            {"layer_types": ["recurrent"] * 32},
            "'recurrent' is not modelled; allowed: full_attention, sliding_",
        ),
        (
            {"quantization_config": {"quant_method": "awq", "bits": 8}},
            "awq of 8 bits is not modelled; allowed: fp8",
        ),
        (
            {"quantization_config": {"quant_method": "bitsandbytes"}},
            "'bitsandbytes' is not modelled; allowed: fp8",
        ),
    ],
)
def test_plain_configurations_that_cannot_be_used(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        from_hf_config(write(tmp_path, LLAMA, changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text_config.linear_num_value_heads": None}, r"text_config\.linear_num_value_heads is missing"),
        ({"text_config.linear_conv_kernel_dim": None}, r"text_config\.linear_conv_kernel_dim is missing"),
        ({"vision_config.depth": None}, r"vision_config\.depth is missing"),
        ({"text_config.full_attention_interval": 2}, "at least 1.5 times"),
    ],
)
def test_hybrid_configurations_that_cannot_be_used(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        from_hf_config(write(tmp_path, HYBRID, changes))


def test_an_inactive_sliding_window_is_no_window(tmp_path: Path) -> None:
    changes = {"sliding_window": 4096, "use_sliding_window": False}
    assert from_hf_config(write(tmp_path, LLAMA, changes)).full_attention_layers == 32


def test_files_that_are_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: No such file"):
        from_hf_config(tmp_path / "none.json")
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(InputError, match=r"a\.json: not a JSON file: .*line 1"):
        from_hf_config(tmp_path / "a.json")
    (tmp_path / "b.json").write_text("[]")
    with pytest.raises(InputError, match="must hold a JSON object, this is a list"):
        from_hf_config(tmp_path / "b.json")
