"""Runs side by side as Arrow tables: long, a row for each number, and wide, a row for each run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sim.results.compared import Comparison, Value

if TYPE_CHECKING:
    import pyarrow as pa


def long_table(comparison: Comparison) -> "pa.Table":
    """Return a row for every number of every run: scenario, the swept keys, seed, metric, value."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    records = list(comparison.records())
    columns: dict[str, Any] = {"scenario": pa.array([record[0] for record in records], pa.string())}
    for place, key in enumerate(comparison.keys):
        columns[key] = _typed([record[1][place] for record in records])
    columns["seed"] = pa.array([record[2] for record in records], pa.int64())
    columns["metric"] = pa.array([record[3] for record in records], pa.string())
    columns["value"] = pa.array([float(record[4]) for record in records], pa.float64())
    return pa.table(columns)


def wide_table(comparison: Comparison) -> "pa.Table":
    """Return a row for every run: scenario, the swept keys, seed, error, and a column for every number."""
    import pyarrow as pa  # noqa: PLC0415

    runs = comparison.runs
    columns: dict[str, Any] = {"scenario": pa.array([run.scenario for run in runs], pa.string())}
    for key in comparison.keys:
        columns[key] = _typed([run.value(key) for run in runs])
    columns["seed"] = pa.array([run.seed for run in runs], pa.int64())
    columns["error"] = pa.array([run.error or None for run in runs], pa.string())
    for metric in comparison.metrics:
        values = [run.numbers.get(metric) for run in runs]
        columns[metric] = pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.table(columns)


def _typed(values: Sequence[Value]) -> Any:
    """Return a column of the one type that values of a key have; of mixed types, their text."""
    import pyarrow as pa  # noqa: PLC0415

    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values])
    if len(kinds) > 1:
        return pa.array([None if value is None else str(value) for value in values])
    return pa.array(values)
