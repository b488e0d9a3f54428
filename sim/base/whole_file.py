"""A file that is there as a whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sim.base.building import (
    OnRemoved,
    building,
    ignore,
    keep_beside,
    real,
    remove_abandoned,
    rename_new,
)
from sim.base.disk_room import refusing, room_for
from sim.base.errors import InputError, KeptElsewhereError, NoRoomError

_Identity = tuple[int, int, int, int] | None
"""Device, inode, size and time of change of a file; None where there is none."""


@contextmanager
def whole_file(path: Path, *, option: str = "", on_removed: OnRemoved = ignore) -> Iterator[Path]:
    """Yield an empty file that becomes `path`, in place of an earlier one, when the block ends well.

    Args:
        path: the file; a link is followed.
        option: of the command line that named it, for messages.
        on_removed: told what killed processes had left of it.

    Raises:
        InputError: no file can be made there.
        NoRoomError: the disk is full.

    """
    with _built(path, option, on_removed) as (built, target):
        yield built
        built.replace(target)


@contextmanager
def new_file(
    path: Path, *, replace: bool, option: str = "", on_removed: OnRemoved = ignore
) -> Iterator[Path]:
    """Yield an empty file that becomes `path` when the block ends well; nothing that appears meanwhile goes.

    Args:
        path: the file; a link is followed.
        replace: whether a file that is there at the beginning makes room.
        option: of the command line that named it, for messages.
        on_removed: told what killed processes had left of it.

    Raises:
        InputError: it exists, unless `replace` allows it, or no file can be made there.
        KeptElsewhereError: the file is complete, but `path` was taken meanwhile or cannot be had.
        NoRoomError: the disk is full.

    """
    with refusing(path, option):
        earlier = _identity(real(path))
    check_regular(path, option)
    if earlier and not replace:
        raise InputError(f"{option}{path}: exists; give a new file, or --force to replace it")
    with _built(path, option, on_removed) as (built, target):
        yield built
        try:
            if earlier is None or not target.exists():
                rename_new(built, target)
            elif _identity(target) == earlier:
                built.replace(target)
            else:
                raise FileExistsError
        except OSError as error:
            kept = keep_beside(built, target, lambda number: f"{target.stem}-{number}{target.suffix}")
            raise KeptElsewhereError(f"{option}{path}", error, kept) from error


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole; what UTF-8 cannot say, half of a surrogate pair, is escaped as in JSON.

    Raises:
        InputError: no file can be made there.
        NoRoomError: the disk is full.

    """
    with whole_file(path) as built:
        built.write_bytes(to_utf8(text))


def to_utf8(text: str) -> bytes:
    """Return the bytes of a text; what UTF-8 cannot say, half of a surrogate pair, is escaped as in JSON."""
    return text.encode("utf-8", "backslashreplace")


@contextmanager
def _built(path: Path, option: str, on_removed: OnRemoved) -> Iterator[tuple[Path, Path]]:
    """Yield an empty file, and the path that it is to have."""
    check_regular(path, option)
    with ExitStack() as stack:
        with refusing(path, option):
            target = real(path)
            if not target.parent.is_dir():
                raise InputError(f"{option}{path}: no such folder: {path.parent}")
            remove_abandoned(target.parent, target.name, on_removed)
            built = stack.enter_context(building(target.parent, target.name, Path.touch))
        try:
            with room_for(path):
                yield built, target
        except NoRoomError as error:
            raise error.moved(built, path) from error


def check_regular(path: Path, option: str = "") -> None:
    """Refuse what is there and no file: a folder, or a device, whose place a file would take.

    Raises:
        InputError: says which; `option` is that of the command line, for the message.

    """
    with refusing(path, option):
        target = real(path)
        if target.is_dir() or (target.exists() and not target.is_file()):
            what = "folder" if target.is_dir() else "device"
            raise InputError(f"{option}{path}: is a {what}; give a file")


def _identity(path: Path) -> _Identity:
    try:
        says = os.stat(path)
    except FileNotFoundError:
        return None
    return says.st_dev, says.st_ino, says.st_size, says.st_mtime_ns
