"""Models of the tests of this room: shipped presets, and small ones by hand."""

from typing import Any

from sim.base.shipped import preset
from sim.hardware.model import GpuSettings, ModelSettings


def shipped(name: str, **changes: Any) -> ModelSettings:
    return ModelSettings.model_validate(preset("models", name) | changes)


def gpu(name: str) -> GpuSettings:
    return GpuSettings.model_validate(preset("gpus", name))


def toy(**changes: Any) -> ModelSettings:
    """A model of two plain layers, unless changed."""
    return ModelSettings.model_validate(
        {
            "name": "toy",
            "hidden_size": 8,
            "intermediate_size": 16,
            "vocab_size": 100,
            "full_attention_layers": 2,
            "attention_heads": 4,
            "kv_heads": 2,
            "head_dim": 4,
        }
        | changes
    )
