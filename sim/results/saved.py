"""Folders of results: what a comparison reads from them, and the one it writes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from sim.results.compared import SCHEMA_VERSION, Comparison, Run
from sim.results.metrics import to_json
from sim.shipped import read_toml

if TYPE_CHECKING:
    import pyarrow as pa

SUMMARY, SCENARIO, COMPARISON = "summary.json", "scenario.toml", "comparison.json"
SETTINGS = "scenarios"
"""The folder of a comparison that has every scenario at every point."""


def read_runs(folder: Path, name: str) -> list[Run]:
    """Return the runs that a folder holds: of one run, of several seeds, or of a comparison.

    A run's scenario is called `name`; those of a comparison keep their names.

    Raises:
        InputError: the folder holds no results, or a file is damaged; names it.

    """
    if (folder / COMPARISON).is_file():
        return _compared_runs(folder)
    parts = [part for kind in ("seed-*", "draw-*") for part in folder.glob(kind) if part.is_dir()]
    if not parts and not (folder / SUMMARY).is_file():
        raise InputError(
            f"{folder}: holds no results: no {SUMMARY}, no {COMPARISON}, no folders seed-* or draw-*; "
            "give a folder that --out of `sim run` or `sim compare` made"
        )
    runs = [_single_run(part, name) for part in parts or [folder]]
    return sorted(runs, key=lambda run: (run.seed, run.draw))


def write_comparison(comparison: Comparison, metrics: Sequence[str], folder: Path) -> None:
    """Write comparison.json (rows of these numbers), comparison.parquet (all numbers), the scenarios."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import
    import tomlkit  # noqa: PLC0415

    (folder / COMPARISON).write_text(to_json(comparison.to_dict(metrics)), encoding="utf-8")
    pq.write_table(_long_table(comparison), folder / "comparison.parquet", compression="zstd")
    (folder / SETTINGS).mkdir()
    for file, run in {comparison.settings_file(run): run for run in comparison.runs}.items():
        (folder / SETTINGS / file).write_text(tomlkit.dumps(run.settings), encoding="utf-8")


def _single_run(folder: Path, name: str) -> Run:
    settings = read_toml(folder / SCENARIO)
    draw = settings.get("timing", {}).get("draw", 0)
    return Run(name, settings, {}, settings.get("seed", 0), _read_json(folder / SUMMARY), draw=draw)


def _compared_runs(folder: Path) -> list[Run]:
    content = _read_json(folder / COMPARISON)
    version = content.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{folder / COMPARISON}: schema_version is {version}; {SCHEMA_VERSION} is understood"
        )
    try:
        runs = [_compared_run(folder, run) for run in content["runs"]]
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder / COMPARISON}: not as `sim compare` writes it: {error!r}") from error
    if not runs:
        raise InputError(f"{folder / COMPARISON}: holds no run")
    return runs


def _compared_run(folder: Path, run: dict[str, Any]) -> Run:
    return Run(
        run["scenario"],
        read_toml(folder / SETTINGS / run["settings"]),
        run["written"],
        run["seed"],
        run["summary"],
        run["notes"],
        run["error"] or "",
        run.get("draw", 0),
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not a JSON file: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: must hold a JSON object")
    return content


def _long_table(comparison: Comparison) -> "pa.Table":
    """Return a row for every number of every run: scenario, the swept keys, seed, draw, metric, value."""
    import pyarrow as pa  # noqa: PLC0415

    records = list(comparison.records())
    columns: dict[str, Any] = {"scenario": pa.array([record.scenario for record in records], pa.string())}
    for place, key in enumerate(comparison.keys):
        columns[key] = _typed([record.point[place] for record in records])
    columns["seed"] = pa.array([record.seed for record in records], pa.int64())
    columns["draw"] = pa.array([record.draw for record in records], pa.int64())
    columns["metric"] = pa.array([record.metric for record in records], pa.string())
    columns["value"] = pa.array([float(record.value) for record in records], pa.float64())
    return pa.table(columns)


def _typed(values: Sequence[Any]) -> Any:
    """Return a column of the one type that values of a key have; of mixed types, their text."""
    import pyarrow as pa  # noqa: PLC0415

    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values])
    if len(kinds) > 1:
        return pa.array([None if value is None else str(value) for value in values])
    return pa.array(values)
