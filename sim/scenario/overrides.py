"""`--set key.path=value`: a scenario's keys from the command line or Python, laid over what its file says."""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from sim.base import toml_text
from sim.base.errors import InputError
from sim.scenario.schema import JsonSchema, KeyPath, known_part, unknown_key
from sim.workload.settings import NOT_BESIDE

_RIVALS: dict[KeyPath, Collection[str]] = {
    ("workload", "path"): {*NOT_BESIDE["path"], "sessions"},
    ("workload", "profile"): NOT_BESIDE["profile"],
    ("workload", "synthetic"): NOT_BESIDE["synthetic"],
    ("workload", "synthetic", "kind"): NOT_BESIDE["synthetic"],
    ("model", "preset"): {"config"},
    ("model", "config"): {"preset"},
    ("timing", "preset"): {"coefficients", "draw"},
    ("timing", "coefficients"): {"preset"},
}
"""Keys beside which others make no sense, or not the same: setting one of them takes the others out."""


Overrides = str | Sequence[str] | Mapping[str, Any]
"""Changes of a scenario: texts as `--set` takes them, or values by dotted key; None takes a key out."""

_SPECIAL = frozenset(",:\"'[]{}")
"""What makes text more than one plain value."""


class Override(NamedTuple):
    """One `--set`."""

    path: KeyPath
    value: Any
    """None (written `none`) stands for "not given"."""
    text: str
    """As it was written."""


def parse_override(text: str, schema: JsonSchema | None, option: str = "--set") -> Override:
    """Return what `key.path=value` of an option says.

    The value is TOML where it can be read as such, else a string. Without a schema any key will do.

    Raises:
        InputError: no `=`, or no such key in the schema; names the nearest.

    """
    keys, equals, value = text.partition("=")
    path = tuple(key.strip() for key in keys.split("."))
    if not equals or not all(path):
        raise InputError(f"{option} {text}: write it as key=value, with a key such as workload.sessions")
    if schema is not None:
        known = known_part(schema, path)
        if known != path:
            raise InputError(f"{option} {text}: {unknown_key(schema, path[: len(known) + 1])}")
    return Override(path, _value(value.strip()), text)


def as_texts(overrides: Overrides, *, points: bool = False) -> list[str]:
    """Return overrides as `--set` would have them.

    Args:
        overrides: texts are returned as they are; values by key are written as TOML.
        points: a list, range or array by key stands for several values, not for one that is a list; a text
            is taken as `--set` would take it, with the lists and ranges of `sim.scenario.points`.

    Raises:
        InputError: no values for a key, or a value that no key can have.

    """
    if isinstance(overrides, str):
        return [overrides]
    if isinstance(overrides, Sequence) and all(isinstance(text, str) for text in overrides):
        return list(overrides)
    if not isinstance(overrides, Mapping):
        raise InputError(
            f'overrides {overrides!r}: give texts such as "workload.sessions=28", or values by key'
        )
    return [f"{key}={_written(key, value, points=points)}" for key, value in overrides.items()]


def apply(data: dict[str, Any], overrides: Sequence[Override]) -> None:
    """Change a scenario's raw content: take out what the new values make senseless, then set them all."""
    for override in overrides:
        table = data.get(override.path[0])
        if isinstance(table, dict) and override.value is not None:
            for rival in _RIVALS.get(override.path, ()):
                table.pop(rival, None)
    for override in overrides:
        _set(data, override)


def as_table(choice: object) -> dict[str, Any]:
    """Return the table that a model or GPU stands for when it is written as a mere name."""
    if isinstance(choice, str):
        return {"config" if choice.endswith(".json") else "preset": choice}
    return dict(choice) if isinstance(choice, Mapping) else {}


def _value(text: str) -> Any:
    if text == "none":
        return None
    try:
        parsed = toml_text.parse(f"value = {text}")
    except ValueError:
        return text
    return parsed["value"] if len(parsed) == 1 else text


def _written(key: str, value: Any, *, points: bool) -> str:
    """Return a value, or several with commas between, as text that reads as the same."""
    if hasattr(value, "tolist"):  # of NumPy or pandas
        value = value.tolist()
    if points and isinstance(value, str):
        return value
    if points and isinstance(value, list | tuple | range):
        if not value:
            raise InputError(f"{key}: is given without a value")
        return ",".join(_plain(key, each) for each in value)
    return _plain(key, value)


def _plain(key: str, value: Any) -> str:
    """Return a value as text, a string without quotes where it needs none."""
    if value is None:
        return "none"
    if isinstance(value, str) and value and not _SPECIAL.intersection(value) and _value(value) == value:
        return value
    return _toml(key, value)


def _toml(key: str, value: Any) -> str:
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, PurePath):
        return _toml(key, str(value))
    if isinstance(value, Mapping):
        inner = (f"{json.dumps(name)} = {_toml(key, each)}" for name, each in value.items())
        return f"{{{', '.join(inner)}}}"
    if isinstance(value, list | tuple | range):
        return f"[{', '.join(_toml(key, each) for each in value)}]"
    raise InputError(f"{key}: {value!r} is a {type(value).__name__}; give text, a number, a flag or a list")


def _set(data: dict[str, Any], override: Override) -> None:
    table = data
    for key in override.path[:-1]:
        inner = as_table(table.get(key))
        table[key] = inner
        table = inner
    table[override.path[-1]] = override.value
