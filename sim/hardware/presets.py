"""Models and GPUs as a user names them: a preset, a preset with some fields changed, or a table of their own.

`ModelChoice` and `GpuChoice` are the types for a scenario's fields. They accept

    "qwen3.8-27b-fp8"                                    a preset
    "Qwen/Qwen3-32B"                                     a model by its name on Hugging Face
    "h200"                                               a GPU whose presets have one size of memory
    "path/to/config.json", "path/to/model/"              a Hugging Face configuration or its folder (models)
    {preset = "qwen3.8-27b-fp8", kv_dtype = "bf16"}      a preset, fields overridden
    {config = "path/to/config.json", kv_dtype = "fp8"}   the same for a configuration
    {name = ..., hidden_size = ..., ...}                 all fields
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, SerializerFunctionWrapHandler, WrapSerializer

from sim.base.errors import InputError
from sim.base.settings import Settings
from sim.base.shipped import PresetKind, preset, preset_names
from sim.hardware.hf import names
from sim.hardware.hf_config import from_hf_config
from sim.hardware.model import GpuSettings, ModelSettings


def resolve(kind: PresetKind, choice: object) -> object:
    """Return the fields that a choice stands for; anything but a name or a table comes back as it is.

    Raises:
        InputError: no such preset, an unusable configuration, or both `preset` and `config` given.

    """
    if isinstance(choice, str):
        choice = {"config" if kind == "models" and _is_configuration(choice) else "preset": choice}
    if not isinstance(choice, Mapping):
        return choice
    fields = dict(choice)
    name, config = fields.pop("preset", None), fields.pop("config", None) if kind == "models" else None
    if name is not None and config is not None:
        raise InputError(f"preset = {name!r} and config = {config!r}: give one of them")
    if config is not None:
        return from_hf_config(Path(str(config))).model_dump() | fields
    if name is None:
        return _with_hf_id(fields) if kind == "models" else fields
    return _merged(_named(kind, str(name)), fields)


def _is_configuration(choice: str) -> bool:
    return choice.endswith(".json") or is_model_folder(choice, Path())


def is_model_folder(choice: object, start: Path) -> bool:
    """Whether a model's name is that of a folder with a `config.json`; relative ones begin at `start`."""
    if not isinstance(choice, str) or choice in preset_names("models"):
        return False
    try:
        return (start / Path(choice).expanduser() / "config.json").is_file()
    except (OSError, RuntimeError, ValueError):
        return False


def _named(kind: PresetKind, name: str) -> dict[str, Any]:
    """Return the fields of a preset by its own name or, of a model, by that on Hugging Face."""
    if kind == "gpus":
        return preset(kind, _gpu_name(name))
    if not names.is_name(name):
        return preset(kind, name)
    for own in preset_names("models"):
        fields = preset("models", own)
        if names.plain(str(fields.get("hf_id"))) == names.plain(name):
            return fields
    hf_id, path = names.configuration(name)
    return from_hf_config(path, hf_id).model_dump() | {"name": hf_id.rpartition("/")[2].lower()}


def _gpu_name(name: str) -> str:
    """Return the preset that a name such as "h200" begins, if there is one with one size of memory only."""
    found = [own for own in preset_names("gpus") if own.startswith(f"{name.lower()}-")]
    if len(found) > 1 and name not in preset_names("gpus"):
        raise InputError(f"gpu = {name!r}: there are {' and '.join(found)}; give one of them")
    return found[0] if len(found) == 1 else name


def _with_hf_id(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields written out by `_short`: a preset's name stands for its `hf_id` too."""
    name = fields.get("name")
    if "hf_id" in fields or name not in preset_names("models"):
        return fields
    return fields | {"hf_id": preset("models", str(name)).get("hf_id")}


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
    """Name of a shipped model, or a name on Hugging Face; the other keys override its fields."""
    config: str | None = None
    """Path of a Hugging Face `config.json` or its folder; the other keys override its fields."""


class GpuTable(GpuSettings):
    """A GPU's fields, or a preset and what differs from it (for the JSON Schema only)."""

    model_config = ConfigDict(json_schema_extra=_require_nothing)

    preset: str | None = None
    """Name of a shipped GPU; the other keys override its fields."""


_SHORT = ("gated_mlp", "layer_pattern", "mtp_layers", "gpus_per_node", "joined_by", "pcie_generation")
"""Keys that are written out only where they say something."""


def _short(settings: Settings, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
    """Return settings written out, without what is as usual and what the name says."""
    fields: dict[str, Any] = handler(settings)
    usual = {key: field.default for key, field in type(settings).model_fields.items() if key in _SHORT}
    if fields.get("hf_id") is not None:
        usual["hf_id"] = _with_hf_id({"name": fields.get("name")}).get("hf_id")
    return {key: value for key, value in fields.items() if key not in usual or value != usual[key]}


ModelChoice = Annotated[
    ModelSettings,
    BeforeValidator(partial(resolve, "models"), json_schema_input_type=str | ModelTable),
    WrapSerializer(_short),
]
GpuChoice = Annotated[
    GpuSettings,
    BeforeValidator(partial(resolve, "gpus"), json_schema_input_type=str | GpuTable),
    WrapSerializer(_short),
]
