"""What is wrong with a scenario: one line a problem, with its place, the value, and what is allowed."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from sim.base.errors import shown as value_shown
from sim.base.messages import reason
from sim.base.shipped import read_text
from sim.base.toml_text import is_place, line_of
from sim.scenario.overrides import Override
from sim.scenario.schema import JsonSchema, KeyPath, description, kinds_at, known_part, unknown_key

MOST_PROBLEMS = 20
_DISAGREEMENT = "disagreement"


class Source:
    """Where a scenario's keys were written: a file, if there is one, and `--set` options on top of it."""

    def __init__(self, path: Path | None, overrides: Sequence[Override] = ()) -> None:
        self.path = path
        self.overrides = overrides

    @cached_property
    def _text(self) -> str:
        return "" if self.path is None else read_text(self.path)

    def place(self, key: KeyPath, value: str = "") -> str:
        """Return where a key was written, and the key: "a.toml, line 2: seed = -1" or "--set seed=-1"."""
        shown = _shown(key) + (f" = {value}" if value else "")
        for override in reversed(self.overrides):
            if override.path == key[: len(override.path)]:
                inside = override.path != key
                return f"--set {override.text}: {shown}" if inside else f"--set {override.text}"
        if self.path is None:
            return shown
        line = line_of(self._text, key)
        place = str(self.path) if line is None else f"{self.path}, line {line}"
        return f"{place}: {shown}" if shown else place


def disagreement(key: str, value: object, reason: str) -> PydanticCustomError:
    """Return the error of a key that is fine in itself but does not go with another section."""
    return PydanticCustomError(
        _DISAGREEMENT, "{key} = {value}: {reason}", {"key": key, "value": value, "reason": reason}
    )


def describe(error: ValidationError, schema: JsonSchema, source: Source) -> str:
    """Return the problems that validation found, a line each."""
    # A value that fits none of several types is one problem with several reasons.
    reasons: dict[tuple[KeyPath, str], list[str]] = {}
    errors, left = error.errors(include_url=False), 0
    for place, details in enumerate(errors):
        if len(reasons) == MOST_PROBLEMS:
            left = len(errors) - place
            break
        key = _key(details, schema)
        found = reasons.setdefault((key, _value(details)), [])
        message = _message(details, key, schema)
        if message not in found:
            found.append(message)
    lines = []
    for (key, value), found in reasons.items():
        why = ", or ".join(found)
        lines.append(f"{source.place(key, '' if why.startswith(value) else value)}: {why}")
    if left:
        lines.append(f"and {left:,} more problems")
    return "\n".join(lines)


def _key(details: ErrorDetails, schema: JsonSchema) -> KeyPath:
    """Return the key that an error is about, without pydantic's names for the branches of a union."""
    if details["type"] == _DISAGREEMENT:
        return tuple(details["ctx"]["key"].split("."))
    parts = [*(part for part in details["loc"][:-1] if not _is_validator(part)), *details["loc"][-1:]]
    path = tuple(map(str, parts))
    index = next((place for place, part in enumerate(parts) if isinstance(part, int)), None)
    if index is not None and details["type"].startswith("union_tag"):
        return path[: index + 1]
    if index is not None and index + 2 < len(path):
        # Behind the number of an entry stands the name of its kind, then the key.
        return (*path[: index + 1], path[index + 2])
    path = _without_kind(path, schema)
    known = known_part(schema, path)
    return path[: len(known) + 1] if details["type"] == "extra_forbidden" else known


def _is_validator(part: str | int) -> bool:
    """Whether a part of a place is pydantic's name of a check: "function-after[_rise(), TokenShares]"."""
    return isinstance(part, str) and part.startswith("function-") and part.endswith("]")


def _without_kind(path: KeyPath, schema: JsonSchema) -> KeyPath:
    """Leave out the name of a table's kind, which stands where a key would."""
    known = known_part(schema, path)
    shorter = (*known, *path[len(known) + 1 :])
    is_kind = len(shorter) > len(known) and path[len(known)] in _kinds(schema, known)
    return shorter if is_kind else path


def _shown(key: KeyPath) -> str:
    """Return a key as a person writes it; entries of a list by number, from 1."""
    others = (f"[{int(part) + 1}]" if is_place(part) else f".{part}" for part in key[1:])
    return "".join([*key[:1], *others])


def _without_places(key: KeyPath) -> KeyPath:
    """Return a key without the places of entries in lists before its last part."""
    return (*(part for part in key[:-1] if not is_place(part)), *key[-1:])


def _value(details: ErrorDetails) -> str:
    value = details["ctx"]["value"] if details["type"] == _DISAGREEMENT else details["input"]
    if isinstance(value, Mapping) or details["type"] == "extra_forbidden":
        return ""
    if details["type"] == _DISAGREEMENT and isinstance(value, tuple):
        return ""  # which entry it is, the reason says
    return value_shown(value)


def _message(details: ErrorDetails, key: KeyPath, schema: JsonSchema) -> str:
    kind = details["type"]
    if kind == _DISAGREEMENT:
        return str(details["ctx"]["reason"])
    if kind == "extra_forbidden":
        return unknown_key(schema, _without_places(key), _kind_of(details, key, schema))
    if kind.startswith("union_tag"):
        return "has no kind that is known; there are " + ", ".join(_kinds(schema, key))
    if kind == "missing":
        in_list = isinstance(details["loc"][-1], int)
        missing = f"is missing: {description(schema, _without_places(key))}"
        return "has too few values" if in_list else missing
    return reason(details)


def _kind_of(details: ErrorDetails, key: KeyPath, schema: JsonSchema) -> str | None:
    """Return the kind of the table that a key stands in, as pydantic chose it; None if it has no kinds."""
    chosen = map(str, details["loc"][len(key) - 1 : -1])
    kinds = _kinds(schema, key[:-1])
    return next((part for part in chosen if part in kinds), None)


def _kinds(schema: JsonSchema, key: KeyPath) -> Sequence[str]:
    """Return the kinds that a table, or the entries of a list, may have."""
    return sorted(kinds_at(schema, [part for part in key if not is_place(part)]))
