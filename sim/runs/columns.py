"""Runs side by side as tables: a row for each number, for each run, or for each number over seeds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sim.results.parquet import texts_column
from sim.results.quantities import si_unit
from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Value
from sim.runs.paired import NO_ESTIMATE

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def long_table(comparison: Comparison) -> "pa.Table":
    """Return a row for every number of every run: scenario, the swept keys, seed, draw, metric, value."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    records = list(comparison.records())
    columns: dict[str, Any] = {"scenario": texts_column([record.scenario for record in records])}
    for place, key in enumerate(comparison.keys):
        columns[key] = _typed([record.point[place] for record in records])
    columns["seed"] = pa.array([record.seed for record in records], pa.int64())
    columns["draw"] = pa.array([record.draw for record in records], pa.int64())
    columns["metric"] = pa.array([record.metric for record in records], pa.string())
    columns["value"] = pa.array([float(record.value) for record in records], pa.float64())
    return pa.table(columns)


def wide_table(comparison: Comparison) -> "pa.Table":
    """Return a row for every run: scenario, swept keys, seed, draw, error, and a column for every number."""
    import pyarrow as pa  # noqa: PLC0415

    runs = comparison.runs
    columns: dict[str, Any] = {"scenario": texts_column([run.scenario for run in runs])}
    for key in comparison.keys:
        columns[key] = _typed([run.value(key) for run in runs])
    columns["seed"] = pa.array([run.seed for run in runs], pa.int64())
    columns["draw"] = pa.array([run.draw for run in runs], pa.int64())
    columns["error"] = texts_column([run.error or None for run in runs])
    for metric in comparison.metrics:
        values = [run.numbers.get(metric) for run in runs]
        columns[metric] = pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.table(columns)


def summary_frame(comparison: Comparison, metrics: Sequence[str]) -> "pd.DataFrame":
    """Return a row for each number, point and scenario: see `Comparison.summary`."""
    import pandas as pd  # noqa: PLC0415

    distances = ("difference", "ratio")
    middle = comparison.middle
    rows: list[dict[str, Any]] = []
    for row in comparison.rows(metrics):
        for scenario, spread in row.spreads.items():
            entry: dict[str, Any] = {"metric": row.metric, "unit": si_unit(row.metric)}
            entry.update(zip(comparison.keys, row.point, strict=True))
            entry |= {"scenario": scenario, middle: spread.middle, "low": spread.low, "high": spread.high}
            for name, estimates in zip(distances, (row.differences, row.ratios), strict=True):
                found = estimates.get(scenario, NO_ESTIMATE)
                entry |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
            rows.append(entry)
    numbers = [middle, "low", "high", *(name + end for name in distances for end in ("", "_low", "_high"))]
    return pd.DataFrame(rows).astype(dict.fromkeys(numbers, float))


def _typed(values: Sequence[Value]) -> Any:
    """Return a column of the one type that values of a key have; of mixed types, their text."""
    import pyarrow as pa  # noqa: PLC0415

    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values])
    if len(kinds) > 1 or kinds == {str}:
        return texts_column([None if value is None else str(value) for value in values])
    return pa.array(values)
