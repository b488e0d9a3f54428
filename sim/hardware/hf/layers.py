"""How many layers are of which kind, and in which order."""

from typing import Any

from sim.hardware.attention import WindowKind
from sim.hardware.hf.part import ConfigPart
from sim.hardware.layers import layers_of
from sim.hardware.shape import ModelShape

MOST_LAYERS = 10_000
_LETTERS = {
    "full_attention": "F",
    "sliding_attention": "W",
    "chunked_attention": "W",
    "linear_attention": "L",
}
_NEMOTRON = {"M": "M", "*": "F", "-": "-", "E": "E"}
_NEMOTRON_NAMES = {"mamba": "M", "attention": "F", "mlp": "-", "moe": "E"}
_PATTERNS = {"Gemma2ForCausalLM": 2, "Gemma3ForCausalLM": 6, "Gemma3ForConditionalGeneration": 6}
"""Layers from one full-attention layer to the next where the file does not say."""
_LLAMA_4_INTERVAL = 4
"""Every so manieth layer of Llama 4 has full attention, the others read a chunk."""


def layer_settings(text: ConfigPart, architecture: str | None, dtype: str) -> dict[str, Any]:
    """Return how many layers are of which kind, and the shape of those beside full attention."""
    letters = _letters(text, architecture)
    found: dict[str, Any] = {"full_attention_layers": letters.count("F"), "layer_pattern": "".join(letters)}
    if windowed := letters.count("W"):
        found |= {"windows": _windows(text, windowed)}
    if linear := letters.count("L"):
        found |= _linear(text, linear, dtype)
    if mamba := letters.count("M"):
        found |= {
            "mamba": {
                "layers": mamba,
                "heads": text.integer("mamba_num_heads"),
                "head_dim": text.integer("mamba_head_dim"),
                "state_size": text.integer("ssm_state_size"),
                "groups": text.integer("n_groups"),
                "conv_kernel": text.integer("conv_kernel"),
            },
            "ssm_state_dtype": _state_dtype(text, "mamba_ssm_cache_dtype", dtype),
        }
    return found


def without_usual_pattern(model: ModelShape) -> bool:
    """Whether the order of the layers is what it would be if nothing were said of it."""
    return layers_of(model.model_copy(update={"layer_pattern": None})) == layers_of(model)


def _letters(text: ConfigPart, architecture: str | None) -> list[str]:
    """Return one letter a layer, by the first key that says anything of their order."""
    if text.values.get("hybrid_override_pattern"):
        return _nemotron(text)
    if "layers_block_type" in text.values:
        return _named(text)
    layers = text.integer("num_hidden_layers", MOST_LAYERS)
    kinds = text.values.get("layer_types")
    return _listed(text, kinds, layers) if kinds is not None else _regular(text, architecture, layers)


def _regular(text: ConfigPart, architecture: str | None, layers: int) -> list[str]:
    if "full_attention_interval" in text.values:
        return _every(layers, text.integer("full_attention_interval"), "L")
    if text.values.get("attention_chunk_size"):
        return _llama_4(text, layers)
    if not text.values.get("sliding_window") or not text.values.get("use_sliding_window", True):
        return ["F"] * layers
    if pattern := text.integer_or("sliding_window_pattern", _PATTERNS.get(architecture or "", 0)):
        return _every(layers, pattern, "W")
    # Qwen: the first layers have full attention.
    full = min(text.integer_or("max_window_layers", 0), layers)
    return ["F"] * full + ["W"] * (layers - full)


def _every(layers: int, interval: int, other: str) -> list[str]:
    """Return layers of which every so manieth, and the last of each interval, has full attention."""
    return ["F" if i % interval == interval - 1 else other for i in range(layers)]


def _listed(text: ConfigPart, kinds: Any, layers: int) -> list[str]:
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise text.refusal("layer_types", "must be a list of names")
    if len(kinds) != layers:
        raise text.refusal("layer_types", f"has {len(kinds)} entries for num_hidden_layers = {layers}")
    if unknown := set(kinds) - set(_LETTERS):
        raise text.refusal("layer_types", f"{min(unknown)!r} is not modelled; allowed: {', '.join(_LETTERS)}")
    return [_LETTERS[kind] for kind in kinds]


def _nemotron(text: ConfigPart) -> list[str]:
    pattern = text.values["hybrid_override_pattern"]
    if not isinstance(pattern, str) or not set(pattern) <= set(_NEMOTRON) or len(pattern) > MOST_LAYERS:
        raise text.refusal("hybrid_override_pattern", f"must be a string of {' '.join(_NEMOTRON)}")
    return [_NEMOTRON[letter] for letter in pattern]


def _named(text: ConfigPart) -> list[str]:
    names = text.values["layers_block_type"]
    if (
        not isinstance(names, list)
        or not set(map(str, names)) <= set(_NEMOTRON_NAMES)
        or len(names) > MOST_LAYERS
    ):
        raise text.refusal("layers_block_type", f"must be a list of {', '.join(_NEMOTRON_NAMES)}")
    return [_NEMOTRON_NAMES[name] for name in names]


def _llama_4(text: ConfigPart, layers: int) -> list[str]:
    rotary = text.values.get("no_rope_layers")
    if not rotary:
        return _every(layers, text.integer_or("no_rope_layer_interval", _LLAMA_4_INTERVAL), "W")
    if not isinstance(rotary, list) or len(rotary) != layers:
        raise text.refusal("no_rope_layers", f"must be a list of {layers} numbers")
    return ["W" if layer else "F" for layer in rotary]


def _windows(text: ConfigPart, layers: int) -> dict[str, Any]:
    kinds = text.values.get("layer_types") or ()
    chunked = bool(text.values.get("attention_chunk_size")) and "sliding_attention" not in kinds
    kind: WindowKind = "chunked_local" if chunked else "sliding_window"
    tokens = text.integer("attention_chunk_size" if chunked else "sliding_window")
    found: dict[str, Any] = {"layers": layers, "tokens": tokens, "kind": kind}
    if text.values.get("global_head_dim"):  # Gemma 4: the plain keys are those of its windowed layers
        found |= {"kv_heads": text.integer("num_key_value_heads"), "head_dim": text.integer("head_dim")}
    return found


def _linear(text: ConfigPart, layers: int, dtype: str) -> dict[str, Any]:
    return {
        "linear_attention_layers": layers,
        "linear_key_heads": text.integer("linear_num_key_heads"),
        "linear_key_head_dim": text.integer("linear_key_head_dim"),
        "linear_value_heads": text.integer("linear_num_value_heads"),
        "linear_value_head_dim": text.integer("linear_value_head_dim"),
        "linear_conv_kernel": text.integer("linear_conv_kernel_dim"),
        # Qwen3-Next always gates its attention output and has no key for it.
        "attention_output_gate": bool(text.values.get("attn_output_gate", True)),
        "ssm_state_dtype": _state_dtype(text, "mamba_ssm_dtype", dtype),
    }


def _state_dtype(text: ConfigPart, key: str, dtype: str) -> str:
    return text.dtype(key) if key in text.values else dtype
