"""What a checker leaves out: named and counted, and no success unless the caller said that it may be."""

import sys
from collections.abc import Sequence
from pathlib import Path

OPTION = "--allow-skipped"
"""Says that recordings of what is not modelled may be there."""
AGREES, DISAGREES, NO_INPUT, SKIPPED = range(4)
"""Exit statuses."""


class Skipped:
    """The recordings of a folder that were not replayed, with the reason."""

    def __init__(self, folder: Path, *, allowed: bool) -> None:
        self.folder = folder
        self._allowed = allowed
        self._reasons: list[tuple[str, str]] = []

    @classmethod
    def from_arguments(cls, arguments: Sequence[str], command: str) -> "Skipped | None":
        """Return the folder that a command is given; None, and its usage printed, if that is not one."""
        folders = [Path(text) for text in arguments if text != OPTION]
        if len(folders) == 1 and folders[0].is_dir():
            return cls(folders[0], allowed=OPTION in arguments)
        print(f"usage: {command} DIR [{OPTION}] (DIR: a folder of recordings, *.jsonl)", file=sys.stderr)
        return None

    def recordings(self) -> list[Path]:
        """Return the recordings in order; say what else is there, but for texts about them."""
        entries = sorted(path for path in self.folder.iterdir() if path.suffix != ".md")
        others = [path.name + "/" * path.is_dir() for path in entries if path.suffix != ".jsonl"]
        if others:
            print(f"not recordings, not looked at: {', '.join(others)}")
        return [path for path in entries if path.suffix == ".jsonl"]

    def add(self, path: Path, why: str) -> None:
        """Leave a recording out."""
        self._reasons.append((path.name, why))

    def __len__(self) -> int:
        return len(self._reasons)

    def show(self) -> None:
        """Name what was left out."""
        for name, why in self._reasons:
            print(f"{name}: not replayed: {why}")
        if self._reasons:
            print(f"{len(self._reasons)} recordings not replayed")

    def status(self, *, agrees: bool) -> int:
        """Return the exit status of a check in which all that was replayed agrees, or not."""
        if not agrees:
            return DISAGREES
        return SKIPPED if self._reasons and not self._allowed else AGREES
