"""The small run of `tests/data/measured/small` (see its README), and copies with other files."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SMALL = Path(__file__).resolve().parents[1] / "data" / "measured" / "small"
UNIX_S = 1_800_000_000
"""2027-01-15T08:00:00Z."""
WORKERS = (0x3E9, 0xFFFF_FFFF_FFFF_FFFD)
IDS = ("aaaa-0", "aaaa-1", "aaaa-2")


def lines(name: str) -> list[str]:
    """Return the lines of one of its files."""
    return (SMALL / name).read_text(encoding="utf-8").splitlines()


def bench() -> dict[str, Any]:
    """Return its result of the client."""
    content: dict[str, Any] = json.loads((SMALL / "bench.json").read_text(encoding="utf-8"))
    return content


def jsonl(rows: Sequence[object]) -> str:
    """Return a line of JSON for each row."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def copy(folder: Path, **texts: str | None) -> Path:
    """Copy the run into a new folder; texts replace or add files, None leaves one out.

    Names have _ for - and for the dot.
    """
    shutil.copytree(SMALL, folder)
    names = {path.name.replace("-", "_").replace(".", "_"): path for path in folder.iterdir()}
    for key, text in texts.items():
        if text is None:
            names[key].unlink()
        else:
            names.get(key, folder / key).write_text(text, encoding="utf-8")
    return folder
