"""Read a model's shape from a Hugging Face `config.json`.

Keys are those of Llama, Qwen3, Qwen3-Next and Qwen3.5; the language model of a multimodal configuration is
its `text_config`. What the simulator has no rule for (experts, sliding windows, latent attention, other
quantisations) is refused, never guessed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sim.base.bounds import MOST
from sim.base.errors import InputError
from sim.base.messages import first_problem
from sim.base.reading import MOST_TEXT_BYTES, json_file
from sim.hardware.model import ModelSettings

MOST_LAYERS = 10_000
_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_NOT_MODELLED = {
    "num_experts": "mixture-of-experts layers",
    "num_local_experts": "mixture-of-experts layers",
    "n_routed_experts": "mixture-of-experts layers",
    "kv_lora_rank": "latent attention",
    "hybrid_override_pattern": "Mamba-2 layers",
    "mamba_num_heads": "Mamba-2 layers",
}


def from_hf_config(path: Path) -> ModelSettings:
    """Return the settings of the model that `path` (a `config.json`) describes.

    The file does not say how the KV cache is stored: it gets the model's own format, vLLM's default.

    Raises:
        InputError: unreadable, not JSON, a key missing, or a model that the simulator has no rule for.

    """
    config = _Config.read(path)
    text = config.nested("text_config") or config
    for key, what in _NOT_MODELLED.items():
        if text.values.get(key):
            raise text.refusal(key, f"{what} are not modelled")
    if text.values.get("sliding_window") and text.values.get("use_sliding_window", True):
        raise text.refusal("sliding_window", "sliding-window attention is not modelled; null is allowed")
    dtype = text.dtype("dtype", "torch_dtype")
    values: dict[str, Any] = {
        "name": path.parent.name or path.stem,
        "hidden_size": text.integer("hidden_size"),
        "intermediate_size": text.integer("intermediate_size"),
        "vocab_size": text.integer("vocab_size"),
        "attention_heads": text.integer("num_attention_heads"),
        "kv_heads": text.integer("num_key_value_heads"),
        "max_model_len": text.integer("max_position_embeddings"),
        "tied_embeddings": bool(
            text.values.get("tie_word_embeddings", config.values.get("tie_word_embeddings", False))
        ),
        "vision_params": _vision_params(config.nested("vision_config")),
        "weights_dtype": _weights_dtype(config, dtype),
        "dtype": dtype,
        "kv_dtype": dtype,
    }
    # Llama's own rule where the key is absent.
    values["head_dim"] = (
        text.integer("head_dim")
        if text.values.get("head_dim")
        else values["hidden_size"] // values["attention_heads"]
    )
    values.update(_layer_settings(text, dtype))
    try:
        return ModelSettings(**values)
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from error


@dataclass(frozen=True, slots=True)
class _Config:
    """An object of the file, with its place in it for messages."""

    path: Path
    prefix: str
    values: Mapping[str, Any]
    outer: Mapping[str, Any]
    """The whole file: where newer files keep `dtype` and `quantization_config`."""

    @classmethod
    def read(cls, path: Path) -> "_Config":
        values = json_file(path, MOST_TEXT_BYTES)
        return cls(path, "", values, values)

    def nested(self, key: str) -> "_Config | None":
        values = self.values.get(key)
        return _Config(self.path, f"{key}.", values, self.outer) if isinstance(values, dict) else None

    def refusal(self, key: str, why: str) -> InputError:
        value = json.dumps(self.values.get(key, self.outer.get(key)))
        return InputError(f"{self.path}: {self.prefix}{key} = {value[:80]}: {why}")

    def integer(self, key: str, most: int = MOST) -> int:
        if key not in self.values:
            raise InputError(f"{self.path}: the key {self.prefix}{key} is missing")
        value = self.values[key]
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise self.refusal(key, f"must be a whole number of 1 or more, at most {most:,}")
        return value

    def dtype(self, *keys: str) -> str:
        """Return the number format under the first of `keys` that is set, here or in the whole file."""
        for values in (self.values, self.outer):
            for key in keys:
                if values.get(key) is not None:
                    name = str(values[key])
                    if name not in _DTYPES:
                        raise self.refusal(key, f"must be one of {', '.join(_DTYPES)}")
                    return _DTYPES[name]
        raise InputError(f"{self.path}: the key {self.prefix}{keys[0]} is missing")


def _weights_dtype(config: _Config, dtype: str) -> str:
    quantization = config.values.get("quantization_config")
    if quantization is None:
        return dtype
    method = quantization.get("quant_method") if isinstance(quantization, dict) else None
    if method != "fp8":
        raise config.refusal("quantization_config", 'only quant_method "fp8" is modelled')
    return "fp8"


def _layer_settings(text: _Config, dtype: str) -> dict[str, Any]:
    """Return how many layers are of which kind, and the shape of the linear-attention ones."""
    layers = text.integer("num_hidden_layers", MOST_LAYERS)
    kinds = text.values.get("layer_types")
    if kinds is None:
        interval = text.integer("full_attention_interval") if "full_attention_interval" in text.values else 1
        kinds = [
            "full_attention" if i % interval == interval - 1 else "linear_attention" for i in range(layers)
        ]
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise text.refusal("layer_types", "must be a list of names")
    if len(kinds) != layers:
        raise text.refusal("layer_types", f"has {len(kinds)} entries for num_hidden_layers = {layers}")
    unknown = set(kinds) - {"full_attention", "linear_attention"}
    if unknown:
        raise text.refusal(
            "layer_types", f"{min(unknown)!r} is not modelled; allowed: full_attention, linear_attention"
        )
    linear = kinds.count("linear_attention")
    if not linear:
        return {"full_attention_layers": layers}
    return {
        "full_attention_layers": layers - linear,
        "linear_attention_layers": linear,
        "linear_key_heads": text.integer("linear_num_key_heads"),
        "linear_key_head_dim": text.integer("linear_key_head_dim"),
        "linear_value_heads": text.integer("linear_num_value_heads"),
        "linear_value_head_dim": text.integer("linear_value_head_dim"),
        "linear_conv_kernel": text.integer("linear_conv_kernel_dim"),
        # Qwen3-Next always gates its attention output and has no key for it.
        "attention_output_gate": bool(text.values.get("attn_output_gate", True)),
        "ssm_state_dtype": text.dtype("mamba_ssm_dtype") if "mamba_ssm_dtype" in text.values else dtype,
    }


def _vision_params(vision: _Config | None) -> int:
    """Return the transformer layers of a vision tower: four attention matrices and two of the MLP each."""
    if vision is None:
        return 0
    hidden, depth = vision.integer("hidden_size"), vision.integer("depth")
    return depth * (4 * hidden * hidden + 2 * hidden * vision.integer("intermediate_size"))
