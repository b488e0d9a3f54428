"""A file of runs that ended, which only grows: a run is in it as a whole or not at all.

Each line is a JSON object with a run and the CRC-32 of the run's text. A process that is killed while it
writes leaves a line that does not fit its checksum, and is read over.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import SEEK_END
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zlib import crc32

from sim.errors import InputError
from sim.folder import room_for
from sim.results.compared import Run

NAME = "runs.jsonl"
"""The file of a folder that has a journal."""


class Journal:
    """Runs that ended, by their fingerprint. While a process has it open, others are refused."""

    def __init__(self, folder: Path) -> None:
        """Open the journal of an existing folder, or begin it.

        Raises:
            InputError: another process has it open, or it cannot be written.

        """
        path = folder / NAME
        try:
            self._file = path.open("a+b")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        _lock(self._file.fileno(), path)
        self._runs = dict(_read(path))
        self._end_last_line()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def finished(self, key: str) -> Run | None:
        """Return the run of a fingerprint if it ended well."""
        run = self._runs.get(key)
        return run if run and run.summary is not None else None

    @property
    def any_finished(self) -> bool:
        """Whether any run in it ended well."""
        return any(run.summary is not None for run in self._runs.values())

    def add(self, key: str, run: Run) -> None:
        """Keep a run."""
        content = {
            "fingerprint": key,
            "scenario": run.scenario,
            "written": dict(run.written),
            "seed": run.seed,
            "settings": run.settings,
            "summary": run.summary,
            "notes": list(run.notes),
            "error": run.error,
            "draw": run.draw,
        }
        text = json.dumps(content, allow_nan=False)
        self._file.write(f'{{"crc32": {crc32(text.encode())}, "run": {text}}}\n'.encode())
        self._file.flush()
        self._runs[key] = run

    def _end_last_line(self) -> None:
        if self._file.tell():
            self._file.seek(-1, SEEK_END)
            if self._file.read() != b"\n":
                self._file.write(b"\n")


@contextmanager
def journal_in(folder: Path | None, option: str = "--out") -> Iterator[Journal | None]:
    """Yield the journal of a folder, which is made if it is not there; None without a folder.

    Args:
        folder: where.
        option: of the command line that named it, for messages.

    Raises:
        InputError: the folder has files, but no journal, or is in use.

    """
    if folder is None:
        yield None
        return
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{option} {folder}: is a file; give a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / NAME).is_file():
        raise InputError(
            f"{option} {folder}: has files but no {NAME}; give a new folder, or one to go on with"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{option} {folder}: {error.strerror}") from error
    with room_for(f"{option} {folder}"), Journal(folder) as journal:
        try:
            yield journal
        finally:
            if not journal.any_finished:
                (folder / NAME).unlink()
                with suppress(OSError):
                    folder.rmdir()


def read_journal(folder: Path) -> dict[str, Run]:
    """Return the runs of a folder by their fingerprint, whoever else writes there.

    Raises:
        InputError: the file cannot be read.

    """
    try:
        return dict(_read(folder / NAME))
    except OSError as error:
        raise InputError(f"{folder / NAME}: {error.strerror}") from error


def _read(path: Path) -> Iterator[tuple[str, Run]]:
    with path.open("rb") as file:
        for line in file:
            kept = _checked(line)
            if kept is not None:
                yield kept


def _checked(line: bytes) -> tuple[str, Run] | None:
    """Return the run of a line by its fingerprint, None if it is not as this version writes it."""
    try:
        content = json.loads(line)
        run: dict[str, Any] = content["run"]
        if content["crc32"] != crc32(json.dumps(run).encode()):
            return None
        return run.pop("fingerprint"), Run(**run)
    except (ValueError, KeyError, TypeError):
        return None


def _lock(descriptor: int, path: Path) -> None:
    """Let no other process write; the system lets go when this one ends, however it ends."""
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise InputError(
            f"{path}: another process is writing there; wait for it, or give another folder"
        ) from error
