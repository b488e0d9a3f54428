"""Folders of results: what a comparison reads from them, and the one it writes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar

from pydantic import ValidationError

from sim.base.errors import InputError
from sim.base.messages import first_problem
from sim.base.reading import json_file
from sim.base.shipped import read_toml, scenario_names
from sim.base.whole_file import write_text
from sim.results.metrics import LATER, empty_summary, to_json
from sim.results.parquet import write_parquet
from sim.runs.columns import long_table, wide_table
from sim.runs.comparison import SCHEMA_VERSION, Comparison
from sim.runs.journal import NAME as JOURNAL
from sim.runs.journal import read_journal
from sim.runs.rule_effects import to_dict
from sim.runs.run import Run
from sim.runs.sizing import Sized
from sim.runs.stored import StoredComparison, StoredSweep
from sim.runs.sweep import Sweep
from sim.runs.tuning import BEST, Tuned

SUMMARY, SCENARIO, COMPARISON, SWEEP = "summary.json", "scenario.toml", "comparison.json", "sweep.json"
SETTINGS = "scenarios"
"""The folder of a comparison that has every scenario at every point."""
_Content = TypeVar("_Content", StoredComparison, StoredSweep)


def is_folder(source: str | Path) -> bool:
    """Tell a folder from a scenario; a bare name that is a shipped scenario's is the scenario."""
    bare = "/" not in str(source) and not isinstance(source, Path)
    return Path(source).is_dir() and not (bare and source in scenario_names())


def read_runs(folder: Path, name: str) -> list[Run]:
    """Return the runs that a folder holds: of one run, of several seeds, of a comparison or a sweep.

    A run's scenario is called `name`; those of a comparison or sweep keep their names.

    Raises:
        InputError: the folder holds no results, or a file is damaged; names it.

    """
    if (folder / COMPARISON).is_file():
        return _compared_runs(folder)
    if (folder / SWEEP).is_file():
        return list(read_sweep(folder).runs)
    parts = [part for kind in ("seed-*", "draw-*") for part in folder.glob(kind) if part.is_dir()]
    if not parts and not (folder / SUMMARY).is_file():
        raise InputError(
            f"{folder}: holds no results: no {SUMMARY}, {COMPARISON}, {SWEEP}, no folders seed-* or draw-*; "
            "give a folder that --out of `sim run`, `sim compare` or `sim sweep` made"
        )
    runs = [_single_run(part, name) for part in parts or [folder]]
    return sorted(runs, key=lambda run: (run.seed, run.draw))


def read_comparison(folder: Path) -> Comparison:
    """Return a comparison or sweep that was written, or the seeds of a run as a comparison of one scenario.

    Raises:
        InputError: as `read_runs`.

    """
    if (folder / SWEEP).is_file():
        return read_sweep(folder)
    runs = read_runs(folder, folder.resolve().name)
    return Comparison(list(dict.fromkeys(run.scenario for run in runs)), runs)


def write_comparison(comparison: Comparison, metrics: Sequence[str], folder: Path) -> None:
    """Write comparison.json (rows of these numbers), comparison.parquet (all numbers), the scenarios."""
    import tomlkit  # noqa: PLC0415

    write_text(folder / COMPARISON, to_json(to_dict(comparison, metrics)))
    write_parquet(long_table(comparison), folder / "comparison.parquet")
    (folder / SETTINGS).mkdir()
    for file, run in {comparison.settings_file(run): run for run in comparison.runs}.items():
        write_text(folder / SETTINGS / file, tomlkit.dumps(run.settings))


def write_sweep(sweep: Sweep, fingerprints: Sequence[str], folder: Path) -> None:
    """Write sweep.parquet (a row for each run), and sweep.json: which runs of the folder's journal it has."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "scenario": sweep.scenarios[0],
        "sampled": list(sweep.sampled),
        "runs": [
            {"fingerprint": key, "written": dict(run.written)}
            for key, run in zip(fingerprints, sweep.runs, strict=True)
        ],
    }
    write_parquet(wide_table(sweep), folder / "sweep.parquet")
    write_text(folder / SWEEP, to_json(content))


def write_tuned(tuned: Tuned, folder: Path) -> None:
    """Write tune.json, trials.parquet, and the scenario with the best settings as best.toml."""
    import tomlkit  # noqa: PLC0415

    write_parquet(tuned.table(), folder / "trials.parquet")
    best = next(run for run in tuned.check.runs if run.scenario == BEST)
    write_text(folder / "best.toml", tomlkit.dumps(best.settings))
    write_text(folder / "tune.json", to_json(tuned.to_dict()))


def write_sized(sized: Sized, folder: Path) -> None:
    """Write size.json, and clusters.parquet with a row for each cluster that was tried."""
    write_parquet(sized.table(), folder / "clusters.parquet")
    write_text(folder / "size.json", to_json(sized.to_dict()))


def read_sweep(folder: Path) -> Sweep:
    """Return the sweep that a folder holds.

    Raises:
        InputError: it holds none, or a file is damaged; names it.

    """
    content, kept = _read_as(StoredSweep, folder / SWEEP), read_journal(folder)
    for run in content.runs:
        if run.fingerprint not in kept:
            raise InputError(f"{folder / SWEEP}: a run is lost: {JOURNAL} has no {run.fingerprint}")
    runs = [
        replace(kept[run.fingerprint], scenario=content.scenario, written=run.written) for run in content.runs
    ]
    return Sweep(content.scenario, runs, content.sampled)


def _single_run(folder: Path, name: str) -> Run:
    settings = read_toml(folder / SCENARIO)
    summary = read_versioned(folder / SUMMARY)
    draw = settings.get("timing", {}).get("draw", 0)
    return Run(name, settings, {}, settings.get("seed", 0), summary, summary.get("notes", ()), draw=draw)


def _compared_runs(folder: Path) -> list[Run]:
    stored = _read_as(StoredComparison, folder / COMPARISON)
    return [
        Run(
            run.scenario,
            read_toml(folder / SETTINGS / run.settings),
            run.written,
            run.seed,
            run.summary,
            run.notes,
            run.error or "",
            run.draw,
            run.switched,
        )
        for run in (*stored.runs, *stored.rule_runs)
    ]


def _read_as(kind: type[_Content], path: Path) -> _Content:
    """Return what a file of this version holds.

    Raises:
        InputError: as `read_versioned`, or it holds something else; names the first key that is wrong.

    """
    try:
        return kind.model_validate(read_versioned(path))
    except ValidationError as error:
        raise InputError(f"{path}: not as --out writes it: {first_problem(error)}") from error


def read_summary(path: Path) -> dict[str, Any]:
    """Return the summary of one run.

    Raises:
        InputError: as `read_versioned`, or something that every run has is missing; names it.

    """
    content = read_versioned(path)
    _check_like(content, empty_summary(), path)
    return content


def _check_like(found: Mapping[str, Any], pattern: Mapping[str, Any], path: Path, table: str = "") -> None:
    """Refuse what lacks a key of the pattern, or has something of another kind there."""
    for key, like in pattern.items():
        if key not in found and key in LATER:
            continue
        if key not in found:
            raise InputError(f"{path}: has no {table}{key}, not as `sim run` writes it")
        value = found[key]
        # What is null in a run of nothing may be a number or a table.
        kinds = type(like) if isinstance(like, dict | list) else (int, float, dict, NoneType)
        if not isinstance(value, kinds):
            raise InputError(f"{path}: {table}{key} is {value!r:.40}, not as `sim run` writes it")
        if isinstance(like, dict) and isinstance(value, dict):
            _check_like(value, like, path, f"{table}{key}.")


def read_versioned(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file that says that it is of this version.

    Raises:
        InputError: the file cannot be read, holds no JSON object, or is of another version.

    """
    content = json_file(path)
    version = content.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(f"{path}: schema_version is {version}; {SCHEMA_VERSION} is understood")
    return content
