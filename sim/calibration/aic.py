"""Coefficients of an engine from the tables of AIConfigurator: of a preset, or any model that it knows."""

from collections.abc import Mapping
from pathlib import Path

from sim.base.errors import InputError
from sim.base.shipped import preset_names
from sim.hardware.aic.asked import Asked, asked, asked_by_name
from sim.hardware.aic.file import coefficients_of
from sim.hardware.coefficient_file import CoefficientFile
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.parallel import Parallel
from sim.hardware.presets import resolve


def engine_of(model: str, gpu: str, parallel: Parallel, formats: Mapping[str, str | None]) -> Asked:
    """Return an engine in the library's words.

    Args:
        model: a preset; or a name on Hugging Face ("Qwen/Qwen3-32B"), the path of a config.json or of its
            folder.
        gpu: a preset.
        parallel: how the engine is spread over GPUs.
        formats: "gemm", "moe" and "kv" in the library's words; only for a model that is no preset.

    Raises:
        InputError: the library is not installed, does not know the model, or the options disagree.

    """
    measured_on = _measured_on(gpu)
    if model in preset_names("models"):
        given = [key for key, value in formats.items() if value is not None]
        if given:
            raise InputError(
                f"--{given[0]}: the preset {model} says its formats; leave it out, or give the model's name "
                "on Hugging Face"
            )
        settings = ModelSettings.model_validate(resolve("models", model))
        return asked(settings, measured_on, parallel)
    if "/" not in model and not Path(model).exists():
        resolve("models", model)
    return asked_by_name(model, measured_on.name, parallel, formats)


def calibrate(engine: Asked, model: str, gpu: str, name: str | None) -> CoefficientFile:
    """Return the coefficients of an engine.

    Args:
        engine: in the library's words.
        model: as for `engine_of`.
        gpu: a preset.
        name: of the model, for the file; unset: the preset, or the last part of its name in small letters.

    Raises:
        InputError: the library is not installed, or has no tables for this engine.

    """
    usual = model if model in preset_names("models") else _short(model)
    return coefficients_of(engine, name or usual, _measured_on(gpu).name)


def head_lines(content: CoefficientFile) -> list[str]:
    """Return the comment on top of the file."""
    return [
        f"Step-time coefficients of {content.model} on {content.gpu}, made by `sim calibrate aic`.",
        "From the tables of NVIDIA's AIConfigurator (aiconfigurator-core, Apache-2.0); see ../README.md.",
    ]


def _measured_on(gpu: str) -> GpuSettings:
    return GpuSettings.model_validate(resolve("gpus", gpu))


def _short(model: str) -> str:
    path = Path(model)
    return (path.parent if path.name == "config.json" else path).name.lower()
