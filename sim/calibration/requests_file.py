"""The file of coefficients that were fitted to measured requests."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sim.base.words import exactly
from sim.hardware.coefficient_file import Coefficient, CoefficientFile, DataFile, FittedRun, HeldOut
from sim.hardware.coefficient_toml import rounded
from sim.measured.formats.requests_csv import RequestsFile

INTERVAL = (2.5, 97.5)
"""Percentiles of the draws that are a fitted coefficient's range."""


def fitted_file(
    origin: CoefficientFile,
    values: Mapping[str, float],
    draws: Mapping[str, Sequence[float]],
    *,
    fitted: Sequence[str],
    data: RequestsFile,
    runs: Sequence[FittedRun],
    accuracy: Mapping[str, Any],
) -> CoefficientFile:
    """Return the content of a file of `calibration/`.

    Args:
        origin: the file that the fit started from.
        values: all coefficients, in their own unit.
        draws: joint draws of those that were fitted or held within their ranges.
        fitted: the names of those that were fitted.
        data: the file of measured runs.
        runs: those of them that were fitted.
        accuracy: how well all of them are hit: see `sim.validation.requests.validate`.

    """

    def entries(names: Sequence[str], known: Mapping[str, Coefficient]) -> dict[str, Coefficient]:
        return {
            name: _entry(known.get(name), values[name], draws.get(name), fitted=name in fitted)
            for name in names
        }

    counted = sum(run["requests"] for run in accuracy["runs"] if run["seen"] == "fitted")
    frontend = tuple(origin.frontend)
    return CoefficientFile(
        model=origin.model,
        gpu=origin.gpu,
        parallel=origin.parallel,
        formats=origin.formats,
        origin="fitted",
        summary=f"fitted to {counted:,} whole requests of {exactly(len(runs), 'run')}",
        step=entries([name for name in values if name not in frontend], origin.step),
        frontend=entries(frontend, origin.frontend),
        dense=origin.dense,
        data=(DataFile(file=data.path.name, sha256=data.sha256, rows=sum(map(len, data.runs))),),
        fitted_runs=tuple(runs),
        held_out=tuple(_held_out(accuracy)),
        draws={name: tuple(map(rounded, column)) for name, column in draws.items()},
    )


def _held_out(accuracy: Mapping[str, Any]) -> list[HeldOut]:
    """Return the errors on unsaturated runs that were not fitted, one for each column of the table."""
    law = accuracy["laws"][0]["name"]
    return [
        HeldOut(
            quantity=f"{column.replace('_', ' ')}, unsaturated runs", n=group["runs"], mape=rounded(error)
        )
        for group in accuracy["groups"]
        if group["name"] == "held_out"
        for column, error in group["mean_absolute_error"][law].items()
        if error is not None
    ]


def _entry(
    origin: Coefficient | None, value: float, draws: Sequence[float] | None, *, fitted: bool
) -> Coefficient:
    value = rounded(value)
    if fitted:
        low, high = np.percentile(draws, INTERVAL).tolist() if draws else (value, value)
        source = "fitted to the runs of fitted_runs"
    elif origin is not None and rounded(origin.value) == value:
        (low, high), source = origin.range, f"{origin.source}; held in the fit"
    else:
        low, high, source = value, value, "given to the fit, and held in it"
    return Coefficient(
        value=value, range=(min(rounded(low), value), max(rounded(high), value)), source=source
    )
