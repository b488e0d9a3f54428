"""The runs of a study, kept in a folder as they end: a call that is stopped is taken up by the next one."""

import json
from collections.abc import Mapping
from pathlib import Path

from sim.errors import InputError
from sim.talk.cells import Numbers

RUNS = "runs.jsonl"


class Store:
    """Numbers by the fingerprint of their run; in a file where a folder is given, else for this call only."""

    def __init__(self, folder: Path | None) -> None:
        """Read what the folder holds, which is made if it is not there.

        Raises:
            InputError: the folder cannot be made, holds something else, or a line of its file is damaged.

        """
        self._path = None if folder is None else folder / RUNS
        self._numbers: dict[str, Numbers] = {}
        if folder is None or self._path is None:
            return
        if folder.is_dir() and any(folder.iterdir()) and not self._path.is_file():
            raise InputError(
                f"--out {folder}: is not empty and has no {RUNS}; give a new or an earlier folder"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._path.touch()
        except OSError as error:
            raise InputError(f"--out {folder}: {error.strerror}") from error
        self._read(self._path)

    def __contains__(self, key: str) -> bool:
        return key in self._numbers

    def __getitem__(self, key: str) -> Numbers:
        return self._numbers[key]

    def add(self, key: str, numbers: Mapping[str, float | None]) -> None:
        """Keep a run; it is on disk before the next one starts."""
        self._numbers[key] = dict(numbers)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"run": key, "numbers": dict(numbers)}) + "\n")

    def _read(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            # Whoever wrote it was stopped in the middle: that run is made again.
            path.write_text("".join(lines[:-1]), encoding="utf-8")
            lines.pop()
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                self._numbers[record["run"]] = record["numbers"]
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(f"{path}: line {number}: not a run of an earlier call") from error
