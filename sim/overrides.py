"""`--set key.path=value`: a scenario's keys from the command line, laid over what its file says."""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sim.errors import InputError
from sim.schema import JsonSchema, KeyPath, known_part, unknown_key
from sim.workload.settings import NOT_BESIDE

_RIVALS: dict[KeyPath, Collection[str]] = {
    ("workload", "path"): NOT_BESIDE["path"],
    ("workload", "profile"): NOT_BESIDE["profile"],
    ("model", "preset"): {"config"},
    ("model", "config"): {"preset"},
    ("timing", "preset"): {"coefficients", "draw"},
    ("timing", "coefficients"): {"preset"},
}
"""Keys beside which others make no sense: setting one of them takes the others out."""


class Override(NamedTuple):
    """One `--set`."""

    path: KeyPath
    value: Any
    """None (written `none`) stands for "not given"."""
    text: str
    """As it was written."""


def parse_override(text: str, schema: JsonSchema) -> Override:
    """Return what `key.path=value` says. The value is TOML where it can be read as such, else a string.

    Raises:
        InputError: no `=`, or no such key in the schema; names the nearest.

    """
    keys, equals, value = text.partition("=")
    path = tuple(key.strip() for key in keys.split("."))
    if not equals or not all(path):
        raise InputError(f"--set {text}: write it as key=value, with a key such as workload.sessions")
    known = known_part(schema, path)
    if known != path:
        raise InputError(f"--set {text}: {unknown_key(schema, path[: len(known) + 1])}")
    return Override(path, _value(value.strip()), text)


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
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if len(parsed) == 1 else text


def _set(data: dict[str, Any], override: Override) -> None:
    table = data
    for key in override.path[:-1]:
        inner = as_table(table.get(key))
        table[key] = inner
        table = inner
    table[override.path[-1]] = override.value
