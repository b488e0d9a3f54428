"""What AIConfigurator is asked for: a model, a GPU, parallel sizes and number formats, in its own words."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sim.base.errors import InputError
from sim.base.messages import did_you_mean
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.parallel import Parallel

SYSTEMS = {
    "a100-80gb": "a100_sxm",
    "h100-80gb": "h100_sxm",
    "h200-141gb": "h200_sxm",
    "b200": "b200_sxm",
    "l40s": "l40s",
}
"""Its systems by the names of our GPUs. An A100 of 40 GB is none of them: its memory is slower."""

_SAME_SHAPE = {"qwen3.8-27b-fp8": "Qwen/Qwen3.5-27B"}
"""Models that it knows under another name: the same layers, heads and widths."""

_PARTS = ("experts", "latent", "windows", "mamba")
"""Of a model that is more than a plain dense one."""
_GEMM = {
    "bf16": "bfloat16",
    "fp16": "bfloat16",
    "fp8": "fp8",
    "fp8_block": "fp8",
    "nvfp4": "nvfp4",
    "int4": "int4_wo",
}
"""Formats of the matrices; see `asked` for FP8. Latent attention has tables of its own formats only."""
_MOE = {"bf16": "bfloat16", "fp16": "bfloat16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "nvfp4"}
"""Formats of the experts; of others, the model's own."""


class Asked(NamedTuple):
    """One engine, in AIConfigurator's words."""

    model: str
    """Name on Hugging Face, a folder with a config.json, or the text of a config.json."""
    system: str
    parallel: Parallel
    gemm: str | None
    """Format of the matrices; None: the model's own."""
    moe: str | None
    """Format of the experts; None: the model's own."""
    kv: str | None
    """Format of the KV cache; None: the model's own."""
    experts: bool
    """Whether the model is a mixture of experts."""

    @property
    def by_shape(self) -> bool:
        """Whether the model is asked for by its shape, in place of its name."""
        return self.model.startswith("{")

    @property
    def formats(self) -> dict[str, str]:
        """The number formats that are not the model's own, by what has them."""
        named = {"weights": self.gemm, "experts": self.moe, "kv": self.kv}
        return {part: value for part, value in named.items() if value is not None}

    @property
    def options(self) -> dict[str, object]:
        """The keywords of its `EngineHandle.compile`."""
        width = self.parallel.tensor * self.parallel.data
        options: dict[str, object] = {"tp_size": self.parallel.tensor, "pp_size": self.parallel.pipeline}
        if self.experts:
            options["attention_dp_size"] = self.parallel.data
            options |= {
                "moe_tp_size": 1 if self.parallel.expert else width,
                "moe_ep_size": width if self.parallel.expert else 1,
            }
        formats = {
            "gemm_quant_mode": self.gemm,
            "moe_quant_mode": self.moe,
            "kvcache_quant_mode": self.kv,
        }
        return options | {key: value for key, value in formats.items() if value is not None}


def system_of(gpu_name: str) -> str:
    """Return AIConfigurator's name of a GPU.

    Raises:
        InputError: it has no tables of that GPU.

    """
    if gpu_name not in SYSTEMS:
        raise InputError(
            f"AIConfigurator has no tables of {gpu_name}{did_you_mean(gpu_name, sorted(SYSTEMS))}; leave "
            "timing.preset out for a roofline"
        )
    return SYSTEMS[gpu_name]


def asked(model: ModelSettings, gpu: GpuSettings, parallel: Parallel) -> Asked:
    """Return how to ask for a model's step times.

    A dense model is asked for by its shape; another by its name on Hugging Face. Weights in FP8 are taken to
    have one scale a tensor: of one scale a block, the tables have kernels that no engine uses any more
    (`calibration/README.md`).

    Raises:
        InputError: nothing says which model this is, or there are no tables of the GPU.

    """
    name = getattr(model, "hf_id", None) or _SAME_SHAPE.get(model.name)
    plain = not (model.linear_attention_layers or any(getattr(model, part, None) for part in _PARTS))
    if name is None and not plain:
        raise InputError(
            f"AIConfigurator cannot be asked for {model.name}: it is no plain dense model, and no "
            "model.hf_id says what it is called on Hugging Face; give one, or leave timing.preset out for a "
            "roofline"
        )
    experts = getattr(model, "experts", None)
    latent = getattr(model, "latent", None) is not None
    experts_dtype = getattr(experts, "weights_dtype", None) or model.weights_dtype
    return Asked(
        model=json.dumps(_config(model), sort_keys=True) if plain else str(name),
        system=system_of(gpu.name),
        parallel=parallel,
        gemm=None if latent else _GEMM.get(model.weights_dtype),
        moe=_MOE.get(experts_dtype) if experts else None,
        kv="fp8" if model.kv_dtype == "fp8" else "bfloat16",
        experts=experts is not None,
    )


def asked_by_name(name: str, gpu_name: str, parallel: Parallel, formats: Mapping[str, str | None]) -> Asked:
    """Return how to ask for a model by its name on Hugging Face or the folder of its config.json.

    Args:
        name: of the model.
        gpu_name: of a GPU preset.
        parallel: how the engine is spread over GPUs.
        formats: "gemm", "moe" and "kv" in AIConfigurator's words, where they are not the model's own.

    Raises:
        InputError: as `asked`.

    """
    path = Path(name)
    text = path.read_text(encoding="utf-8") if path.name == "config.json" and path.is_file() else None
    return Asked(
        model=name if text is None else text,
        system=system_of(gpu_name),
        parallel=parallel,
        gemm=formats.get("gemm"),
        moe=formats.get("moe"),
        kv=formats.get("kv"),
        experts=True,
    )


def _config(model: ModelSettings) -> dict[str, object]:
    """Return the Hugging Face configuration of a dense model of this shape.

    Qwen3 also normalises queries and keys, which the shape does not say and a prefill takes longer for.
    """
    qwen3 = "qwen3" in f"{model.name} {getattr(model, 'hf_id', None)}".lower()
    return {
        "architectures": ["Qwen3ForCausalLM" if qwen3 else "LlamaForCausalLM"],
        "model_type": "qwen3" if qwen3 else "llama",
        "hidden_size": model.hidden_size,
        "intermediate_size": model.intermediate_size,
        "num_hidden_layers": model.full_attention_layers,
        "num_attention_heads": model.attention_heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "vocab_size": model.vocab_size,
        "max_position_embeddings": model.max_model_len,
        "tie_word_embeddings": model.tied_embeddings,
        "torch_dtype": "bfloat16",
    }
