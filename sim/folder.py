"""A folder or file of results that is there as a whole or not at all."""

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
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give a file")
    building = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        try:
            building.touch()
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        yield building
        building.replace(path)
    finally:
        if building.parent.is_dir():
            building.unlink(missing_ok=True)
