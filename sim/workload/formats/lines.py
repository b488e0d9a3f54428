"""The lines of a JSONL file, plain or gzipped, and what goes wrong in them."""

import gzip
import json
import zlib
from collections.abc import Iterator
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from sim.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
MOST_PROBLEMS = 10
BUFFER_BYTES = 1 << 18
"""Some lines: a row of a long prompt has tens of thousands of characters."""


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line), one at a time; gzip is known by its first two bytes.

    Raises:
        InputError: the file cannot be opened or read, or its compressed data is damaged.

    """
    try:
        with BufferedReader(FileIO(path), BUFFER_BYTES) as plain:
            zipped = plain.peek(2)[:2] == GZIP_MAGIC
            with gzip.open(plain) if zipped else plain as file:
                yield from enumerate(file, start=1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def json_object(line: bytes) -> dict[str, Any]:
    """Return the object that one line holds.

    The quick parser comes first; whether what it refuses is JSON, and why not, the standard library says.

    Raises:
        InputError: not JSON, or not an object.

    """
    try:
        value = from_json(line)
    except ValueError:
        value = _slowly(line)
    if not isinstance(value, dict):
        raise InputError(f"a {type(value).__name__}: every line must hold one JSON object")
    return value


def _slowly(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON ({error}): every line must hold one JSON object") from error


class Problems:
    """Collects what is wrong with a file, up to a limit, so that one run shows all of it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: list[str] = []

    def add(self, line: int, message: object) -> None:
        """Keep one; raise them all when there are many."""
        self._found.append(f"line {line}: {message}")
        if len(self._found) == MOST_PROBLEMS:
            self._found.append("and perhaps more")
            self.raise_any()

    def raise_any(self) -> None:
        """Raise an InputError that lists every problem, if there is one."""
        if len(self._found) == 1:
            raise InputError(f"{self._path}, {self._found[0]}")
        if self._found:
            raise InputError("\n  ".join([f"{self._path}:", *self._found]))
