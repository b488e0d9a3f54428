"""The pages of CONTRIBUTING.md about what one may add, as steps to follow."""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_BLOCK = re.compile(
    r"(?:\b(?P<where>above|in)\s`(?P<mark>[^`]+)`\sof\s)?`(?P<path>[\w./-]+)`:\n\n```\w+\n(?P<text>.*?)```",
    re.DOTALL,
)
COPIED = ("sim", "tests", "scenarios", "calibration", "pyproject.toml", "CONTRIBUTING.md")


class Step(NamedTuple):
    """A block of code of a page, and where it says that it belongs."""

    path: str
    text: str
    where: str | None
    """"above" a line that starts with `mark`, "in" the table that starts there; None: the whole file."""
    mark: str | None

    def follow(self, root: Path) -> None:
        """Write the block into a copy of the sources."""
        file = root / self.path
        if self.where is None:
            assert not file.exists(), f"{self.path} is there already"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.text, encoding="utf-8")
            return
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        (at,) = [i for i, line in enumerate(lines) if line.startswith(self.mark or "")]
        if self.where == "in":
            at = lines.index("}\n", at)
        gap = "" if self.where == "in" or self.text.startswith(("from ", " ")) else "\n\n"
        file.write_text("".join([*lines[:at], self.text, gap, *lines[at:]]), encoding="utf-8")


def page(title: str) -> str:
    """Return what a page says."""
    return _TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def steps(title: str) -> list[Step]:
    """Return the blocks of a page that say where they belong, which are all but its commands."""
    found = [
        Step(each["path"], each["text"], each["where"], each["mark"]) for each in _BLOCK.finditer(page(title))
    ]
    assert len(found) == len(re.findall(r"^```(?!sh\b)\w+$", page(title), re.MULTILINE))
    return found


def commands(title: str) -> list[str]:
    """Return the commands of a page."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page(title), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def copied(root: Path, followed: Iterable[Step]) -> Path:
    """Return a copy of the sources in which these steps were followed."""
    for name in COPIED:
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, root / name)
        else:
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for step in followed:
        step.follow(root)
    return root
