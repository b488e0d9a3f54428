"""Where a trace lies: a file, several, a folder, a pattern of names, or standard input."""

import atexit
import multiprocessing
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from glob import glob, has_magic
from itertools import islice
from pathlib import Path

from sim.base.errors import InputError
from sim.base.reading import why_no_file
from sim.workload.formats import FORMATS, FormatName, is_row, told
from sim.workload.formats.foreign import foreign_format
from sim.workload.formats.row import RowFormat
from sim.workload.formats.sniff import MOST_FILES, records

STDIN = Path("-")
MOST_NAMES = 20
"""Names of files that a note lists."""
SUFFIXES = frozenset({".jsonl", ".json", ".gz", ".ndjson", ".csv", ".pkl", ".parquet"})
"""Of files of a folder that are looked at."""
HEAD = 100
"""Objects of a file of a folder that are looked at."""
_SHARD = re.compile(r"(?P<stem>.*?)\d+(?P<of>-?of-?\d+)?(?P<suffix>(\.[A-Za-z]+)*)")
_DIGITS = re.compile(r"(\d+)")


@dataclass(slots=True)
class Source:
    """Files that make one trace, in the order in which they are read."""

    path: Path
    """What was given, for messages."""
    name: str
    files: Sequence[Path]
    notes: list[str] = field(default_factory=list)

    @property
    def is_one_trace(self) -> bool:
        """Whether the names of the files differ by numbers alone: parts of one trace, whose ids agree."""
        parts = [_SHARD.fullmatch(file.name.removesuffix(".gz")) for file in self.files]
        return len({part and part.group("stem", "suffix") for part in parts}) == 1 and all(parts)


def why_no_trace(path: Path) -> str | None:
    """Return why nothing can be read at a path, None if there is a file, a folder or a pattern of names."""
    if path == STDIN:
        return None
    reason = why_no_file(path)
    if reason is None:
        return None
    try:
        if path.is_dir() or (has_magic(str(path)) and not path.exists()):
            return None
        if not path.exists():
            return f"no such file: {path}"
    except (OSError, ValueError):
        return f"cannot be read: {path}: {reason}"
    return f"is not a file: {path} {reason}"


def found(path: Path | Sequence[Path], name: FormatName) -> Source:
    """Return the files that a path, or several, mean; what a folder holds beside them is in the notes.

    Raises:
        InputError: nothing is there, a folder holds traces of several formats, or none.

    """
    paths = [path] if isinstance(path, Path) else [*path]
    if STDIN in paths:
        if len(paths) > 1:
            raise InputError("-: standard input is a trace by itself, not one of several")
        return Source(Path("standard input"), "stdin", [_stdin()])
    name_of_all = paths[0].name if len(paths) == 1 else f"{paths[0].name} and {len(paths) - 1} more"
    source = Source(paths[0] if len(paths) == 1 else paths[0].parent, name_of_all, [])
    files: list[Path] = []
    for each in dict.fromkeys(file for given in paths for file in _matching(given)):
        files += _in_folder(each, name, source.notes) if each.is_dir() else [each]
    source.files = files
    return source


def files_at(paths: Sequence[Path]) -> list[Path]:
    """Return all files that paths mean, those that are no trace too, in a fixed order."""
    found: list[Path] = []
    for path in (_stdin() if each == STDIN else match for each in paths for match in _matching(each)):
        inside = islice(path.rglob("*"), MOST_FILES) if path.is_dir() else [path]
        found += sorted(file for file in inside if file.is_file())
    return found


@cache
def _stdin() -> Path:
    """Return a copy of standard input, which is gone when the process ends: it can be read only once.

    Raises:
        InputError: this is one of several processes, which do not have it.

    """
    if multiprocessing.parent_process() is not None:
        raise InputError("-: standard input is there for one process alone: give a file, or --jobs 1")
    descriptor, name = tempfile.mkstemp(suffix=".jsonl")
    atexit.register(Path(name).unlink, missing_ok=True)
    with open(descriptor, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return Path(name)


def natural(path: Path) -> tuple[list[str | int], ...]:
    """Return what sorts names as people do: part-2 before part-10."""
    return tuple(
        [int(text) if text.isdigit() else text for text in _DIGITS.split(part)] for part in path.parts
    )


def _matching(path: Path) -> list[Path]:
    """Return a path, or the paths that a pattern fits."""
    if not has_magic(str(path)) or path.exists():
        return [path]
    matches = sorted(map(Path, islice(glob(str(path), recursive=True), MOST_FILES)), key=natural)
    if not matches:
        raise InputError(f"{path}: no file has such a name")
    return matches


def _in_folder(folder: Path, name: FormatName, notes: list[str]) -> list[Path]:
    """Return the files of a folder that are a trace, all in one format."""
    files = sorted((file for file in islice(folder.rglob("*"), MOST_FILES) if file.is_file()), key=natural)
    of: dict[str, list[Path]] = {}
    others, reasons = [], []
    for file in files:
        try:
            found = _format_of(file, name)
        except InputError as error:
            reasons.append(str(error))
            found = None
        if found is None:
            others.append(str(file.relative_to(folder)))
        else:
            of.setdefault(found, []).append(file)
    if not of:
        why = f": {reasons[0]}" if reasons else "; it holds no JSON of a format that is read" if files else ""
        raise InputError(f"{folder}: no file of this folder is a trace{why}")
    if len(of) > 1:
        counts = ", ".join(f"{each} ({len(these)}, such as {these[0].name})" for each, these in of.items())
        raise InputError(
            f"{folder}: holds traces of several formats: {counts}; set format to one of them (--from in "
            "sim trace), or give the files"
        )
    [(_, trace)] = of.items()
    notes.append(f"files read, in the order of their names: {len(trace)}")
    if others:
        more = f" and {len(others) - MOST_NAMES} more" if len(others) > MOST_NAMES else ""
        notes.append(
            f"files of the folder that are no trace, not read: {', '.join(others[:MOST_NAMES])}{more}"
        )
    return trace


def _format_of(file: Path, name: FormatName) -> str | None:
    """Return the format of a file of a folder, None if it is no trace, or not of the format asked for."""
    if file.suffix not in SUFFIXES:
        return None
    for line, record in islice(records(file, told), HEAD):
        found = told(record)
        if found is None:
            if (foreign := foreign_format(record)) is not None:
                raise InputError(f"{file}, line {line}: {foreign}")
            if not is_row(record):
                continue
        own = "rows" if found is None else found.name
        wanted = FORMATS.get(name)
        if wanted is None:
            return own
        return name if own == name or (isinstance(wanted, RowFormat) and found is None) else None
    return None
