"""Find the time coefficients of a model on a GPU: a file, NVIDIA's kernel tables, or else a roofline.

`calibration/README.md` describes the files.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Self

from pydantic import ValidationError

from sim.base.errors import InputError
from sim.base.known_name import KnownName
from sim.base.messages import first_problem
from sim.base.shipped import PresetKind, coefficients_named, coefficients_path, preset, preset_names
from sim.hardware.coefficient_file import (
    CoefficientFile,
    FrontendCoefficients,
    file_name,
    read_coefficient_file,
)
from sim.hardware.dense_table import DenseTable
from sim.hardware.hosts import NOTHING, HostCoefficients
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.parallel import ONE_GPU, Parallel
from sim.hardware.step_laws import LAWS
from sim.hardware.step_time import StepCoefficients, peak_roofline, roofline

Preset = Annotated[str, KnownName(lambda: ["aiconfigurator", *LAWS, "roofline", "peak-roofline"])]
"""Times of other origin: NVIDIA's kernel tables, a name in `sim.hardware.step_laws.LAWS`, or a roofline."""


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What the simulator takes for the times of a model on a GPU, and what that rests on."""

    step: StepCoefficients
    """Without effect if `origin` is a name in `LAWS`."""
    frontend: FrontendCoefficients
    origin: str
    """"fitted", "prior" or "aiconfigurator" (from a file), or a `Preset`."""
    summary: str
    """What they rest on, in a line: belongs beside every result."""
    file: CoefficientFile | None = None
    """Ranges and sources; None for a roofline."""
    table: DenseTable | None = None
    """Factors on the dense part; None: there are none."""
    hosts: HostCoefficients = NOTHING
    """What hosts do for prompts: nothing that takes time, unless a scenario says so."""

    def drawn(self, k: int) -> Self:
        """Return draw `k`, from 1 on, of all coefficients.

        Raises:
            InputError: nothing is known of them but their values.

        """
        if self.file is None:
            raise InputError(f"no ranges to draw coefficients from: {self.summary}")
        values = self.file.drawn(k)
        step, frontend = self.file.step_coefficients(values), self.file.frontend_coefficients(values)
        return replace(self, step=step, frontend=frontend)


def times(
    model: ModelSettings,
    gpu: GpuSettings,
    preset: Preset | None,
    file: str | None,
    parallel: Parallel = ONE_GPU,
) -> Coefficients:
    """Return the times that `timing.preset` and `timing.coefficients` of a scenario ask for.

    Raises:
        InputError: as `coefficients`.

    """
    parallel = _together(model, parallel)
    match preset:
        case "roofline":
            return roofline_coefficients(model, gpu, "as the scenario wants it", parallel)
        case "peak-roofline":
            return peak_roofline_coefficients(model, gpu, parallel)
        case "aiconfigurator":
            return _from_tables(model, gpu, parallel)
        case None:
            return coefficients(model, gpu, file, parallel)
    return replace(
        coefficients(model, gpu, parallel=parallel), origin=preset, summary=LAWS[preset].summary, table=None
    )


def coefficients(
    model: ModelSettings, gpu: GpuSettings, file: str | None = None, parallel: Parallel = ONE_GPU
) -> Coefficients:
    """Return the coefficients of a file or, without one, of the shipped one for this model and GPU.

    A file counts only for the shape and formats it was made for: those of the presets it names. Where no
    shipped file counts, a roofline stands in.

    Args:
        model: whose times.
        gpu: where.
        file: the name of a shipped file without .toml, or a path.
        parallel: how the engine is spread over GPUs.

    Raises:
        InputError: there is no such file, it is damaged, or it is of another model or GPU.

    """
    parallel = _together(model, parallel)
    wanted = _words(model.name, gpu.name, parallel)
    path = (
        coefficients_path(file_name(model.name, gpu.name, parallel))
        if file is None
        else coefficients_named(file)
    )
    if path is None:
        return roofline_coefficients(model, gpu, f"no coefficients for {wanted}", parallel)
    content = read_coefficient_file(path)
    has = _words(content.model, content.gpu, _together(model, content.parallel.parallel))
    if has != wanted:
        raise InputError(f"{path} is of {has}, and the scenario has {wanted}")
    changed = _changed_settings(model, gpu)
    if not changed:
        return _of_file(content)
    reason = f"the coefficients of {path.stem} do not hold for {', '.join(changed)}"
    if file is not None:
        raise InputError(f"{reason}; leave the file out for a roofline")
    return roofline_coefficients(model, gpu, reason, parallel)


def _together(model: ModelSettings, parallel: Parallel) -> Parallel:
    """Return the sizes that step times depend on: without experts, ranks have nothing to do together."""
    return parallel if model.experts else parallel._replace(data=1)


def _of_file(content: CoefficientFile) -> Coefficients:
    values = content.values
    step, frontend = content.step_coefficients(values), content.frontend_coefficients(values)
    return Coefficients(step, frontend, content.origin, content.summary, content, content.dense)


def _words(model: str, gpu: str, parallel: Parallel) -> str:
    """Return whose coefficients these are: "qwen3-32b-fp8 on h100-80gb", and the sizes that are not 1."""
    sizes = file_name("", "", parallel).removeprefix("_-")
    return f"{model} on {gpu}" + (f" ({sizes.replace('-', ', ')})" if parallel != ONE_GPU else "")


def roofline_coefficients(
    model: ModelSettings, gpu: GpuSettings, reason: str, parallel: Parallel = ONE_GPU
) -> Coefficients:
    """Return what shapes and achieved peaks give, with why they are taken."""
    summary = f"roofline from shapes and achieved peaks, no measurement: {reason}"
    return Coefficients(
        _roofline(roofline, model, gpu, parallel), FrontendCoefficients(), "roofline", summary
    )


def _roofline(
    law: Callable[[ModelSettings, GpuSettings, Parallel], StepCoefficients],
    model: ModelSettings,
    gpu: GpuSettings,
    parallel: Parallel,
) -> StepCoefficients:
    try:
        return law(model, gpu, parallel)
    except (ValidationError, ArithmeticError) as error:
        why = first_problem(error) if isinstance(error, ValidationError) else str(error)
        raise InputError(f"no roofline of {model.name} on {gpu.name}: {why}") from error


def peak_roofline_coefficients(
    model: ModelSettings, gpu: GpuSettings, parallel: Parallel = ONE_GPU
) -> Coefficients:
    """Return what shapes and the peaks of the datasheet give, and no time outside of the engine."""
    summary = "roofline from shapes and the datasheet's peaks, a lower bound and no prediction"
    nothing = FrontendCoefficients(alpha_in_s=0.0, alpha_in_s_per_token=0.0, alpha_out_s=0.0)
    return Coefficients(_roofline(peak_roofline, model, gpu, parallel), nothing, "peak-roofline", summary)


def _from_tables(model: ModelSettings, gpu: GpuSettings, parallel: Parallel) -> Coefficients:
    """Return what AIConfigurator's tables give, which are of GPUs and published models as they are.

    Raises:
        InputError: as `aic_coefficients`, or model or GPU were changed in what the tables cannot follow.

    """
    from sim.hardware.aic.asked import asked  # noqa: PLC0415 - most runs do without
    from sim.hardware.aic.file import aic_coefficients  # noqa: PLC0415

    changed = _changed_gpu(model, gpu)
    if not asked(model, gpu, parallel).by_shape:
        formats = ("weights_dtype", "kv_dtype")
        changed += [key for key in _changed_model(model, gpu) if not key.startswith(formats)]
    if changed:
        raise InputError(
            f"AIConfigurator has no tables for {', '.join(changed)}; leave timing.preset out for a roofline"
        )
    return _of_file(aic_coefficients(model, gpu, parallel))


@lru_cache(maxsize=64)  # the points of a sweep ask for the same
def _changed_settings(model: ModelSettings, gpu: GpuSettings) -> tuple[str, ...]:
    """Return the settings, as "key = value", in which model or GPU differ in speed from their presets.

    Step times rest on what the roofline rests on: a setting that does not move it, such as the GPU's memory,
    leaves them as they were measured.
    """
    return (*_changed_model(model, gpu), *_changed_gpu(model, gpu))


def _changed_model(model: ModelSettings, gpu: GpuSettings) -> list[str]:
    now = roofline(model, gpu)
    return [
        f"{key} = {getattr(model, key)}"
        for key, shipped in _shipped(model, "models").items()
        if roofline(model.model_copy(update={key: shipped}), gpu) != now
    ]


def _changed_gpu(model: ModelSettings, gpu: GpuSettings) -> list[str]:
    now = roofline(model, gpu)
    return [
        f"{key} = {getattr(gpu, key)}"
        for key, shipped in _shipped(gpu, "gpus").items()
        if roofline(model, gpu.model_copy(update={key: shipped})) != now
    ]


def _shipped(settings: ModelSettings | GpuSettings, kind: PresetKind) -> dict[str, object]:
    """Return the values of a preset that were changed, by key; none if it is not one."""
    if settings.name not in preset_names(kind):
        return {}
    shipped = type(settings).model_validate(preset(kind, settings.name))
    return {key: value for key, value in shipped if value != getattr(settings, key)}
