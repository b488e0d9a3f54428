"""Lines of a Dynamo log (1.4.2, 1.5.0), text or JSONL, as one kind of entry.

Text carries ANSI colours even in a file. A line reads `time LEVEL span:span: target: message key=value ...`,
where keys are those of the message, then those of its spans. JSONL has the same under keys of their own;
there numbers of spans are strings. Other lines (Python's warnings go the same way) are none of the log's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sim.base.errors import InputError
from sim.base.reading import json_object, lines
from sim.base.words import plural

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LINE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT[\d:.]+Z)\s+(?:TRACE|DEBUG|INFO|WARN|ERROR)\s+"
    r"(?P<target>(?:[\w.:-]+: )*)(?P<message>.*)"
)
_FIELD = re.compile(r'(?<![\w.])([\w.]+)=("(?:[^"\\]|\\.)*"|\[[^\]]*\]|\S+)')


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a log."""

    line: int
    """Its number, from 1."""
    time_s: float
    """Unix time."""
    target: str
    """The module that wrote it."""
    message: str
    """Of a text line with all fields after it."""
    fields: Mapping[str, Sequence[str]]
    """A key may occur twice in a text line: in the message and in a span."""

    def get(self, key: str) -> str | None:
        """Return the first value of a field."""
        values = self.fields.get(key)
        return values[0] if values else None

    def number(self, key: str) -> int | None:
        """Return the first value of a field as a whole number; None if it is absent or none."""
        value = (self.get(key) or "").rstrip(",")
        return int(value) if value.isdecimal() else None

    def real(self, key: str) -> float | None:
        """Return the first value of a field as a number; None if it is absent or none."""
        try:
            return float((self.get(key) or "").rstrip(","))
        except ValueError:
            return None


def is_log_line(line: bytes) -> bool:
    """Whether a line is one of such a log."""
    return _entry(1, line) is not None


def entries(path: Path, wanted: Sequence[str], notes: list[str]) -> Iterator[Entry | None]:
    """Yield the entries with any of these texts in them, and None for each line that is no entry.

    The notes get a sentence where lines are in another encoding, and where the last one has no end.

    Raises:
        InputError: the file cannot be read, or a line has NUL bytes.

    """
    needles = [text.encode() for text in wanted]
    line, foreign = b"\n", []
    for number, line in lines(path):
        if b"\0" in line:
            raise InputError(
                f"{path}, line {number}: NUL bytes: the log was overwritten or cut off by a crash"
            )
        if not _is_utf8(line):
            foreign.append(number)
        if b"\x1b" in line or any(needle in line for needle in needles):
            entry = _entry(number, line)
            if entry is None or any(text in entry.message for text in wanted):
                yield entry
        elif not line[:1].isdigit() and not line.startswith(b"{") and not line.isspace():
            yield None
    if foreign:
        n = len(foreign)
        notes.append(f"{path.name}, line {foreign[0]}: not UTF-8; {n} such {plural(n, 'line')} in all")
    if not line.endswith(b"\n"):
        notes.append(f"{path.name}: its last line has no end: it was cut, or copied while it was written")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _entry(number: int, line: bytes) -> Entry | None:
    return _json_entry(number, line) if line.startswith(b"{") else _text_entry(number, line)


def _text_entry(number: int, line: bytes) -> Entry | None:
    match = _LINE.match(_COLOURS.sub("", line.decode("utf-8", errors="replace")))
    if match is None:
        return None
    try:
        time_s = _unix(match["time"])
    except ValueError:
        return None
    fields: dict[str, list[str]] = {}
    for key, value in _FIELD.findall(match["message"]):
        fields.setdefault(key, []).append(value.strip('"'))
    target = match["target"].removesuffix(": ").rpartition(": ")[2]
    return Entry(number, time_s, target, match["message"], fields)


def _json_entry(number: int, line: bytes) -> Entry | None:
    try:
        found = json_object(line)
        time_s = _unix(str(found.pop("time")))
    except (InputError, KeyError, ValueError):
        return None
    message = str(found.pop("message", ""))
    fields = {key: [_text(value)] for key, value in found.items()}
    # A number that stands in the message only, as in a text line.
    for key, value in _FIELD.findall(message):
        fields.setdefault(key, []).append(value.strip('"'))
    return Entry(number, time_s, str(found.get("target", "")), message, fields)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _unix(time: str) -> float:
    moment = datetime.fromisoformat(time)
    # Dynamo's loggers write UTC; a time without a zone means that everywhere, not the reader's own.
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
