"""Reads a scenario from a TOML file, or the shipped one of a name, and lays overrides over it."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sim.base.errors import InputError, shown
from sim.base.shipped import as_path, is_path, read_toml, scenario_path
from sim.hardware.presets import is_model_folder
from sim.scenario.overrides import Overrides, apply, as_table, as_texts, parse_override
from sim.scenario.problems import Source, describe
from sim.scenario.scenario import Scenario, scenario_schema
from sim.workload.sources import STDIN, why_no_trace

_PATHS = (("workload", "path"), ("model", "config"), ("timing", "coefficients"), ("router", "policy_config"))


def load_scenario(
    source: str | Path | Scenario, overrides: Overrides = (), *, needs_files: bool = True
) -> Scenario:
    """Return the scenario of a TOML file, or the shipped one of a name, under overrides.

    A relative path in the file starts at the file's folder, one in an override at the current directory. A
    scenario that was loaded before is changed in its place. `needs_files`: whether the files that it names,
    of a trace and of coefficients, have to be there, as for a run.

    Raises:
        InputError: says of every problem the file and line, or the override; the value; and what is allowed.

    """
    scenario, written = _read(source, overrides)
    if not needs_files:
        return scenario
    for reason in filter(None, map(why_no_trace, scenario.workload.paths)):
        raise InputError(f"{written.place(('workload', 'path'))}: {reason}")
    _check_coefficients(scenario, written)
    return scenario


def _read(source: str | Path | Scenario, overrides: Overrides) -> tuple[Scenario, Source]:
    """Return a scenario, and where its keys were written."""
    texts = as_texts(overrides)
    changes = [parse_override(text, None) for text in texts]
    if isinstance(source, Scenario):
        written, data = Source(None, changes), source.to_dict()
    else:
        path = _locate(source)
        written, data = Source(path, changes), {"title": path.stem, **read_toml(path)}
        _make_absolute(data, path.parent)
    apply(data, changes)
    _make_absolute(data, Path())
    try:
        return Scenario.model_validate(data), written
    except ValidationError as error:
        schema = scenario_schema()  # takes longer than all else, and only says what is wrong
        for text in texts:
            parse_override(text, schema)
        raise InputError(describe(error, schema, written)) from error


def _check_coefficients(scenario: Scenario, source: Source) -> None:
    """Refuse coefficients that the scenario asks for and cannot have."""
    key = "draw" if scenario.timing.coefficients is None else "coefficients"
    if not getattr(scenario.timing, key):
        return
    try:
        scenario.coefficients()
    except InputError as error:
        place = source.place(("timing", key), repr(getattr(scenario.timing, key)))
        raise InputError(f"{place}: {error}") from error


def _locate(path_or_name: str | Path) -> Path:
    """Tell a path (it has a folder or ends in .toml) from the name of a shipped scenario."""
    path = as_path(path_or_name)
    if isinstance(path_or_name, Path) or is_path(path_or_name):
        return path
    return scenario_path(path_or_name)


def _make_absolute(data: dict[str, Any], folder: Path) -> None:
    """Let the relative paths of a scenario's raw content start at `folder`."""
    if isinstance(data.get("model"), str):
        data["model"] = as_table(data["model"])
    model = data.get("model")
    if isinstance(model, dict) and is_model_folder(model.get("preset"), folder):
        model["config"] = model.pop("preset")
    for section, key in _PATHS:
        table = data.get(section)
        if not isinstance(table, dict):
            continue
        value = table.get(key)
        if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            table[key] = [_absolute(folder, each, f"{section}.{key}") for each in value]
        elif isinstance(value, str) and value != str(STDIN) and (section != "timing" or is_path(value)):
            table[key] = _absolute(folder, value, f"{section}.{key}")


def _absolute(folder: Path, path: str, key: str) -> str:
    try:
        return str((folder / Path(path).expanduser()).resolve())
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"{key} = {shown(path)}: {error}") from error
