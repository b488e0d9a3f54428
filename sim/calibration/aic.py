"""Coefficients of an engine from the tables of AIConfigurator: of a preset, or any model that it knows."""

from collections.abc import Mapping
from pathlib import Path

from sim.base.errors import InputError
from sim.base.shipped import preset_names
from sim.hardware.aic.asked import asked, asked_by_name
from sim.hardware.aic.file import coefficients_of
from sim.hardware.coefficient_file import CoefficientFile
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.parallel import Parallel
from sim.hardware.presets import resolve


def calibrate(
    model: str, gpu: str, parallel: Parallel, formats: Mapping[str, str | None], name: str | None
) -> CoefficientFile:
    """Return the coefficients of a model.

    Args:
        model: a preset; or a name on Hugging Face ("Qwen/Qwen3-32B"), the path of a config.json or of its
            folder.
        gpu: a preset.
        parallel: how the engine is spread over GPUs.
        formats: "gemm", "moe" and "kv" in the library's words; only for a model that is no preset.
        name: of the model, for the file; unset: the preset, or the last part of its name in small letters.

    Raises:
        InputError: the library is not installed, has no tables for this engine, or the options disagree.

    """
    measured_on = GpuSettings.model_validate(resolve("gpus", gpu))
    if model in preset_names("models"):
        given = [key for key, value in formats.items() if value is not None]
        if given:
            raise InputError(
                f"--{given[0]}: the preset {model} says its formats; leave it out, or give the model's name "
                "on Hugging Face"
            )
        settings = ModelSettings.model_validate(resolve("models", model))
        return coefficients_of(asked(settings, measured_on, parallel), name or model, measured_on.name)
    if "/" not in model and not Path(model).exists():
        resolve("models", model)
    question = asked_by_name(model, measured_on.name, parallel, formats)
    return coefficients_of(question, name or _short(model), measured_on.name)


def head_lines(content: CoefficientFile) -> list[str]:
    """Return the comment on top of the file."""
    return [
        f"Step-time coefficients of {content.model} on {content.gpu}, made by `sim calibrate aic`.",
        "From the tables of NVIDIA's AIConfigurator (aiconfigurator-core, Apache-2.0); see ../README.md.",
    ]


def _short(model: str) -> str:
    path = Path(model)
    return (path.parent if path.name == "config.json" else path).name.lower()
