"""Read a model's shape from a Hugging Face `config.json`.

The language model of a multimodal configuration is its `text_config`. What the simulator has no rule for is
refused, never guessed (`sim.hardware.hf.architectures`).
"""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sim.base.errors import InputError
from sim.base.messages import first_problem
from sim.hardware.hf.architectures import architecture
from sim.hardware.hf.experts import dense_width, expert_settings
from sim.hardware.hf.layers import layer_settings, without_usual_pattern
from sim.hardware.hf.names import is_name
from sim.hardware.hf.part import ConfigPart
from sim.hardware.hf.quantization import is_quantized, quantization
from sim.hardware.model import ModelSettings

_NOT_MODELLED = {
    "index_topk": "a sparse index is cached beside the latent vectors, and its cache groups are not modelled",
    "num_kv_shared_layers": "layers that share the cache of others are not modelled",
    "cross_attention_layers": "cross-attention is not modelled",
    "moe_latent_size": "experts in a latent space are not modelled",
    "compress_ratios": "compressed caches are not modelled",
}
_NOT_GATED = ("NemotronHForCausalLM", "PhiForCausalLM")
"""Whose MLPs have two matrices."""
_VISION = (
    ("hidden_size", "vt_hidden_size"),
    ("depth", "num_hidden_layers", "vt_num_hidden_layers"),
    ("intermediate_size", "vt_intermediate_size"),
)


def from_hf_config(path: Path, hf_id: str | None = None) -> ModelSettings:
    """Return the settings of the model that `path` (a `config.json`, or a folder that holds one) describes.

    The file does not say how the KV cache is stored: it gets the model's own format, vLLM's default, unless
    the checkpoint has scales for an FP8 cache.

    Args:
        path: the file or folder.
        hf_id: the model's name on Hugging Face; unset: as the file says it, if it does.

    Raises:
        InputError: unreadable, not JSON, a key missing, or a model that the simulator has no rule for.

    """
    path = path / "config.json" if path.is_dir() else path
    config = ConfigPart.read(path)
    kind = architecture(config)
    text = config.nested("text_config") or config
    for key, what in _NOT_MODELLED.items():
        if text.values.get(key):
            raise text.refusal(key, what)
    dtype = _dtype(config, text)
    values = _plain(config, text, dtype)
    values |= {"name": path.parent.name or path.stem, "hf_id": hf_id or _own_name(config)}
    values |= layer_settings(text, kind, dtype) | expert_settings(text, kind) | _latent(text)
    if "latent" in values:
        values["head_dim"] = values["latent"]["qk_nope_head_dim"] + values["latent"]["qk_rope_head_dim"]
    formats = quantization(config, text, dtype)
    if (experts_dtype := formats.pop("experts_dtype", None)) and "experts" in values:
        values["experts"]["weights_dtype"] = experts_dtype
    values |= formats | {"gated_mlp": kind not in _NOT_GATED}
    try:
        model = ModelSettings(**values)
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from error
    return model.model_copy(update={"layer_pattern": None}) if without_usual_pattern(model) else model


def _dtype(config: ConfigPart, text: ConfigPart) -> str:
    """Return the format of what is not quantised: BF16 where a quantised checkpoint does not say."""
    named = any(part.values.get(key) for part in (text, config) for key in ("dtype", "torch_dtype"))
    return text.dtype("dtype", "torch_dtype") if named or not is_quantized(config) else "bf16"


def _plain(config: ConfigPart, text: ConfigPart, dtype: str) -> dict[str, Any]:
    heads, hidden = text.integer("num_attention_heads"), text.integer("hidden_size")
    # Gemma 4 has other heads in its full-attention layers; Llama's own rule where a head's width is absent.
    head_dim = text.integer_or("global_head_dim", text.integer_or("head_dim", max(hidden // heads, 1)))
    tied = text.values.get("tie_word_embeddings", config.values.get("tie_word_embeddings", False))
    return {
        "hidden_size": hidden,
        "intermediate_size": dense_width(text),
        "vocab_size": text.integer("vocab_size"),
        "attention_heads": heads,
        "kv_heads": text.integer_or("num_global_key_value_heads", text.integer("num_key_value_heads")),
        "head_dim": head_dim,
        "max_model_len": text.integer("max_position_embeddings"),
        "tied_embeddings": bool(tied),
        "vision_params": _vision_params(config.nested("vision_config")),
        "dtype": dtype,
        "kv_dtype": dtype,
    }


def _latent(text: ConfigPart) -> dict[str, Any]:
    if not text.values.get("kv_lora_rank"):
        return {}
    keys = ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
    return {
        "latent": {key: text.integer(key) for key in keys}
        | {"q_lora_rank": text.integer_or("q_lora_rank", 0)}
    }


def _own_name(config: ConfigPart) -> str | None:
    name = config.values.get("_name_or_path")
    return name if isinstance(name, str) and is_name(name) else None


def _vision_params(vision: ConfigPart | None) -> int:
    """Return the transformer layers of a vision tower: four attention matrices and two of the MLP each."""
    if vision is None:
        return 0
    hidden, depth, width = (vision.first(*keys) for keys in _VISION)
    return depth * (4 * hidden * hidden + 2 * hidden * width)
