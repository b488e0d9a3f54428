"""Find the time coefficients of a model on a GPU: a shipped file, or else a roofline.

`calibration/README.md` describes the files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from sim.errors import InputError
from sim.model import GpuSettings, ModelSettings
from sim.settings import Settings
from sim.shipped import PresetKind, coefficients_path, preset, preset_names, read_toml
from sim.units import Seconds
from sim.worker.timing import StepCoefficients, roofline

Origin = Literal["fitted", "prior", "roofline", "dynamo-mocker"]

_WITHOUT_EFFECT_ON_TIME = {
    "max_model_len",
    "weights_loaded_bytes",
    "peak_activation_bytes",
    "cuda_graphs_bytes",
    "vision_params",
    "tied_embeddings",
}


class FrontendCoefficients(Settings):
    """Time in front of and behind the engine."""

    alpha_in_s: Seconds = 18e-3
    """From the client to the routing choice, for each request."""
    alpha_in_s_per_token: Seconds = 1e-6
    """The same, for each token of the prompt: tokenising."""
    alpha_out_s: Seconds = 1e-3
    """From the engine's output back to the client."""


class Coefficient(Settings):
    """One entry of a coefficient file."""

    value: float | str
    """The value with its unit."""
    range: tuple[float | str, float | str]
    """Least and greatest value it may be moved to."""
    sigma: float | str | None = None
    """Spread of one standard deviation, where known."""
    source: str
    """Where the value comes from."""


class CoefficientFile(Settings):
    """A file of `calibration/`."""

    model: str
    gpu: str
    origin: Literal["fitted", "prior"]
    summary: str
    """What the coefficients rest on, in a line."""
    step: dict[str, Coefficient]
    """By name of the field of `StepCoefficients`."""
    frontend: dict[str, Coefficient]
    """By name of the field of `FrontendCoefficients`."""


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What the simulator takes for the times of a model on a GPU, and what that rests on."""

    step: StepCoefficients
    """Without effect if `origin` is "dynamo-mocker": a law without coefficients."""
    frontend: FrontendCoefficients
    origin: Origin
    summary: str
    """What they rest on, in a line: belongs beside every result."""
    entries: Mapping[str, Coefficient] = field(default_factory=dict)
    """Range and source by coefficient; empty for a roofline."""


def coefficients(model: ModelSettings, gpu: GpuSettings) -> Coefficients:
    """Return the coefficients of the shipped file for this model and GPU, or those of a roofline.

    A file counts only for the shape and formats it was made for: those of the presets it names.

    Raises:
        InputError: a shipped file is damaged.

    """
    path = coefficients_path(model.name, gpu.name)
    if path is None:
        return _roofline(model, gpu, f"no coefficients for {model.name} on {gpu.name}")
    changed = _changed_settings(model, gpu)
    if changed:
        return _roofline(model, gpu, f"the coefficients of {path.stem} do not hold for {', '.join(changed)}")
    return read_coefficients(path)


def read_coefficients(path: Path) -> Coefficients:
    """Return the coefficients of a file in the format of `calibration/`.

    Raises:
        InputError: the file cannot be read, an entry is unknown or missing, or a value is wrong.

    """
    try:
        content = CoefficientFile.model_validate(read_toml(path))
        step = StepCoefficients.model_validate({key: entry.value for key, entry in content.step.items()})
        frontend = FrontendCoefficients.model_validate(
            {key: entry.value for key, entry in content.frontend.items()}
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    entries = {**content.step, **content.frontend}
    return Coefficients(step, frontend, content.origin, content.summary, entries)


def _roofline(model: ModelSettings, gpu: GpuSettings, reason: str) -> Coefficients:
    summary = f"roofline from shapes and achieved peaks, no measurement: {reason}"
    return Coefficients(roofline(model, gpu), FrontendCoefficients(), "roofline", summary)


def _changed_settings(model: ModelSettings, gpu: GpuSettings) -> list[str]:
    """Return the settings, as "key = value", in which model or GPU differ in speed from their presets."""
    return _differences(model, "models") + _differences(gpu, "gpus")


def _differences(settings: ModelSettings | GpuSettings, kind: PresetKind) -> list[str]:
    if settings.name not in preset_names(kind):
        return []
    shipped = type(settings).model_validate(preset(kind, settings.name))
    return [
        f"{key} = {value}"
        for key, value in settings
        if key not in _WITHOUT_EFFECT_ON_TIME and value != getattr(shipped, key)
    ]
