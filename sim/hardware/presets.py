"""Models and GPUs as a user names them: a preset, a preset with some fields changed, or a table of their own.

`ModelChoice` and `GpuChoice` are the types for a scenario's fields. They accept

    "qwen3.8-27b-fp8"                                    a preset
    "path/to/config.json"                                a Hugging Face configuration (models only)
    {preset = "qwen3.8-27b-fp8", kv_dtype = "bf16"}      a preset, fields overridden
    {config = "path/to/config.json", kv_dtype = "fp8"}   the same for a configuration
    {name = ..., hidden_size = ..., ...}                 all fields
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict

from sim.base.errors import InputError
from sim.base.shipped import PresetKind, preset
from sim.hardware.hf_config import from_hf_config
from sim.hardware.model import GpuSettings, ModelSettings


def resolve(kind: PresetKind, choice: object) -> object:
    """Return the fields that a choice stands for; anything but a name or a table comes back as it is.

    Raises:
        InputError: no such preset, an unusable configuration, or both `preset` and `config` given.

    """
    if isinstance(choice, str):
        named = "config" if kind == "models" and choice.endswith(".json") else "preset"
        choice = {named: choice}
    if not isinstance(choice, Mapping):
        return choice
    fields = dict(choice)
    name, config = fields.pop("preset", None), fields.pop("config", None) if kind == "models" else None
    if name is not None and config is not None:
        raise InputError(f"preset = {name!r} and config = {config!r}: give one of them")
    if config is not None:
        return from_hf_config(Path(str(config))).model_dump() | fields
    return fields if name is None else _merged(preset(kind, str(name)), fields)


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `changes`, tables inside merged key by key."""
    merged = dict(base)
    for key, value in changes.items():
        inner = merged.get(key)
        both = isinstance(inner, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(inner, value) if both else value  # type: ignore[arg-type]
    return merged


def _require_nothing(schema: dict[str, Any]) -> None:
    schema.pop("required", None)


class ModelTable(ModelSettings):
    """A model's fields, or a preset or configuration and what differs from it (for the JSON Schema only)."""

    model_config = ConfigDict(json_schema_extra=_require_nothing)

    preset: str | None = None
    """Name of a shipped model; the other keys override its fields."""
    config: str | None = None
    """Path of a Hugging Face `config.json`; the other keys override its fields."""


class GpuTable(GpuSettings):
    """A GPU's fields, or a preset and what differs from it (for the JSON Schema only)."""

    model_config = ConfigDict(json_schema_extra=_require_nothing)

    preset: str | None = None
    """Name of a shipped GPU; the other keys override its fields."""


ModelChoice = Annotated[
    ModelSettings, BeforeValidator(partial(resolve, "models"), json_schema_input_type=str | ModelTable)
]
GpuChoice = Annotated[
    GpuSettings, BeforeValidator(partial(resolve, "gpus"), json_schema_input_type=str | GpuTable)
]
