"""Types of command line options."""

import argparse
from pathlib import Path


def existing_file(text: str) -> Path:
    """Return the absolute path of a file that must be there."""
    path = Path(text).resolve()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text}: no such file")
    return path


def new_file(text: str) -> Path:
    """Return the path of a file that can be written."""
    path = Path(text).resolve()
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: is a folder, or in none that exists")
    return path


def positive(text: str) -> int:
    """Return a whole number above 0."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: must be a whole number above 0")
    return number


def positives(text: str) -> list[int]:
    """Return the whole numbers of a list 10,100,1000."""
    return [positive(part) for part in text.split(",")]
