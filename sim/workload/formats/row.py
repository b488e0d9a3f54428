"""One row of a trace file, and how its fields are read."""

from array import array
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from sim.errors import InputError

LARGEST_LENGTH = 10**9
LARGEST_TIME = 1e15
LARGEST_ID = 2**64 - 1

OTHER_FORMATS = {
    "wait_for": "Dynamo's agentic_mooncake",
    "branches": "Dynamo's agentic_mooncake",
    "prefix_reset": "Dynamo's agentic_mooncake",
    "tool_wait_ms": "Dynamo's agentic_mooncake",
    "tool_events": "Dynamo's agentic_mooncake",
    "num_turns": "Dynamo's applied_compute_agentic",
    "event": "Dynamo's request trace",
    "chat_id": "Bailian",
    "requests": "kv-cache-tester (Weka)",
    "text_input": "AIPerf's trace with text",
    "messages": "AIPerf's trace with text",
}
"""Keys that change what a row means, and the format that they belong to."""


class Row(NamedTuple):
    """A request as the file has it; times in the file's unit, so that re-basing whole numbers is exact."""

    line: int
    session: str | None
    request_id: str | None
    timestamp: float | None
    delay: float | None
    input_length: int
    output_length: int
    hash_ids: "array[int]"
    """Unsigned 64-bit numbers."""


FIELDS = Row._fields[1:]
Layout = tuple[str | None, ...]
"""Which key of an object holds each of these fields, if any."""


@dataclass(frozen=True, slots=True)
class RowFormat:
    """A JSONL format with one request a line: its name, its keys, and its unit of time."""

    name: str
    keys: Mapping[str, tuple[str, ...]]
    """Field of `Row` to the keys that may hold it."""
    units_per_s: float


class RowReader:
    """Reads the JSON objects of one file as rows of a format."""

    def __init__(self, row_format: RowFormat) -> None:
        self.unknown_keys: set[str] = set()
        """Keys of the objects so far that the format has no use for."""
        self._format = row_format
        self._layouts: dict[tuple[str, ...], Layout] = {}
        """By the keys of an object, which mostly are the same in a whole file."""

    def row(self, record: Mapping[str, Any], line: int) -> Row:
        """Return the row that a JSON object holds.

        Raises:
            InputError: a field is missing or not what it must be; names key, value and what is allowed.

        """
        keys = self._layouts.get(tuple(record)) or self._layout(record)
        session, request_id, timestamp, delay, input_length, output_length, ids = map(
            record.get,  # type: ignore[arg-type]  # None is no key of a JSON object
            keys,
        )
        hash_ids = _ids(keys[6], ids)
        return Row(
            line,
            None if session is None else _name(keys[0], session),
            None if request_id is None else _name(keys[1], request_id),
            None if timestamp is None else _time(keys[2], timestamp, -LARGEST_TIME),
            None if delay is None else _time(keys[3], delay, 0),
            _length("input_length", keys[4], input_length, 1),
            _length("output_length", keys[5], output_length, 0),
            hash_ids,
        )

    def _layout(self, record: Mapping[str, Any]) -> Layout:
        if not OTHER_FORMATS.keys().isdisjoint(record):
            key = next(key for key in OTHER_FORMATS if key in record)
            raise InputError(f'key "{key}" belongs to {OTHER_FORMATS[key]} format, which is not read here')
        known = self._format.keys
        self.unknown_keys.update(set(record).difference(*known.values()))
        found = [[key for key in known.get(field, ()) if key in record] for field in FIELDS]
        plain = all(len(keys) < 2 for keys in found)
        if not plain:
            found = [[key for key in keys if record[key] is not None] for keys in found]
        for keys in found:
            if len(keys) > 1:
                raise InputError(f"{' and '.join(keys)} mean the same: give one")
        layout = tuple(keys[0] if keys else None for keys in found)
        if plain:
            self._layouts[tuple(record)] = layout
        return layout


def _length(field: str, key: str | None, value: Any, at_least: int) -> int:
    if value is None:
        raise InputError(f"{field} is missing: every row needs a whole number of tokens")
    if type(value) is not int or not at_least <= value <= LARGEST_LENGTH:
        raise InputError(
            f"{key} = {_shown(value)}: must be a whole number of tokens from {at_least} to {LARGEST_LENGTH:,}"
        )
    return value


def _time(key: str | None, value: Any, at_least: float) -> float:
    if type(value) not in (int, float) or not at_least <= value <= LARGEST_TIME:
        raise InputError(
            f"{key} = {_shown(value)}: must be a finite number from {at_least:g} to {LARGEST_TIME:g}"
        )
    number: float = value
    return number


def _name(key: str | None, value: Any) -> str:
    if type(value) is str:
        return value
    if type(value) is not int:
        raise InputError(f"{key} = {_shown(value)}: must be a string or a whole number")
    return str(value)


def _ids(key: str | None, value: Any) -> "array[int]":
    if value is None:
        raise InputError("hash_ids is missing: without it no reuse of prefixes can be simulated")
    if type(value) is not list or not value:
        raise InputError(f"{key} = {_shown(value)}: must be a list of whole numbers, one for every chunk")
    with suppress(OverflowError):
        if set(map(type, value)) == {int}:  # True is an int, but no id
            return array("Q", value)
    bad = next(item for item in value if type(item) is not int or not 0 <= item <= LARGEST_ID)
    raise InputError(f"{key} holds {_shown(bad)}: every id must be a whole number from 0 to 2^64 - 1")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
