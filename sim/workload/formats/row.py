"""Formats with a request a line, and how the fields of one are read."""

from array import array
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sim.base.errors import InputError, is_inert, shown
from sim.workload.formats.foreign import foreign_format
from sim.workload.row import Row

LARGEST_LENGTH = 10**9
LARGEST_TIME = 1e15
LARGEST_ID = 2**64 - 1
LONGEST_NAME = 1_000
MOST_KEYS = 1_000
"""Names of keys, and sets of them, that are remembered."""


FIELDS = Row._fields[1:8]
NEEDED = frozenset({"timestamp", "input_length", "output_length", "hash_ids"})
"""Fields that every format has keys for."""
Layout = tuple[str | None, ...]
"""Which key of an object holds each of these fields, or would; None if the format has none for it."""


@dataclass(frozen=True, slots=True)
class RowFormat:
    """A JSONL format with one request a line: its name, its keys, and its unit of time.

    Raises:
        ValueError: `keys` has a field that is none, or lacks one that every request needs.

    """

    name: str
    keys: Mapping[str, tuple[str, ...]]
    """Field of `Row` to the keys that may hold it; the first of them is what messages call it."""
    units_per_s: float
    """Units of its timestamps and delays in a second."""
    any_unit: bool = False
    """Whether `workload.sec_multiplier` may say another unit."""
    told_by_keys: bool = True
    """Whether `format = "auto"` may choose it: not if another format has all of its keys."""
    deltas: bool = False
    """Whether a row holds what its turn adds to the prompt and the answer before, not the whole prompt."""

    def __post_init__(self) -> None:
        strange, missing = self.keys.keys() - set(FIELDS), NEEDED - self.keys.keys()
        if strange or missing:
            raise ValueError(f"keys of {self.name}: no fields {sorted(strange)}, missing {sorted(missing)}")

    @property
    def known_keys(self) -> frozenset[str]:
        """All keys that have a meaning."""
        return frozenset(key for keys in self.keys.values() for key in keys)

    def key(self, field: str) -> str:
        """Return what messages call a field."""
        return self.keys.get(field, (field,))[0]


class RowReader:
    """Reads the JSON objects of one file as rows of a format."""

    def __init__(self, row_format: RowFormat, *, may_be_empty: bool = False) -> None:
        """`may_be_empty`: whether a row may have no hash ids."""
        self._may_be_empty = may_be_empty
        self.unknown_keys: set[str] = set()
        """Keys of the objects so far that the format has no use for."""
        self.models: Counter[str] = Counter()
        """Rows so far by the model that they name."""
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
        model = record.get("model")
        if type(model) is str and (len(self.models) < MOST_KEYS or model in self.models):
            self.models[model] += 1
        hash_ids = _ids(keys[6], ids, empty=self._may_be_empty)
        return Row(
            line,
            None if session is None else _name(keys[0], session),
            None if request_id is None else _name(keys[1], request_id),
            None if timestamp is None else _time(keys[2], timestamp, -LARGEST_TIME),
            None if delay is None else _time(keys[3], delay, 0),
            _length(keys[4], input_length, 1),
            _length(keys[5], output_length, 0),
            hash_ids,
        )

    def _layout(self, record: Mapping[str, Any]) -> Layout:
        if (foreign := foreign_format(record)) is not None:
            raise foreign
        known = self._format.keys
        if len(self.unknown_keys) < MOST_KEYS:
            self.unknown_keys.update(record.keys() - self._format.known_keys)
        found = [[key for key in known.get(field, ()) if key in record] for field in FIELDS]
        plain = all(len(keys) < 2 for keys in found)
        if not plain:
            found = [[key for key in keys if record[key] is not None] for keys in found]
        for keys in found:
            if len(keys) > 1:
                raise InputError(f"{' and '.join(keys)} mean the same: give one")
        firsts = (known.get(field, (None,))[0] for field in FIELDS)
        layout = tuple(keys[0] if keys else first for keys, first in zip(found, firsts, strict=True))
        if plain and len(self._layouts) < MOST_KEYS:
            self._layouts[tuple(record)] = layout
        return layout


def _length(key: str | None, value: Any, at_least: int) -> int:
    if value is None:
        raise InputError(f"{key} is missing: every row needs a whole number of tokens")
    if type(value) is not int or not at_least <= value <= LARGEST_LENGTH:
        raise InputError(
            f"{key} = {shown(value)}: must be a whole number of tokens from {at_least} to {LARGEST_LENGTH:,}"
        )
    return value


def _time(key: str | None, value: Any, at_least: float) -> float:
    if type(value) not in (int, float) or not at_least <= value <= LARGEST_TIME:
        raise InputError(
            f"{key} = {shown(value)}: must be a finite number from {at_least:g} to {LARGEST_TIME:g}"
        )
    number: float = value
    return number


def _name(key: str | None, value: Any) -> str:
    if type(value) is str:
        if len(value) > LONGEST_NAME or not (value.isprintable() or is_inert(value)):
            raise InputError(
                f"{key} = {shown(value)}: must have at most {LONGEST_NAME:,} characters, and none that "
                "controls a terminal or is half of a surrogate pair"
            )
        return value
    if type(value) is not int:
        raise InputError(f"{key} = {shown(value)}: must be a string or a whole number")
    return str(value)


def _ids(key: str | None, value: Any, *, empty: bool) -> "array[int]":
    if value is None:
        raise InputError(f"{key} is missing: without it no reuse of prefixes can be simulated")
    if type(value) is not list or not (value or empty):
        raise InputError(
            f"{key} = {shown(value)}: must be a list of whole numbers, one for every chunk "
            '(none is for prompts below one chunk with hash_rounding = "floor")'
        )
    with suppress(OverflowError):
        if set(map(type, value)) <= {int}:  # True is an int, but no id
            return array("Q", value)
    bad = next(item for item in value if type(item) is not int or not 0 <= item <= LARGEST_ID)
    raise InputError(f"{key} holds {shown(bad)}: every id must be a whole number from 0 to 2^64 - 1")
