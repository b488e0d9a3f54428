"""Where transcripts are, which files of a folder are some, and what each holds."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sim.base.errors import InputError, escaped
from sim.base.reading import json_file, lines
from sim.workload.findings import Findings
from sim.workload.formats import logged
from sim.workload.formats.claude_code.entries import Entry, entry_of
from sim.workload.formats.logged import text_id

SUFFIXES = (".jsonl", ".jsonl.gz")
SUBAGENTS = "subagents"
MOST_META_BYTES = 1 << 20


@dataclass(slots=True)
class Transcript:
    """A file."""

    path: Path
    name: str
    """Without what all files of a project have in common."""
    agent: str | None
    """The sub-agent that it is of, if its name says so."""
    entries: list[Entry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Meta:
    """What the file beside that of a sub-agent says."""

    agent_type: str | None
    tool_use: str | None


def default_roots(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the folders that Claude Code writes to on this machine, those that are there.

    `CLAUDE_CONFIG_DIR`, a list with commas, takes the place of the usual two.
    """
    listed = environ.get("CLAUDE_CONFIG_DIR", "").split(",")
    named = [Path(each.strip()).expanduser() for each in listed if each.strip()]
    home = Path(environ.get("HOME") or "~").expanduser()
    folders = named or [home / ".claude", home / ".config" / "claude"]
    return [
        found
        for folder in folders
        for found in [folder / "projects" if (folder / "projects").is_dir() or not named else folder]
        if found.is_dir()
    ]


def files_of(path: Path) -> list[Path]:
    """Return the transcripts of a file, a project's folder or a folder of projects, sorted.

    Raises:
        InputError: the folder cannot be read, or has more than a million files.

    """
    return logged.files_of(path, lambda each: each.name.endswith(SUFFIXES) and not _skipped(each))


def read(paths: Sequence[Path], findings: Findings) -> list[Transcript]:
    """Return what files hold, sorted by name; lines that cannot be read are counted.

    Raises:
        InputError: a file cannot be read.

    """
    files = sorted({file for path in paths for file in files_of(path)})
    files = [file for file in files if len(paths) == 1 or not _skipped(file)]
    names = _names(files)
    dropped: Counter[str] = Counter()
    found = [_read(file, names[file], dropped) for file in files]
    for what in sorted(dropped):
        findings.drop(what, dropped[what])
    return sorted(found, key=lambda each: each.name)


def meta_of(transcript: Transcript) -> Meta | None:
    """Return what is said beside the file of a sub-agent, None where nothing is or can be read."""
    path = transcript.path.with_name(_stem(transcript.path) + ".meta.json")
    if transcript.agent is None or not path.is_file():
        return None
    try:
        record = json_file(path, MOST_META_BYTES)
    except InputError:
        return None
    return Meta(text_id(record.get("agentType")), text_id(record.get("toolUseId")))


def _skipped(file: Path) -> bool:
    stem = _stem(file)
    return stem == "history" or (stem == "journal" and SUBAGENTS in file.parts[:-1])


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def _names(files: Sequence[Path]) -> dict[Path, str]:
    """Return a name for each file: from its session on; from its project on where two are called the same."""
    short = {file: _short(file) for file in files}
    seen: dict[str, int] = {}
    for name in short.values():
        seen[name] = seen.get(name, 0) + 1
    root = Path(os.path.commonpath([file.parent for file in files])) if files else Path()
    return {
        file: escaped(name if seen[name] == 1 else _without_suffix(file.relative_to(root)))
        for file, name in short.items()
    }


def _short(file: Path) -> str:
    folders = file.parts[:-1]
    if SUBAGENTS in folders:
        at = len(folders) - 1 - folders[::-1].index(SUBAGENTS)
        return "/".join((*folders[max(at - 1, 0) :], _stem(file)))
    return _stem(file)


def _without_suffix(file: Path) -> str:
    return file.as_posix().removesuffix(".gz").removesuffix(".jsonl")


def _read(path: Path, name: str, dropped: Counter[str]) -> Transcript:
    stem = _stem(path)
    agent = text_id(stem.removeprefix("agent-")) if stem.startswith("agent-") else None
    transcript = Transcript(path, name, agent)
    before: int | None = None
    for number, line in lines(path):
        record = logged.object_of(line)
        if record is None:
            dropped[logged.BAD_LINES] += not line.isspace()
            continue
        _count(record, dropped)
        entry = entry_of(record, number)
        if entry.time_us is None:
            entry.time_us = before
        before = entry.time_us
        transcript.entries.append(entry)
    return transcript


def _count(record: Mapping[str, Any], dropped: Counter[str]) -> None:
    match record.get("type"), record.get("subtype"):
        case "system", "api_error":
            dropped["requests that failed and were tried again (api_error)"] += 1
        case "progress", _ if isinstance(record.get("data"), dict) and "message" in record["data"]:
            dropped["progress rows, which repeat what sub-agents say"] += 1
