"""Number formats as checkpoints of several tools say them."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.hardware.hf_config import from_hf_config
from sim.hardware.model import ModelSettings
from tests.hardware.hf.test_architectures import PLAIN

EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64}


def read(tmp_path: Path, quantization: dict[str, Any] | None, **changes: Any) -> ModelSettings:
    content = {**PLAIN, **changes}
    if quantization is not None:
        content["quantization_config"] = quantization
    path = tmp_path / "config.json"
    path.write_text(json.dumps(content))
    return from_hf_config(path)


def group(**weights: Any) -> dict[str, Any]:
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}


@pytest.mark.parametrize(
    ("quantization", "dtype"),
    [
        (None, "bf16"),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_block"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 4}, "int4"),
        (group(num_bits=8, type="float", strategy="channel"), "fp8"),
        (group(num_bits=8, type="float", strategy="block"), "fp8_block"),
        (group(num_bits=4, type="int", strategy="group"), "int4"),
        (group(num_bits=4, type="float", group_size=16), "nvfp4"),
        (group(num_bits=4, type="float", group_size=32), "mxfp4"),
    ],
)
def test_formats(tmp_path: Path, quantization: dict[str, Any] | None, dtype: str) -> None:
    model = read(tmp_path, quantization)
    assert (model.weights_dtype, model.dtype, model.kv_dtype) == (dtype, "bf16", "bf16")


@pytest.mark.parametrize(
    "extra", [{"kv_cache_quant_algo": "FP8"}, {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}]
)
def test_a_checkpoint_may_have_scales_for_the_cache(tmp_path: Path, extra: dict[str, Any]) -> None:
    assert read(tmp_path, {"quant_algo": "FP8", **extra}).kv_dtype == "fp8"


def test_attention_that_is_left_out_keeps_its_format(tmp_path: Path) -> None:
    model = read(tmp_path, {"quant_algo": "NVFP4", "ignore": ["*self_attn*"]})
    assert (model.weights_dtype, model.attention_weights_dtype) == ("nvfp4", "bf16")
    one_layer = read(tmp_path, {"quant_algo": "NVFP4", "ignore": ["model.layers.0.self_attn.q_proj"]})
    assert one_layer.attention_weights_dtype is None


def test_experts_alone_may_be_quantised(tmp_path: Path) -> None:
    model = read(
        tmp_path, {"quant_algo": "NVFP4", "ignore": ["re:.*self_attn.*", "re:.*shared_experts.*"]}, **EXPERTS
    )
    assert model.experts is not None
    assert (model.weights_dtype, model.experts.weights_dtype) == ("bf16", "nvfp4")


def test_mixed_formats(tmp_path: Path) -> None:
    layers = {
        "model.layers.0.mlp.experts.0.up_proj": {"quant_algo": "NVFP4"},
        "model.layers.0.mlp.shared.up_proj": {"quant_algo": "FP8"},
        "model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
    }
    model = read(tmp_path, {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}, **EXPERTS)
    assert model.experts is not None
    assert (model.weights_dtype, model.attention_weights_dtype) == ("fp8", "fp8")
    assert model.experts.weights_dtype == "nvfp4"


def test_modelopts_file_beside_the_configuration_counts(tmp_path: Path) -> None:
    beside = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(beside))
    model = read(tmp_path, None)
    assert (model.weights_dtype, model.kv_dtype) == ("fp8", "fp8")


@pytest.mark.parametrize(
    ("quantization", "what"),
    [
        ({"quant_method": "bitsandbytes"}, "'bitsandbytes'"),
        ({"quant_method": "gptq", "bits": 8}, "gptq of 8 bits"),
        ({"quant_algo": "W4A8_AWQ"}, "modelopt's W4A8_AWQ"),
        (group(num_bits=8, type="int"), r'compressed-tensors of \[8, "int"\]'),
        ({"quant_method": "compressed-tensors"}, "compressed-tensors without config_groups"),
        ({"quant_algo": "MIXED_PRECISION"}, "MIXED_PRECISION without quantized_layers"),
        (
            {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"a": {"quant_algo": "INT3"}}},
            "modelopt's INT3",
        ),
    ],
)
def test_other_formats_are_refused_with_those_that_are_not(
    tmp_path: Path, quantization: dict[str, Any], what: str
) -> None:
    with pytest.raises(InputError, match=f"quantization_config = .*{what} is not modelled; allowed: fp8,"):
        read(tmp_path, quantization)
