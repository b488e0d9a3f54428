"""Reading what others wrote: regular files of bounded size, line by line, and JSON that means one thing.

Nothing here waits for a pipe, follows nested brackets into the ground, or holds more than it says.
"""

import errno
import gzip
import json
import os
import stat
import zlib
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, BinaryIO

from pydantic_core import from_json

from sim.base.errors import InputError, shown
from sim.base.words import format_bytes

GZIP_MAGIC = b"\x1f\x8b"
BUFFER_BYTES = 1 << 18
"""Some lines: a row of a long prompt has tens of thousands of characters."""
MOST_LINE_BYTES = 64 << 20
MOST_TEXT_BYTES = 1 << 20
"""Of a file that people write: a scenario has some kilobytes."""
MOST_FILE_BYTES = 1 << 30
"""Of a file that is held as a whole."""
DEEPEST = 100
"""Brackets within brackets; no record here needs ten."""

_KINDS = (
    (stat.S_ISDIR, "folder"),
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)


def why_no_file(path: Path) -> str | None:
    """Return why a path is no regular file that can be looked at, None if it is one."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        return _reason(error)
    return next((f"is a {kind}; give a file" for is_kind, kind in _KINDS if is_kind(mode)), None)


def open_file(path: Path) -> FileIO:
    """Open a regular file to read it; never waits.

    Raises:
        OSError: it cannot be opened, or is a folder, pipe or device; `strerror` says so.

    """
    reason = why_no_file(path)
    if reason is None:
        # Not to wait for a writer where the file has just become a pipe.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        return FileIO(descriptor)
    raise OSError(errno.EINVAL, reason)


def lines(path: Path, most_bytes: int = MOST_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line), one at a time; gzip is known by its first two bytes.

    Raises:
        InputError: the file cannot be read, its compressed data is damaged, or a line is too long.

    """
    try:
        with BufferedReader(open_file(path), BUFFER_BYTES) as plain, _unzipped(plain) as file:
            for number, line in enumerate(iter(partial(file.readline, most_bytes + 1), b""), start=1):
                if len(line) > most_bytes:
                    raise InputError(
                        f"{path}, line {number}: is longer than {format_bytes(most_bytes)}: "
                        "every line must hold one record"
                    )
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {_reason(error)}") from error


def content(path: Path, most_bytes: int = MOST_FILE_BYTES) -> bytes:
    """Return what a file holds, plain or gzipped.

    Raises:
        InputError: the file cannot be read, its compressed data is damaged, or it is too large.

    """
    try:
        with BufferedReader(open_file(path), BUFFER_BYTES) as plain, _unzipped(plain) as file:
            parts, left = [], most_bytes + 1
            while left > 0 and (part := file.read(min(left, BUFFER_BYTES))):
                parts.append(part)
                left -= len(part)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {_reason(error)}") from error
    if left <= 0:
        raise InputError(f"{path}: is larger than {format_bytes(most_bytes)}")
    return b"".join(parts)


def text(path: Path, most_bytes: int = MOST_TEXT_BYTES) -> str:
    """Return the text of a plain file in UTF-8, without a byte order mark.

    Raises:
        OSError: it cannot be read or is too large; `strerror` says why.
        UnicodeDecodeError: it is not UTF-8.

    """
    with open_file(path) as file:
        found = b""
        while len(found) <= most_bytes and (part := file.read(most_bytes + 1 - len(found))):
            found += part
    if len(found) > most_bytes:
        raise OSError(errno.EFBIG, f"is larger than {format_bytes(most_bytes)}")
    return found.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def json_file(path: Path, most_bytes: int = MOST_FILE_BYTES) -> dict[str, Any]:
    """Return the object that a plain JSON file in UTF-8 holds.

    Raises:
        InputError: it cannot be read, is too large, or holds no JSON object.

    """
    try:
        value = _parsed(text(path, most_bytes))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not a JSON file: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: must hold a JSON object, this is a {type(value).__name__}")
    return value


def json_object(line: bytes | str, holder: str = "every line") -> dict[str, Any]:
    """Return the object that one line holds.

    Args:
        line: the text.
        holder: what it is, for messages.

    Raises:
        InputError: not JSON, not an object, brackets nested too deeply, or a key twice in one object.

    """
    value = json_value(line, holder)
    if not isinstance(value, dict):
        raise InputError(f"a {type(value).__name__}: {holder} must hold one JSON object")
    return value


def json_value(line: bytes | str, holder: str = "every line", wanted: str = "one JSON object") -> Any:
    """Return what JSON text says; arguments as `json_object`, and what it should be, for messages.

    Raises:
        InputError: not JSON, brackets nested too deeply, or a key twice in one object.

    """
    try:
        return _parsed(line)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"not valid JSON ({error}): {holder} must hold {wanted}") from error


def _parsed(line: bytes | str) -> Any:
    """What the quick parser refuses, the standard library reads or explains."""
    try:
        value = from_json(line)
    except ValueError:
        return _slowly(line)
    keys = value if isinstance(value, dict) else {}
    return value if _plainly_once(line if isinstance(line, bytes) else line.encode(), keys) else _slowly(line)


def _plainly_once(line: bytes, keys: Collection[str]) -> bool:
    """Whether it is plain from the text alone that no object in it has a key twice."""
    # Every key has its colon, so that one given twice leaves more colons than keys.
    if line.count(b":") == len(keys):
        return True
    if not keys or line.count(b"{") != 1 or b"\\" in line:
        return False
    return all(line.count(b'"%b"' % key.encode()) == 1 for key in keys)


def _slowly(line: bytes | str) -> Any:
    try:
        value = json.loads(line, object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError("brackets are nested too deeply") from error
    if _deeper_than(value, DEEPEST):
        raise ValueError(f"brackets are nested more than {DEEPEST} deep")
    return value


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in found if keys.count(key) > 1)
        raise InputError(f"key {shown(twice)} is given twice")
    return found


def _deeper_than(value: Any, depth: int) -> bool:
    """Whether a value has lists or objects in each other more than `depth` times, without recursion."""
    level = [value]
    for _ in range(depth + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)


def _unzipped(plain: "BufferedReader[FileIO]") -> BinaryIO:
    zipped = plain.peek(2)[:2] == GZIP_MAGIC
    return gzip.open(plain) if zipped else plain  # type: ignore[return-value]


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
