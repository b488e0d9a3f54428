"""Writes a file of coefficients that were fitted to measured requests."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from sim.coefficient_file import Coefficient, CoefficientFile, FittedRun
from sim.measured.requests_csv import RequestsFile

INTERVAL = (2.5, 97.5)
"""Percentiles of the draws that are written as a coefficient's range."""
_HEADER = """Step-time coefficients of {model} on {gpu}, fitted to whole requests by sim calibrate requests.
README.md says what each one multiplies. The range of a fitted one is where 95 % of the draws lie: a bootstrap
over the fitted runs, with what was held drawn over its range."""
_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
_PLAIN = ("smooth_max_p", "tile_tokens")
"""Coefficients that are numbers without a unit."""


def fitted_file(
    origin: CoefficientFile,
    values: Mapping[str, float],
    *,
    fitted: Collection[str],
    draws: Mapping[str, Sequence[float]],
    data: RequestsFile,
    runs: Sequence[FittedRun],
    accuracy: Mapping[str, Any],
) -> str:
    """Return the text of a file in the format of `calibration/`.

    Args:
        origin: the file that the fit started from.
        values: all coefficients, in their own unit.
        fitted: the names of those that were fitted.
        draws: joint draws of these and of those that were held within their ranges.
        data: the file of measured runs.
        runs: those that were fitted.
        accuracy: how well the file's runs are hit: see `sim.validation.requests.validate`.

    """
    counted = sum(run["requests"] for run in accuracy["runs"] if run["seen"] == "fitted")
    document = tomlkit.document()
    for line in _HEADER.format(model=origin.model, gpu=origin.gpu).splitlines():
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    document["model"], document["gpu"], document["origin"] = origin.model, origin.gpu, "fitted"
    document["summary"] = f"fitted to {counted:,} whole requests of {len(runs)} runs"
    rows = sum(run["requests"] for run in accuracy["runs"])
    document["data"] = _tables([{"file": data.path.name, "sha256": data.sha256, "rows": rows}])
    document["fitted_runs"] = _tables([run.model_dump() for run in runs])
    held_out = _held_out(accuracy)
    if held_out:
        document["held_out"] = _tables(held_out)
    for section in ("step", "frontend"):
        table = tomlkit.table(is_super_table=True)
        for name, entry in getattr(origin, section).items():
            table[name] = _entry(name, entry, values[name], draws.get(name), fitted=name in fitted)
        document[section] = table
    if draws:
        document["draws"] = {name: [_rounded(value) for value in column] for name, column in draws.items()}
    return tomlkit.dumps(document)


def _tables(entries: Sequence[Mapping[str, Any]]) -> Any:
    tables = tomlkit.aot()
    for entry in entries:
        tables.append(tomlkit.item(dict(entry)))
    return tables


def _held_out(accuracy: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the errors on unsaturated runs that were not fitted, a number of the table each."""
    law = accuracy["laws"][0]["name"]
    found = []
    for group in accuracy["groups"]:
        if group["name"] == "held_out":
            for column, error in group["mean_absolute_error"][law].items():
                quantity = f"{column.replace('_', ' ')} of unsaturated runs"
                found.append({"quantity": quantity, "n": group["runs"], "mape": _rounded(error)})
    return found


def write(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _entry(
    name: str, entry: Coefficient, value: float, draws: Sequence[float] | None, *, fitted: bool
) -> dict[str, Any]:
    low, high = entry.range if value == entry.value else (value, value)
    source = (
        f"{entry.source}; held in the fit" if value == entry.value else "given to the fit, and held in it"
    )
    if fitted and draws:
        low, high = np.percentile(draws, INTERVAL).tolist()
    if fitted:
        source = "fitted to the runs named above"
    return {
        "value": quantity(name, value),
        "range": [quantity(name, min(low, value)), quantity(name, max(high, value))],
        "source": source,
    }


def quantity(name: str, value: float) -> float | str:
    """Return a coefficient as a file has it: with its unit, "39.14us", or a plain number."""
    if name in _PLAIN:
        return _rounded(value)
    unit, factor = next((row for row in _UNITS if value >= row[1]), _UNITS[-1])
    return f"{value / factor:.5g}{unit}" if value else "0s"


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")
