"""How a scenario names a model and a GPU."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from sim.base.settings import Settings
from sim.base.shipped import preset
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.presets import GpuChoice, ModelChoice


class Choices(Settings):
    model: ModelChoice
    gpu: GpuChoice = GpuSettings.model_validate(preset("gpus", "h100-80gb"))


def test_a_name_is_the_whole_preset() -> None:
    chosen = Choices.model_validate({"model": "qwen3.8-27b-fp8", "gpu": "h100-80gb"})
    assert chosen.model == ModelSettings.model_validate(preset("models", "qwen3.8-27b-fp8"))
    assert chosen.gpu == Choices.model_fields["gpu"].default


@pytest.mark.parametrize(("short", "name"), [("h200", "h200-141gb"), ("h100", "h100-80gb"), ("b200", "b200")])
def test_a_gpu_of_one_size_needs_none(short: str, name: str) -> None:
    chosen = Choices.model_validate({"model": "qwen3-14b-bf16", "gpu": short})
    assert chosen.gpu == GpuSettings.model_validate(preset("gpus", name))
    with pytest.raises(ValidationError, match="there are a100-40gb and a100-80gb; give one of them"):
        Choices.model_validate({"model": "qwen3-14b-bf16", "gpu": "a100"})


def test_any_field_of_a_preset_can_be_changed_also_inside_a_table() -> None:
    chosen = Choices.model_validate(
        {
            "model": {"preset": "qwen3.8-27b-fp8", "kv_dtype": "bf16", "max_model_len": "1M"},
            "gpu": {"preset": "h100-80gb", "memory_bytes": "141GB", "achieved": {"fp8_dense": 0.5}},
        }
    )
    assert chosen.model.kv_dtype == "bf16"
    assert chosen.model.max_model_len == 1_000_000
    assert chosen.model.weights_dtype == "fp8"
    assert chosen.gpu.memory_bytes == 141 * 10**9
    assert chosen.gpu.achieved.fp8_dense == 0.5
    assert chosen.gpu.achieved.bf16_dense == 0.63


def test_a_configuration_file_with_changes(tmp_path: Path) -> None:
    path = tmp_path / "tiny" / "config.json"
    path.parent.mkdir()
    keys = ("hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers", "num_attention_heads")
    content = dict.fromkeys((*keys, "num_key_value_heads", "max_position_embeddings"), 64)
    path.write_text(json.dumps({**content, "dtype": "bfloat16"}))
    assert Choices.model_validate({"model": str(path)}).model.name == "tiny"
    chosen = Choices.model_validate({"model": {"config": str(path), "kv_dtype": "fp8"}})
    assert (chosen.model.kv_dtype, chosen.model.full_attention_layers) == ("fp8", 64)


def test_what_is_written_out_reads_back_the_same() -> None:
    chosen = Choices.model_validate({"model": {"preset": "qwen3-14b-bf16", "kv_dtype": "fp8"}})
    assert Choices.model_validate_json(chosen.model_dump_json()) == chosen


@pytest.mark.parametrize(
    ("model", "place", "message"),
    [
        ("qwen3.8-27b", ("model",), "did you mean 'qwen3.8-27b-fp8'"),
        ({"preset": "nothing"}, ("model",), "no model is called 'nothing'"),
        ({"preset": "qwen3-14b-bf16", "config": "a.json"}, ("model",), "give one of them"),
        ({"preset": "qwen3-14b-bf16", "kv_dtyp": "fp8"}, ("model", "kv_dtyp"), "Extra inputs"),
        ({"preset": "qwen3-14b-bf16", "kv_dtype": "int4"}, ("model", "kv_dtype"), "'fp8', 'bf16' or 'fp16'"),
        ({"name": "own"}, ("model", "hidden_size"), "Field required"),
        ("none.json", ("model",), "none.json: No such file"),
        (8, ("model",), "valid dictionary"),
    ],
)
def test_choices_that_cannot_be_used(model: object, place: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Choices.model_validate({"model": model})
    first = caught.value.errors()[0]
    assert first["loc"] == place
    assert message in first["msg"]


def test_json_schema_takes_a_name_or_a_table_with_nothing_required() -> None:
    schema = Choices.model_json_schema()
    assert schema["properties"]["model"]["anyOf"] == [{"type": "string"}, {"$ref": "#/$defs/ModelTable"}]
    table = schema["$defs"]["ModelTable"]
    assert "required" not in table
    assert {"preset", "config", "kv_dtype"} <= set(table["properties"])
    assert "config" not in schema["$defs"]["GpuTable"]["properties"]
