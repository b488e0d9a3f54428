"""Writes the file of `--out` as a whole or not at all."""

import os
from pathlib import Path

from sim.errors import InputError
from sim.folder import check_regular


def check_out(path: Path, *, force: bool) -> None:
    """Check that a file can be made, before the work that it is for.

    Raises:
        InputError: it exists, unless `force` allows to replace it, or its folder takes no file.

    """
    check_regular(path, "--out ")
    if path.exists() and not force:
        raise InputError(f"--out {path}: exists; give a new file, or --force to replace it")
    if not path.parent.is_dir():
        raise InputError(f"--out {path}: no such folder: {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"--out {path}: the folder {path.parent} cannot be written to")


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole or not at all.

    Raises:
        InputError: it cannot be written.

    """
    building = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        building.write_text(text, encoding="utf-8")
        building.replace(path)
    except OSError as error:
        raise InputError(f"--out {path}: {error.strerror}") from error
    finally:
        building.unlink(missing_ok=True)
