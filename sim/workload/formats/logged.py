"""Values in logs of others: what is not as it should be counts as missing, and no text gets through."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from sim.base.errors import InputError, is_inert
from sim.base.reading import lines
from sim.base.words import exactly
from sim.workload.calls import Call

MOST_TOKENS = 20_000_000
"""Of a request: twenty times the longest context that any model has; more is no number of tokens."""
LONGEST_NAME = 200
"""Characters of an id; most have up to 40."""
MOST_FILES = 1_000_000
"""Of a folder that are looked at."""
BAD_LINES = "lines that are no JSON object, such as those cut in the middle"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
US = 10**6


def object_of(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a line holds, None if it holds none."""
    value: object
    try:
        value = from_json(line)
    except ValueError:
        try:
            # Bytes that are no UTF-8 are in texts, which nobody reads.
            value = json.loads(line.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def objects(path: Path, on_bad: Callable[[], None]) -> Sequence[tuple[int, dict[str, Any]]]:
    """Return the objects of a file's lines with their numbers; `on_bad` is told of lines that hold none.

    Raises:
        InputError: the file cannot be read.

    """
    found = []
    for number, line in lines(path):
        record = object_of(line)
        if record is not None:
            found.append((number, record))
        elif not line.isspace():
            on_bad()
    return found


def files_of(path: Path, wanted: Callable[[Path], bool]) -> list[Path]:
    """Return a file, or the files of a folder that are wanted, sorted.

    Raises:
        InputError: the folder cannot be read, or has more than a million files.

    """
    if not path.is_dir():
        return [path]
    found = []
    try:
        for number, each in enumerate(path.rglob("*"), start=1):
            if number > MOST_FILES:
                raise InputError(f"{path}: has more than {exactly(MOST_FILES, 'file')}")
            if wanted(each) and each.is_file():
                found.append(each)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    return sorted(found)


def text_id(value: object) -> str | None:
    """Return an id or a name if it is one that can be shown anywhere, else None."""
    if type(value) is str and 0 < len(value) <= LONGEST_NAME and is_inert(value):
        return value
    return None


def time_us(value: object) -> int | None:
    """Return an ISO time in microseconds since 1970, None if it is none."""
    if type(value) is not str or len(value) > 40:
        return None
    try:
        moment = datetime.fromisoformat(value)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        return (moment - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        return None


def tokens(record: Mapping[str, Any], *keys: str) -> int | None:
    """Return the first number of tokens that an object has under one of the keys."""
    for key in keys:
        value = record.get(key)
        if type(value) is str and value.isascii() and value.isdigit() and len(value) < 11:
            value = int(value)
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is int and 0 <= value <= MOST_TOKENS:
            return value
    return None


def text(record: Mapping[str, Any], *keys: str) -> str | None:
    """Return the first id or name that an object has under one of the keys."""
    return next((found for key in keys if (found := text_id(record.get(key))) is not None), None)


def inside(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object inside another one; an empty one if there is none."""
    found = record.get(key)
    return found if isinstance(found, Mapping) else {}


def unique(calls: Sequence[Call], taken: Collection[str] = ()) -> None:
    """Give calls whose names are taken others."""
    seen = set(taken)
    for call in calls:
        name, number = call.name, 1
        while call.name in seen:
            number += 1
            call.name = f"{name}#{number}"
        seen.add(call.name)
