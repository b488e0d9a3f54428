"""Fitted laws kept on disk: asking takes seconds, and most of them are for the same engines again and again.

A law stands in the user's cache folder (`$XDG_CACHE_HOME/kv-routing-sim/aic`, `~/.cache` where that is unset)
as a file of coefficients, named after a fingerprint of all that it depends on. Files may be deleted at any
time. One that cannot be read is made anew; where none can be written, nothing is kept.
"""

import hashlib
import os
from pathlib import Path

from sim.base.errors import InputError
from sim.base.whole_file import write_text
from sim.hardware.coefficient_file import CoefficientFile, read_coefficient_file


def cache_folder() -> Path:
    """Return the folder of kept laws; it need not exist."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path counts as unset.
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return base / "kv-routing-sim" / "aic"


def fingerprint(*parts: object) -> str:
    """Return a name for what depends on these parts and nothing else."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def kept(name: str) -> CoefficientFile | None:
    """Return the law of this fingerprint, or None if it is not there or damaged."""
    try:
        path = cache_folder() / f"{name}.toml"
        return read_coefficient_file(path) if path.is_file() else None
    except (InputError, OSError, RuntimeError):
        return None


def keep(name: str, text: str) -> None:
    """Keep the file of a law, as a whole or not at all."""
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / f"{name}.toml", text)
    except (InputError, OSError, RuntimeError):
        return
