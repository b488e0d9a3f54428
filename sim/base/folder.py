"""A folder of results that is there as a whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from sim.base.building import (
    OnRemoved,
    building,
    exchange,
    ignore,
    is_building,
    keep_beside,
    locked,
    real,
    remove_abandoned,
    rename_new,
)
from sim.base.disk_room import refusing, room_for
from sim.base.errors import InputError, KeptElsewhereError, NoRoomError

MARK = "summary.json"
"""Every folder of results has this file,"""
COMPARISON_MARK = "comparison.json"
"""or this one, if it is of a comparison."""

_MARKS = (MARK, COMPARISON_MARK)
_Files = dict[str, tuple[int, int, int]]
"""Inode, size and time of change of every file below a folder."""


@contextmanager
def new_folder(path: Path, *, replace: bool, on_removed: OnRemoved = ignore) -> Iterator[Path]:
    """Yield an empty folder that becomes `path` when the block ends well, and is removed when it does not.

    Only what `path` held at the beginning makes room: nothing that appears there later is deleted.

    Args:
        path: a folder that is not there yet or is empty; a link is followed.
        replace: whether it may hold earlier results.
        on_removed: told what killed processes had left of it.

    Raises:
        InputError: `path` cannot be made, or is not empty; `replace` allows one that holds earlier results.
        KeptElsewhereError: the folder is complete, but `path` was taken meanwhile or cannot be had.
        NoRoomError: the disk is full; names the file.

    """
    with ExitStack() as stack:
        with refusing(path):
            target = real(path)
            for parent in (target.parent, target):
                remove_abandoned(parent, target.name, on_removed)
            earlier = _check_free(path, target, replace=replace)
            stack.enter_context(_parents(target))
            # An empty folder is filled: it may be mounted, shared, or somebody's current one.
            parent = target if earlier == {} else target.parent
            folder = stack.enter_context(building(parent, target.name, Path.mkdir))
        try:
            with room_for(path):
                yield folder
        except NoRoomError as error:
            raise error.moved(folder, path) from error
        try:
            _settle(folder, target, earlier)
        except OSError as error:
            kept = keep_beside(folder, target, lambda number: f"{target.name}-{number}")
            raise KeptElsewhereError(path, error, kept) from error


def _check_free(path: Path, target: Path, *, replace: bool) -> _Files | None:
    """Return the files of the earlier results that make room, none of an empty folder, None without one."""
    try:
        target.stat()
    except FileNotFoundError:
        return None
    if not target.is_dir():
        raise InputError(f"{path}: is a file; give a folder that is new or empty")
    if all(map(is_building, target.iterdir())):
        return {}
    if not replace:
        raise InputError(
            f"{path}: is not empty; give a new folder, or --force (in Python replace=True) "
            "to replace earlier results"
        )
    if not any((target / mark).is_file() for mark in _MARKS):
        raise InputError(
            f"{path}: has no {MARK} and no {COMPARISON_MARK}, so it holds no earlier results; "
            "only those are replaced"
        )
    here = Path.cwd()
    if target.is_mount() or target in (here, *here.parents):
        what = "something is mounted there" if target.is_mount() else "it is the current folder"
        raise InputError(f"{path}: results there cannot be replaced as a whole: {what}; give another folder")
    return _files(target)


@contextmanager
def _parents(target: Path) -> Iterator[None]:
    """Make the folders that a path lies in; those that are empty at the end go again."""
    missing = [parent for parent in target.parents if not parent.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):
            for parent in missing:
                parent.rmdir()


def _files(folder: Path) -> _Files:
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            file = Path(parent, name)
            says = file.lstat()
            found[str(file.relative_to(folder))] = (says.st_ino, says.st_size, says.st_mtime_ns)
    return found


def _settle(folder: Path, target: Path, earlier: _Files | None) -> None:
    """Give a complete folder its place.

    Raises:
        FileExistsError: something is there that was not at the beginning.
        OSError: the system refuses.

    """
    if not folder.exists():
        raise InputError(f"{target}: was removed during the run, with what was to be kept")
    if earlier == {}:
        _fill(target, folder)
    elif earlier is None or not target.exists():
        rename_new(folder, target)
    else:
        _replace(target, folder, earlier)


def _fill(target: Path, folder: Path) -> None:
    """Move all into an empty folder; what tells a folder of results comes last."""
    moved: list[Path] = []
    with locked(target, wait=True):
        if not all(map(is_building, target.iterdir())):
            raise FileExistsError
        try:
            for source in sorted(folder.iterdir(), key=lambda source: source.name in _MARKS):
                rename_new(source, target / source.name)
                moved.append(source)
        except OSError:
            for source in moved:
                (target / source.name).rename(source)
            raise


def _replace(target: Path, folder: Path, earlier: _Files) -> None:
    """Let a folder take the place of earlier results if they are what they were."""
    with locked(target):
        if _files(target) != earlier:
            raise FileExistsError
        if exchange(folder, target):
            if _files(folder) != earlier:
                exchange(folder, target)
                raise FileExistsError
            return
    aside = keep_beside(target, target, lambda number: f"{target.name}.replaced-{number}")
    try:
        if _files(aside) != earlier:
            raise FileExistsError
        rename_new(folder, target)
    except OSError:
        rename_new(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)
