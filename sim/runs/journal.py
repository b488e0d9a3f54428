"""A file of runs that ended, which only grows: a run is in it as a whole or not at all.

Each line is a JSON object with a run and the CRC-32 of the run's text. A process that is killed while it
writes leaves a line that does not fit its checksum, and is read over. Damage costs the runs that it hits: a
database that lost its last page would give none of them, and would not notice a digit that was changed.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import SEEK_END
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zlib import crc32

from sim.base.building import ignore, real, remove_abandoned
from sim.base.disk_room import refusing, room_for
from sim.base.errors import InputError, NoRoomError, Stopped
from sim.base.words import exactly
from sim.runs.run import Run

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
            self._file = path.open("a+b", buffering=0)  # what does not fit is not tried again at the end
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        self.path = path
        _lock(self._file.fileno(), path)
        self._runs = dict(_read(path))
        self._used: set[str] = set()
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
        if run is None or run.summary is None:
            return None
        self._used.add(key)
        return run

    @property
    def n_used(self) -> int:
        """Runs that ended well and were asked for or added since it was opened."""
        return len(self._used)

    @property
    def any_finished(self) -> bool:
        """Whether any run in it ended well."""
        return any(run.summary is not None for run in self._runs.values())

    def add(self, key: str, run: Run) -> None:
        """Keep a run.

        Raises:
            NoRoomError: the disk is full; the runs before are kept.

        """
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
        with room_for(self.path):
            self._write(f'{{"crc32": {crc32(text.encode())}, "run": {text}}}\n'.encode())
        self._runs[key] = run
        if run.summary is not None:
            self._used.add(key)

    def _write(self, line: bytes) -> None:
        while line:
            line = line[self._file.write(line) :]

    def _end_last_line(self) -> None:
        with room_for(self.path):
            if self._file.seek(0, SEEK_END):
                self._file.seek(-1, SEEK_END)
                if self._file.read(1) != b"\n":
                    self._write(b"\n")


@contextmanager
def journal_in(
    folder: Path | None, option: str = "--out", expected: int | None = None
) -> Iterator[Journal | None]:
    """Yield the journal of a folder, which is made if it is not there; None without a folder.

    Args:
        folder: where.
        option: of the command line that named it, for messages.
        expected: runs that are to be made, if that is known.

    Raises:
        InputError: the folder has files, but no journal, or is in use.
        NoRoomError: the disk is full; says which runs are kept.
        Stopped: Ctrl-C; says the same.

    """
    if folder is None:
        with going_on(None, lambda: 0, option=option):
            yield None
        return
    with refusing(folder, f"{option} "):
        real(folder)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{option} {folder}: is a file; give a folder")
        if folder.is_dir() and any(folder.iterdir()) and not (folder / NAME).is_file():
            raise InputError(
                f"{option} {folder}: has files but no {NAME}; give a new folder, or one to go on with"
            )
        folder.mkdir(parents=True, exist_ok=True)
    with Journal(folder) as journal:
        remove_abandoned(folder, None, ignore)
        try:
            with going_on(folder, lambda: journal.n_used, expected, option), room_for(f"{option} {folder}"):
                yield journal
        finally:
            if not journal.any_finished:
                (folder / NAME).unlink(missing_ok=True)
                with suppress(OSError):
                    folder.rmdir()


@contextmanager
def going_on(
    folder: Path | None, kept: Callable[[], int], expected: int | None = None, option: str = "--out"
) -> Iterator[None]:
    """Let Ctrl-C and a full disk say how many runs a folder keeps, and how to go on.

    Raises:
        NoRoomError: the disk is full.
        Stopped: Ctrl-C.

    """
    try:
        yield
    except KeyboardInterrupt as error:
        if folder is None:
            raise Stopped(
                f"nothing is kept; with {option} DIR every run that ended is, and the same call goes on"
            ) from error
        raise Stopped(_kept(kept(), expected, folder), "To go on" if kept() else "To begin anew") from error
    except NoRoomError as error:
        if folder is None:
            raise
        raise error.advised(_kept(kept(), expected, folder, "once there is room ")) from error


def _kept(runs: int, expected: int | None, folder: Path, when: str = "") -> str:
    if not runs:
        return "no run had ended, nothing is kept"
    some = f"{runs} of {exactly(expected, 'run')}" if expected else exactly(runs, "run")
    return f"{some} kept in {folder}; {when}the same call goes on from there"


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
