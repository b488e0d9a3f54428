"""What a target of the fuzzer is."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """One reader, and the files that it can read."""

    seeds: Callable[[], Sequence[tuple[str, bytes]]]
    """Names and contents; the name tells the reader what it is."""
    read: Callable[[Path, random.Random], None]
    """Reads the damaged file; may raise InputError and nothing else."""
