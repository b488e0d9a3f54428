"""How AIConfigurator is asked: models, GPUs, formats and sizes in its own words."""

import json
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.base.shipped import preset
from sim.hardware.aic.asked import asked, asked_by_name
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.parallel import ONE_GPU, Parallel

LLAMA8 = ModelSettings.model_validate(preset("models", "llama-3.1-8b-bf16"))
QWEN27 = ModelSettings.model_validate(preset("models", "qwen3.8-27b-fp8"))
H100 = GpuSettings.model_validate(preset("gpus", "h100-80gb"))


def test_a_dense_model_is_asked_for_by_its_shape() -> None:
    found = asked(LLAMA8, H100, Parallel(tensor=2))
    config = json.loads(found.model)
    assert (config["hidden_size"], config["num_hidden_layers"], config["head_dim"]) == (4096, 32, 128)
    assert (config["num_attention_heads"], config["num_key_value_heads"]) == (32, 8)
    assert found.system == "h100_sxm"
    assert found.options == {
        "tp_size": 2,
        "pp_size": 1,
        "gemm_quant_mode": "bfloat16",
        "kvcache_quant_mode": "bfloat16",
    }
    assert found.formats == {"weights": "bfloat16", "kv": "bfloat16"}


def test_qwen3_normalises_queries_and_keys() -> None:
    qwen14 = ModelSettings.model_validate(preset("models", "qwen3-14b-bf16"))
    for model, architecture in ((LLAMA8, "LlamaForCausalLM"), (qwen14, "Qwen3ForCausalLM")):
        assert json.loads(asked(model, H100, ONE_GPU).model)["architectures"] == [architecture]


def test_a_hybrid_model_is_asked_for_by_name() -> None:
    found = asked(QWEN27, H100, ONE_GPU)
    assert found.model == "Qwen/Qwen3.5-27B"
    assert found.formats == {"weights": "fp8", "kv": "fp8"}


def test_experts_lie_over_all_ranks() -> None:
    cut, whole = (
        asked_by_name("Qwen/Qwen3-30B-A3B", "h200-141gb", Parallel(2, 1, 4, expert), {"moe": "fp8"})
        for expert in (False, True)
    )
    assert cut.options == {
        "tp_size": 2,
        "pp_size": 1,
        "attention_dp_size": 4,
        "moe_tp_size": 8,
        "moe_ep_size": 1,
        "moe_quant_mode": "fp8",
    }
    assert (whole.options["moe_tp_size"], whole.options["moe_ep_size"]) == (1, 8)


def test_a_config_is_asked_for_by_its_text(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"architectures": ["LlamaForCausalLM"]}')
    assert asked_by_name(str(path), "b200", ONE_GPU, {}).model == path.read_text()


def test_what_cannot_be_asked_for_is_refused_in_a_line() -> None:
    with pytest.raises(InputError, match=r"no tables of rtx-9 .*leave timing\.preset out"):
        asked(LLAMA8, H100.model_copy(update={"name": "rtx-9"}), ONE_GPU)
    with pytest.raises(InputError, match=r"cannot be asked for mine: .* no model\.hf_id"):
        asked(QWEN27.model_copy(update={"name": "mine"}), H100, ONE_GPU)
