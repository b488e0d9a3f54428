"""What a file of a run is meant to be although it cannot be read so: cut, overwritten, in another encoding.

Such a file is not left aside like one that is none of a run's. By its name, or by the keys that its text
still has, it is known; what is wrong with it is said.
"""

import re
from pathlib import Path

from sim.base.errors import InputError
from sim.base.reading import json_object, lines
from sim.measured.roles import ABOUT, KEYS, Role

_HEAD_BYTES = 1 << 16
_NAMES = (
    (Role.KV_EVENTS, re.compile(r"kv[-_.]?events")),
    (Role.METRICS_SERIES, re.compile(r"series.*\.jsonl$")),
    (Role.METRICS, re.compile(r"\.prom$|metrics.*\.txt$")),
    (Role.REQUEST_TRACE, re.compile(r"request[-_.]?trace.*\.jsonl$")),
    (Role.USAGE, re.compile(r"usage.*\.jsonl$")),
    (Role.TRACE, re.compile(r"trace.*\.jsonl$")),
    (Role.BENCH, re.compile(r"bench.*\.json$")),
    (Role.COMMANDS, re.compile(r"^(?:run|commands)\.json$")),
    (Role.ROUTER_LOG, re.compile(r"(?:router|frontend).*\.log(?:\.jsonl)?$")),
    (Role.ENGINE_LOG, re.compile(r"(?:worker|engine|prefill|decode).*\.log(?:\.jsonl)?$")),
)
"""How the files of a run are commonly called; the first that fits counts."""
_ENCODINGS = (
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"\xef\xbb\xbf", "UTF-8 with a byte order mark"),
)
_WHOLE = (Role.BENCH, Role.COMMANDS)
"""Files that are one JSON object."""
_TEXT = (Role.METRICS, Role.ROUTER_LOG, Role.ENGINE_LOG)


def check_unknown(path: Path) -> str | None:
    """Check a file that is of no known role; return a sentence for an empty recording of KV events.

    An engine that never served anything leaves one.

    Raises:
        InputError: it is meant to be of one and is damaged; says of which, what is wrong, and in which line.

    """
    text = _head(path)
    role, known_by = _claimed(path, text)
    if role is None:
        return None
    if role is Role.KV_EVENTS and not text:
        return f"{path.name} is empty: no KV events were recorded"
    problem = _problem(path, role, text)
    if problem:
        raise InputError(f"{path}: {ABOUT[role]} by its {known_by}, but {problem}")
    return None


def _head(path: Path) -> bytes:
    found = bytearray()
    for _, line in lines(path):
        found += line
        if len(found) >= _HEAD_BYTES:
            break
    return bytes(found[:_HEAD_BYTES])


def _claimed(path: Path, text: bytes) -> tuple[Role | None, str]:
    # What is left of another encoding, or of a file with holes.
    plain = text.replace(b"\0", b"")
    for role, keys in KEYS:
        if all(re.search(rb'"%s"\s*:' % key.encode(), plain) for key in keys):
            return role, "keys"
    name = path.name.removesuffix(".gz").lower()
    return next(((role, "name") for role, pattern in _NAMES if pattern.search(name)), (None, ""))


def _problem(path: Path, role: Role, text: bytes) -> str | None:
    if not text.strip():
        return "it is empty"
    for mark, encoding in _ENCODINGS:
        if text.startswith(mark):
            return f"it is {encoding}: save it as UTF-8"
    for number, line in lines(path):
        if b"\0" in line:
            return f"line {number} has NUL bytes: it was overwritten or never written in full"
    if role in _TEXT:
        return "no line of it is one"
    return _json_problem(path, whole=role in _WHOLE)


def _json_problem(path: Path, *, whole: bool) -> str | None:
    """Return what is wrong with the JSON of a file; None if it is JSON, of whatever."""
    rows = [(number, line) for number, line in lines(path) if not line.isspace()]
    try:
        json_object(b"".join(line for _, line in rows))
    except InputError as error:
        found = str(error).partition(": every line")[0]
    else:
        return None
    if whole:
        return found
    for number, line in rows:
        try:
            json_object(line)
        except InputError as error:
            return f"line {number} is {str(error).partition(': every line')[0]}"
    return None
