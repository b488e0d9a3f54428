"""Writes a file as a whole or not at all."""

import os
from pathlib import Path

from sim.errors import InputError


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
