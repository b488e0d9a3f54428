"""Number formats of the weights: `quantization_config`, or the `hf_quant_config.json` that ModelOpt writes
beside."""

import json
from collections.abc import Iterable
from typing import Any

from sim.base.reading import MOST_TEXT_BYTES, json_file
from sim.hardware.hf.part import ConfigPart

_MODELOPT = {
    "FP8": "fp8",
    "FP8_PB_WO": "fp8_block",
    "FP8_BLOCK_SCALES": "fp8_block",
    "NVFP4": "nvfp4",
    "W4A16_NVFP4": "nvfp4",
}
_INT4 = ("awq", "gptq", "auto-round", "awq_marlin", "gptq_marlin")
_MANY = 8
_METHODS = "fp8, mxfp4, modelopt (FP8, NVFP4), compressed-tensors (FP8, INT4, NVFP4), awq and gptq of 4 bits"
_INSTEAD = f"allowed: {_METHODS}; or set model.weights_dtype over a configuration without it"


def quantization(config: ConfigPart, text: ConfigPart, dtype: str) -> dict[str, Any]:
    """Return weights_dtype and, where they differ from it, attention_weights_dtype, experts_dtype and
    kv_dtype."""
    holder = config if config.values.get("quantization_config") is not None else text
    content = holder.values.get("quantization_config")
    beside = config.path.parent / config.path.name.replace("config.json", "hf_quant_config.json")
    if content is None and beside.is_file():
        outer = json_file(beside, MOST_TEXT_BYTES)
        content = outer.get("quantization", outer)
        content = {"quant_method": "modelopt", **content} if isinstance(content, dict) else content
    if content is None:
        return {"weights_dtype": dtype}
    if not isinstance(content, dict):
        raise holder.refusal("quantization_config", f"must be an object; {_INSTEAD}")
    found = _formats(holder, content, dtype)
    if "experts_dtype" not in found and _keeps(content, "self_attn"):
        if _keeps(content, "shared_expert"):  # only routed experts are quantised
            found = {"weights_dtype": dtype, "experts_dtype": found["weights_dtype"]}
        else:
            found["attention_weights_dtype"] = dtype
    return found | _cache(content)


def is_quantized(config: ConfigPart) -> bool:
    """Whether a configuration says how its weights are quantised."""
    return "quantization_config" in config.values


def _formats(holder: ConfigPart, content: dict[str, Any], dtype: str) -> dict[str, Any]:
    method = str(content.get("quant_method") or ("modelopt" if "quant_algo" in content else None))
    bits = content.get("bits", 4)
    if method in ("fp8", "fbgemm_fp8"):
        return {"weights_dtype": "fp8_block" if content.get("weight_block_size") else "fp8"}
    if method == "mxfp4":
        return {"weights_dtype": dtype, "experts_dtype": "mxfp4"}
    if method in _INT4 and bits == 4:
        return {"weights_dtype": "int4"}
    if method.startswith("modelopt"):
        return _modelopt(holder, content, dtype)
    if method == "compressed-tensors":
        return {"weights_dtype": _compressed(holder, content)}
    raise _refusal(holder, f"{method} of {bits} bits" if method in _INT4 else repr(method))


def _modelopt(holder: ConfigPart, content: dict[str, Any], dtype: str) -> dict[str, Any]:
    algorithm = str(content.get("quant_algo"))
    if algorithm == "MIXED_PRECISION":
        return _mixed(holder, content, dtype)
    if algorithm not in _MODELOPT:
        raise _refusal(holder, f"modelopt's {algorithm}")
    return {"weights_dtype": _MODELOPT[algorithm]}


def _mixed(holder: ConfigPart, content: dict[str, Any], dtype: str) -> dict[str, Any]:
    """Return the format of the experts and that of most other matrices."""
    layers = content.get("quantized_layers")
    if not isinstance(layers, dict) or not all(isinstance(layer, dict) for layer in layers.values()):
        raise _refusal(holder, "MIXED_PRECISION without quantized_layers")
    formats = {name: str(layer.get("quant_algo")) for name, layer in layers.items()}
    if unknown := {name for name in formats.values() if name not in _MODELOPT}:
        raise _refusal(holder, f"modelopt's {min(unknown)}")
    experts = [name for name in formats if ".experts" in name]
    attention = [name for name in formats if "attn" in name]
    others = [name for name in formats if name not in {*experts, *attention}]
    found = {"weights_dtype": _most(formats, others or attention or experts, dtype)}
    if experts:
        found["experts_dtype"] = _most(formats, experts, dtype)
    found["attention_weights_dtype"] = _most(formats, attention, dtype)
    return found


def _most(formats: dict[str, str], names: Iterable[str], otherwise: str) -> str:
    found = [_MODELOPT[formats[name]] for name in names]
    return max(sorted(set(found)), key=found.count) if found else otherwise


def _compressed(holder: ConfigPart, content: dict[str, Any]) -> str:
    groups = content.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = first.get("weights") if isinstance(first, dict) else None
    if not isinstance(weights, dict):
        raise _refusal(holder, "compressed-tensors without config_groups")
    kind = weights.get("num_bits"), weights.get("type")
    if kind == (8, "float"):
        return "fp8_block" if weights.get("strategy") == "block" else "fp8"
    if kind == (4, "int"):
        return "int4"
    if kind == (4, "float"):
        return "mxfp4" if weights.get("group_size") == 32 else "nvfp4"
    raise _refusal(holder, f"compressed-tensors of {json.dumps(kind)}")


def _keeps(content: dict[str, Any], what: str) -> bool:
    """Whether no such matrix is quantised: it is named for all layers, or for many, among what is left
    out."""
    names: list[str] = []
    for key in ("ignore", "exclude_modules", "modules_to_not_convert"):
        listed = content.get(key)
        names += [str(name) for name in listed] if isinstance(listed, list) else []
    named = [name for name in names if what in name]
    return any(name.startswith(("*", "re:")) or ".*." in name for name in named) or len(named) >= _MANY


def _cache(content: dict[str, Any]) -> dict[str, Any]:
    """Return the cache's format where the checkpoint brings scales for it, which vLLM's "auto" takes."""
    scheme = content.get("kv_cache_scheme")
    eight_bits = isinstance(scheme, dict) and scheme.get("num_bits") == 8 and scheme.get("type") == "float"
    return {"kv_dtype": "fp8"} if eight_bits or content.get("kv_cache_quant_algo") == "FP8" else {}


def _refusal(holder: ConfigPart, what: str) -> Exception:
    return holder.refusal("quantization_config", f"{what} is not modelled; {_INSTEAD}")
