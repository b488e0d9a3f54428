"""Runs one measurement in a process of its own.

Linux counts the memory of the process that started it to the peak of a new process: whoever measures through
this stays small, and imports nothing but the standard library.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class MeasurementError(Exception):
    """A measured process failed."""


def measured(
    command: Sequence[str], environment: Mapping[str, str] | None = None, folder: Path = ROOT
) -> dict[str, Any]:
    """Return the JSON object that a command prints in its last line; it runs in a folder.

    Raises:
        MeasurementError: it cannot be started, fails, or prints no such line; says what it wrote instead.

    """
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise MeasurementError(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        raise MeasurementError(f"{' '.join(command)} failed with {done.returncode}:\n{done.stderr[-2000:]}")
    try:
        numbers = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError) as error:
        raise MeasurementError(
            f"{' '.join(command)} printed no measurement:\n{done.stdout[-2000:]}"
        ) from error
    if not isinstance(numbers, dict):
        raise MeasurementError(f"{' '.join(command)} printed no measurement but {numbers}")
    return numbers
