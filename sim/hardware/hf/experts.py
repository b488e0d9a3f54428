"""The mixture of experts of a configuration, under the names that the families give it."""

from typing import Any

from sim.hardware.hf.part import ConfigPart

_ROUTED = ("num_experts", "num_local_experts", "n_routed_experts")
_PER_TOKEN = ("num_experts_per_tok", "experts_per_token", "top_k_experts")
_EVERY = ("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq")


def expert_settings(text: ConfigPart, architecture: str | None) -> dict[str, Any]:
    """Return the table `experts`; nothing for a dense model."""
    key = next((key for key in _ROUTED if text.values.get(key)), None)
    if key is None:
        return {}
    routed = text.integer(key)
    width = text.integer(
        "moe_intermediate_size" if text.values.get("moe_intermediate_size") else "intermediate_size"
    )
    found: dict[str, Any] = {
        "routed": routed,
        "per_token": text.first(*_PER_TOKEN),
        "intermediate_size": width,
        "shared_intermediate_size": _shared(text, architecture, width),
        "first_dense_layers": _dense(text),
        "every": _every(text),
    }
    return {"experts": found}


def dense_width(text: ConfigPart) -> int:
    """Return the width of a plain MLP; of a model that has none, of an expert."""
    keys = ("intermediate_size_mlp", "intermediate_size", "moe_intermediate_size")
    return text.integer(next((key for key in keys if text.values.get(key)), "intermediate_size"))


def _shared(text: ConfigPart, architecture: str | None, width: int) -> int:
    """Return the width of all experts that every token goes through."""
    if text.values.get("shared_expert_intermediate_size"):
        return text.integer("shared_expert_intermediate_size")
    if text.values.get("n_shared_experts"):
        return text.integer("n_shared_experts") * text.integer_or(
            "moe_shared_expert_intermediate_size", width
        )
    if architecture and architecture.startswith(("Llama4", "Gemma4")):
        # One shared expert as wide as the others; a plain MLP beside the experts.
        return text.integer("intermediate_size")
    return 0


def _dense(text: ConfigPart) -> int:
    """Return how many layers at the start have a plain MLP."""
    plain = text.values.get("mlp_only_layers")
    if plain:
        if not isinstance(plain, list) or plain != list(range(len(plain))):
            raise text.refusal("mlp_only_layers", "only the first layers may be without experts")
        return len(plain)
    return text.integer_or("first_k_dense_replace", 0)


def _every(text: ConfigPart) -> int:
    key = next((key for key in _EVERY if text.values.get(key)), None)
    if key is None:
        return 1
    return text.integer(key)
