"""What a calibration with kernel tables leaves behind: a file of coefficients, and what is said of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sim.base.words import format_seconds
from sim.calibration.kernel_draws import drawn_rates
from sim.calibration.kernel_fit import Errors, Kernel, fit, held_out_errors
from sim.calibration.kernel_laws import Rates
from sim.calibration.kernel_rows import kernels
from sim.calibration.kernel_step import step_parts, step_values
from sim.calibration.kernel_tables import KernelTable, Kind
from sim.hardware.coefficient_file import Coefficient, CoefficientFile, DataFile, HeldOut
from sim.hardware.coefficient_toml import rounded
from sim.hardware.frontend_priors import FRONTEND_PRIORS
from sim.hardware.model import GpuSettings, ModelSettings
from sim.runs.spread import band

SUMMARY = "kernels measured alone, added up; nothing fitted to steps or requests"


@dataclass(frozen=True, slots=True)
class KernelFit:
    """A law fitted to one kernel."""

    kernel: Kernel
    rates: Rates
    """Fitted to all shapes."""
    errors: Errors
    """Of the law fitted without the shapes held out."""


@dataclass(frozen=True, slots=True)
class KernelCalibration:
    """The coefficients of a model from its kernels."""

    content: CoefficientFile
    fits: Sequence[KernelFit]


def calibrate(
    tables: Mapping[Kind, KernelTable],
    model: ModelSettings,
    gpu: GpuSettings,
    draws: int,
    version: str | None = None,
) -> KernelCalibration:
    """Fit the kernels of a model and add them up.

    Args:
        tables: of kernel times, by what they are of.
        model: whose coefficients.
        gpu: that the tables were measured on.
        draws: how many joint draws to make, 2 or more.
        version: of vLLM; the newest in each table if not given.

    Raises:
        InputError: a table is missing, or has too little of the model's formats.

    """
    chosen = kernels(tables, model, version)
    rates = {name: fit(kernel) for name, kernel in chosen.items()}
    # Layers and head have one fit if their formats are the same.
    fitted = {kernel.name: (kernel, rates[name]) for name, kernel in chosen.items()}
    fits = [KernelFit(kernel, found, held_out_errors(kernel)) for kernel, found in fitted.values()]
    drawn = [step_values(model, drawn_rates(model, chosen, k)) for k in range(1, draws + 1)]
    columns = {name: tuple(rounded(row[name]) for row in drawn) for name in drawn[0]}
    content = CoefficientFile(
        model=model.name,
        gpu=gpu.name,
        origin="prior",
        summary=SUMMARY,
        step=_entries(model, rates, columns),
        frontend=FRONTEND_PRIORS,
        data=tuple(_data_file(table, fits) for table in tables.values()),
        held_out=tuple(map(_held_out, fits)),
        draws=columns,
    )
    return KernelCalibration(content, fits)


def _entries(
    model: ModelSettings, rates: Mapping[str, Rates], columns: Mapping[str, tuple[float, ...]]
) -> dict[str, Coefficient]:
    values, parts = step_values(model, rates), step_parts(model, rates)
    entries = {}
    for name, column in columns.items():
        value = rounded(values[name])
        found = band(column)
        low, high = (rounded(end) if end is not None else value for end in (found.low, found.high))
        addends = " + ".join(f"{part.what} {format_seconds(part.s)}" for part in parts.get(name, ()))
        entries[name] = Coefficient(
            value=value,
            range=(min(low, value), max(high, value)),
            source=addends or "sharpness of the matrix products' law",
        )
    return entries


def _data_file(table: KernelTable, fits: Sequence[KernelFit]) -> DataFile:
    used = sum(len(one.kernel.measured_s) for one in fits if one.kernel.file == table.file)
    return DataFile(file=table.file, sha256=table.sha256, rows=used)


def _held_out(one: KernelFit) -> HeldOut:
    return HeldOut(
        quantity=f"{one.kernel.name} (vLLM {one.kernel.version}): {one.errors.shapes} shapes",
        n=one.errors.rows,
        mape=rounded(one.errors.mape),
        median=rounded(one.errors.median),
    )
