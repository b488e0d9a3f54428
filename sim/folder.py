"""A folder or file of results that is there as a whole or not at all."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sim.errors import InputError

MARK = "summary.json"
"""Every folder of results has this file,"""
COMPARISON_MARK = "comparison.json"
"""or this one, if it is of a comparison."""

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def room_for(written: Path | str) -> Iterator[None]:
    """Name what was being written where a disk or its quota is full.

    Raises:
        InputError: there is no room left.

    """
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise InputError(f"{written}: {os.strerror(error.errno)}") from error


@contextmanager
def new_folder(path: Path, *, replace: bool) -> Iterator[Path]:
    """Yield an empty folder that becomes `path` when the block ends well, and is removed when it does not.

    Raises:
        InputError: `path` cannot be made, or is not empty; `replace` allows one that holds earlier results.

    """
    path = path.absolute()
    _check_free(path, replace=replace)
    building = path.with_name(f".{path.name}.{os.getpid()}")
    try:  # from before it is made: Ctrl-C may come at any moment
        try:
            building.mkdir(parents=True)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        with room_for(path):
            yield building
        if path.exists():
            shutil.rmtree(path)
        building.rename(path)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _check_free(path: Path, *, replace: bool) -> None:
    if not path.exists():
        return
    if not path.is_dir():
        raise InputError(f"{path}: is a file; give a folder that is new or empty")
    if not any(path.iterdir()):
        return
    if not replace:
        raise InputError(
            f"{path}: is not empty; give a new folder, or --force (in Python replace=True) "
            "to replace earlier results"
        )
    if not any((path / mark).is_file() for mark in (MARK, COMPARISON_MARK)):
        raise InputError(
            f"{path}: has no {MARK} and no {COMPARISON_MARK}, so it holds no earlier results; "
            "only those are replaced"
        )


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield an empty file that becomes `path`, in place of an earlier one, when the block ends well.

    Raises:
        InputError: no file can be made there.

    """
    check_regular(path)
    building = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        try:
            building.touch()
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        with room_for(path):
            yield building
        building.replace(path)
    finally:
        if building.parent.is_dir():
            building.unlink(missing_ok=True)


def check_regular(path: Path, option: str = "") -> None:
    """Refuse what is there and no file: a folder, or a device, whose place a file would take.

    Raises:
        InputError: says which; `option` is that of the command line, for the message.

    """
    if path.is_dir() or (path.exists() and not path.is_file()):
        what = "folder" if path.is_dir() else "device"
        raise InputError(f"{option}{path}: is a {what}; give a file")
