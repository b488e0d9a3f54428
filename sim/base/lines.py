"""What goes wrong in the lines of a JSONL file."""

from pathlib import Path

from sim.base.errors import InputError

MOST_PROBLEMS = 10


class Problems:
    """Collects what is wrong with a file, up to a limit, so that one run shows all of it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: list[str] = []

    def add(self, line: int | str, message: object) -> None:
        """Keep one, in a line, or in a file and line in words; raise them all when there are many."""
        self._found.append(f"{f'line {line}' if isinstance(line, int) else line}: {message}")
        if len(self._found) == MOST_PROBLEMS:
            self._found.append("and perhaps more")
            self.raise_any()

    def raise_any(self) -> None:
        """Raise an InputError that lists every problem, if there is one."""
        if len(self._found) == 1:
            raise InputError(f"{self._path}, {self._found[0]}")
        if self._found:
            raise InputError("\n  ".join([f"{self._path}:", *self._found]))
