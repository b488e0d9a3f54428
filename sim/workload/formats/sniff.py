"""What a path given as a trace looks like, where it is no JSONL of rows."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sim.base.errors import InputError, shown
from sim.base.reading import content, json_object, json_value, lines
from sim.workload.formats.foreign import ROWS, foreign_format

Tells = Callable[[Mapping[str, Any]], object]
"""Whether an object is of a format that is known by it."""
MOST_FILES = 10_000
"""Of a folder that are looked at."""
MOST_ROW_BYTES = 64 << 20
"""A session of a thousand long prompts in one line has tens of megabytes."""
HEAD_LINES = 100
HEAD_BYTES = 4 << 20

_PICKLE = (
    "a Python pickle, such as SGLang's request dumps, which can run code and is never loaded: in the program "
    f"that wrote it, write its rows as JSONL; {ROWS}"
)
_PACKED = {
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unpack it (zstd -d)",
    b"BZh": "compressed with bzip2: unpack it, or pack it with gzip",
    b"\xfd7zXZ": "compressed with xz: unpack it, or pack it with gzip",
    b"PK\x03\x04": "a zip archive: unpack it, and give one JSONL file",
    b"PAR1": f"Parquet: write its rows as JSONL; {ROWS}",
    b"ARROW1": f"Arrow: write its rows as JSONL; {ROWS}",
    b"SQLite format 3": f"an SQLite database: write its rows as JSONL; {ROWS}",
    **{bytes([0x80, protocol]): _PICKLE for protocol in range(2, 6)},
    b"version https://git-lfs": "a Git LFS pointer, not the file: fetch it (git lfs pull)",
}


class _Csv(NamedTuple):
    name: str
    columns: frozenset[str]
    way_out: str


_LENGTHS_ONLY = (
    "it has arrivals and lengths and no hash ids, so that no reuse can be known; give each request ids of "
    "its own, and read nothing about caches from such a run"
)
_SERVER_LOG = re.compile(r"(\(.{1,60}\) )?(DEBUG|INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d")
_CSV = (
    _Csv("Azure's trace", frozenset({"contexttokens", "generatedtokens"}), _LENGTHS_ONLY),
    _Csv("Azure's trace (Splitwise)", frozenset({"num_prefill_tokens", "num_decode_tokens"}), _LENGTHS_ONLY),
    _Csv("BurstGPT", frozenset({"request tokens", "response tokens"}), _LENGTHS_ONLY),
)
_SHARD = re.compile(r"(?P<stem>.*?[-_.]?)\d+(?P<of>-?of-?\d+)?(?P<suffix>\.jsonl(?:\.gz)?)")


def records(path: Path, told: Tells) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the first lines that can be read, and what they hold.

    Raises:
        InputError: the file is no JSONL; names what it is and what can be done.

    """
    head = [*_head(path)]
    if head and (whole := whole_json(path, told)) is not None:
        yield from ((1, record) for record in whole[:HEAD_LINES])
        return
    if told(columns := dict.fromkeys(_columns(head))):
        yield 1, columns
        return
    if head:
        _check_shape(path, head)
    for number, line in head:
        try:
            record = json_object(line)
        except InputError:
            continue
        yield number, record


def whole_json(path: Path, told: Tells) -> list[dict[str, Any]] | None:
    """Return the objects of a file that is one JSON value over many lines, or a list, of a told format.

    None for all else: a file of one object a line is read by lines, and rows are not looked for in lists.

    Raises:
        InputError: the file cannot be read, or is too large to be held.

    """
    first = b""
    for _, line in _head(path):
        first = line.strip()
        if first:
            break
    opened = first.removeprefix(b"\xef\xbb\xbf")[:1]
    if opened not in (b"{", b"["):
        return None
    if opened == b"{":
        try:
            json_object(first)
        except InputError:
            pass
        else:
            return None
    try:
        value = json_value(content(path))
    except InputError:
        return None
    objects = value if isinstance(value, list) else [value]
    if not objects or not all(isinstance(each, dict) for each in objects) or not told(objects[0]):
        return None
    return objects


def shards_beside(path: Path) -> int:
    """Return how many files of a folder look like other parts of the trace that a file is one of."""
    own = _SHARD.fullmatch(path.name)
    if own is None:
        return 0
    names = (each.name for each in islice(path.parent.iterdir(), MOST_FILES))
    parts = filter(None, map(_SHARD.fullmatch, names))
    return sum(part.group("stem", "suffix") == own.group("stem", "suffix") for part in parts) - 1


def _head(path: Path) -> Iterator[tuple[int, bytes]]:
    left = HEAD_BYTES
    for number, line in islice(lines(path, MOST_ROW_BYTES), HEAD_LINES):
        yield number, line
        left -= len(line)
        if left < 0:
            return


def _check_shape(path: Path, head: list[tuple[int, bytes]]) -> None:
    """Refuse what is no JSONL, but has a shape that is known."""
    first = next((line for _, line in head if not line.isspace()), b"")
    for magic, what in _PACKED.items():
        if head[0][1].startswith(magic):
            raise InputError(f"{path}: is {what}")
    text = first.decode("utf-8-sig", errors="replace").strip()
    if text[:1] == "[":
        raise _pretty(path, head, "a JSON array", ".[]")
    if text[:1] == "{":
        try:
            json_object(first)
        except InputError:
            second = [line.strip() for _, line in head if not line.isspace()][1:2]
            if text[-1:] in "{[,:" and second and second[0][:1] == b'"':
                raise _pretty(path, head, "JSON over many lines", ".") from None
        return
    if _SERVER_LOG.match(text):
        raise InputError(
            f"{path}: is a log of vLLM's server, which has lengths of requests at best and nothing of what "
            f"they share: record the traffic with Dynamo's request trace (DYN_REQUEST_TRACE=1); {ROWS}"
        )
    _check_csv(path, text)


def _pretty(path: Path, head: Iterable[tuple[int, bytes]], what: str, query: str) -> InputError:
    """Return what to say of JSON that is not one object a line, after a look at the first object in it."""
    text = b"".join(line for _, line in head).decode("utf-8-sig", errors="replace")
    found = None
    try:
        record, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
        found = foreign_format(record)
    except (ValueError, RecursionError):
        pass
    if found is not None:
        return InputError(f"{path}: is {what}: {found}")
    return InputError(
        f"{path}: is {what}, and a trace has one object a line: jq -c '{query}' FILE > rows.jsonl writes "
        f"that; {ROWS}"
    )


def _columns(head: list[tuple[int, bytes]]) -> list[str]:
    """Return what the first line names if it is CSV; what all else is made of, if it is not."""
    first = next((line for _, line in head if not line.isspace()), b"")
    return [column.strip() for column in _fields(first.decode("utf-8-sig", errors="replace").strip())]


def _fields(line: str) -> list[str]:
    try:
        return next(csv.reader([line[:10_000].replace("\0", "")]), [])
    except csv.Error:
        return []


def _check_csv(path: Path, header: str) -> None:
    columns = _fields(header)
    if len(columns) < 2 or not any(re.match(r"[A-Za-z_]", column.strip()) for column in columns):
        return
    names = {column.strip().lower() for column in columns}
    for known in _CSV:
        if known.columns <= names:
            raise InputError(f"{path}: is CSV, {known.name}, which is not read yet: {known.way_out}; {ROWS}")
    raise InputError(
        f"{path}: is CSV with columns {shown(', '.join(columns))}, and a trace is JSONL: convert it; {ROWS}"
    )
