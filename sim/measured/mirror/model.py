"""The model that a scenario is to mirror: as asked for, as the engines name it, or by its configuration."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.base.errors import InputError
from sim.base.shipped import preset_names
from sim.hardware.hf_config import from_hf_config
from sim.hardware.model import ModelSettings
from sim.hardware.presets import resolve
from sim.measured.formats.flags import Command
from sim.measured.mirror.engines import model_name
from sim.measured.mirror.found import Found

_FORMATS = ("bf16", "fp16", "fp8")
"""What a preset's name may add to that of its model."""
CACHED = (
    "full_attention_layers",
    "linear_attention_layers",
    "kv_heads",
    "head_dim",
    "linear_key_heads",
    "linear_key_head_dim",
    "linear_value_heads",
    "linear_value_head_dim",
    "linear_conv_kernel",
)
"""What of a shape decides which blocks there are, and how large each is."""
_CONFIG = "the run's model_config"


def tell_model(
    asked: str | None,
    engines: Sequence[Command],
    config: Mapping[str, Any] | None,
    found: Found,
    folder: Path | None,
) -> None:
    """Add the model: `asked` for with --model, else the engines' name of it and the configuration.

    A preset counts where its shape is that of the configuration, if there is one.
    """
    if asked:
        is_path = asked.endswith(".json")
        path = path_from(Path(asked), folder) if is_path else asked
        found.tell("model.config" if is_path else "model.preset", path, "--model")
        return
    name = next((name for engine in engines if (name := model_name(engine))), None)
    model = _of_config(config, found) if config else None
    preset = _preset_of(name) if name else None
    if preset and model and (differs := [*_differences(model, _shape_of(preset))]):
        found.note(f"preset {preset} has another shape than the run's model_config ({', '.join(differs)})")
        preset = None
    if preset:
        found.tell("model.preset", preset, f"the engines' model, {name}")
    elif model:
        _tell_shape(model, name or "measured", found)
    elif name or config:
        found.named_model = name or "that of its model_config"
        found.note(
            f"no preset is the engines' model, {found.named_model}: an example stands there, which is NOT "
            "the model of the cluster; name a preset or the model's config.json with --model"
        )


def path_from(path: Path, folder: Path | None) -> str:
    """Return a path as a scenario in `folder` names it; None: anywhere."""
    return str(path.resolve()) if folder is None else os.path.relpath(path, folder)


def _preset_of(name: str) -> str | None:
    """Return the preset of a model's name: its own, or the only one that adds a number format to it."""
    plain = name.rstrip("/").rpartition("/")[2].lower().removesuffix("-instruct")
    wanted = {plain, *(f"{plain}-{number_format}" for number_format in _FORMATS)}
    known = [preset for preset in preset_names("models") if preset in wanted]
    return plain if plain in known else known[0] if len(known) == 1 else None


def _shape_of(preset: str) -> ModelSettings:
    return ModelSettings.model_validate(resolve("models", preset))


def _differences(model: ModelSettings, other: ModelSettings) -> Iterator[str]:
    for key in CACHED:
        ours, theirs = getattr(model, key), getattr(other, key)
        if ours != theirs:
            yield f"{key} = {theirs}, not {ours}"


def _of_config(config: Mapping[str, Any], found: Found) -> ModelSettings | None:
    """Return the shape that a configuration gives; None, with a note, if it cannot be used."""
    try:
        return _read(config)
    except InputError as error:
        found.note(f"the model's configuration cannot be used: {str(error).rpartition('config.json: ')[2]}")
        return None


def _read(config: Mapping[str, Any]) -> ModelSettings:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "config.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        return from_hf_config(path)


def _tell_shape(model: ModelSettings, name: str, found: Found) -> None:
    values = model.model_dump(mode="json", exclude_defaults=True) | {"name": name}
    for key, value in values.items():
        if not (key.endswith("_dtype") and found.has(f"model.{key}")):  # flags and metrics know better
            found.tell(f"model.{key}", value, _CONFIG)
