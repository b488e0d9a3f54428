"""One row of a trace file, and how its fields are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Row:
    """A request as the file has it; times in the file's unit, so that re-basing whole numbers is exact."""

    line: int
    session: str | None
    request_id: str | None
    timestamp: float | None
    delay: float | None
    input_length: int
    output_length: int
    hash_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RowFormat:
    """A JSONL format with one request a line: its name, its keys, and its unit of time."""

    name: str
    keys: Mapping[str, tuple[str, ...]]
    """Field of `Row` to the keys that may hold it."""
    units_per_s: float

    def unknown_keys(self, record: Mapping[str, Any]) -> set[str]:
        """Return the keys of a record that this format has no use for."""
        return set(record).difference(*self.keys.values())

    def parse(self, record: Mapping[str, Any], line: int, intern: dict[int, int]) -> Row:
        """Return the row that a JSON object holds.

        `intern` makes equal ids of different rows one object: a session names the same chunks every turn.

        Raises:
            InputError: a field is missing or not what it must be; names key, value and what is allowed.

        """
        if not OTHER_FORMATS.keys().isdisjoint(record):
            key = next(key for key in OTHER_FORMATS if key in record)
            raise InputError(f'key "{key}" belongs to {OTHER_FORMATS[key]} format, which is not read here')
        ids = _ids(*self._get(record, "hash_ids"))
        return Row(
            line=line,
            session=_name(*self._get(record, "session")),
            request_id=_name(*self._get(record, "request_id")),
            timestamp=_time(*self._get(record, "timestamp"), at_least=-LARGEST_TIME),
            delay=_time(*self._get(record, "delay"), at_least=0),
            input_length=_length(*self._get(record, "input_length"), at_least=1),
            output_length=_length(*self._get(record, "output_length"), at_least=0),
            hash_ids=tuple(map(intern.setdefault, ids, ids)),
        )

    def _get(self, record: Mapping[str, Any], field: str) -> tuple[str, Any]:
        """Return the key that holds a field, and its value; None where it is missing."""
        keys = [key for key in self.keys.get(field, ()) if record.get(key) is not None]
        if len(keys) > 1:
            raise InputError(f"{' and '.join(keys)} mean the same: give one")
        return (keys[0], record[keys[0]]) if keys else (field, None)


def _length(key: str, value: Any, at_least: int) -> int:
    if value is None:
        raise InputError(f"{key} is missing: every row needs a whole number of tokens")
    if type(value) is not int or not at_least <= value <= LARGEST_LENGTH:
        raise InputError(
            f"{key} = {_shown(value)}: must be a whole number of tokens from {at_least} to {LARGEST_LENGTH:,}"
        )
    return value


def _time(key: str, value: Any, at_least: float) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not at_least <= value <= LARGEST_TIME:
        limit = "of at least 0" if at_least == 0 else f"between -{LARGEST_TIME:g} and {LARGEST_TIME:g}"
        raise InputError(f"{key} = {_shown(value)}: must be a finite number {limit}")
    number: float = value
    return number


def _name(key: str, value: Any) -> str | None:
    if value is None or type(value) is str:
        return value
    if type(value) is not int:
        raise InputError(f"{key} = {_shown(value)}: must be a string or a whole number")
    return str(value)


def _ids(key: str, value: Any) -> list[int]:
    if value is None:
        raise InputError(f"{key} is missing: without it no reuse of prefixes can be simulated")
    if type(value) is not list or not value:
        raise InputError(f"{key} = {_shown(value)}: must be a list of whole numbers, one for every chunk")
    if set(map(type, value)) != {int} or min(value) < 0 or max(value) > LARGEST_ID:
        bad = next(item for item in value if type(item) is not int or not 0 <= item <= LARGEST_ID)
        raise InputError(f"{key} holds {_shown(bad)}: every id must be a whole number from 0 to 2^64 - 1")
    ids: list[int] = value
    return ids


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
