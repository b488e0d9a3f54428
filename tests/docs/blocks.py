"""Pages of the documentation as blocks of code, and what a comment above a block says of it.

A block of `sh` that has a block of `text` below it is an example: its commands are run, and print that text.
So are a block of `python`, and one of `sh` below `<!-- example: run -->`, whose output is not shown.
`<!-- example: file NAME -->` writes the block below into a file. `<!-- example: not run: WHY -->` leaves an
example out, `<!-- examples: not run: WHY -->` all of a page. A text that ends with a line `...` goes on after
it.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(
    r"(?:^<!-- example: (?P<said>.+?) -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_WHOLE_PAGE = re.compile(r"^<!-- examples: (not run: .+?) -->$", re.MULTILINE)
CUT = "..."


class Block(NamedTuple):
    """A block of code of a page."""

    language: str
    text: str
    said: str
    """What the comment above it says, "" if there is none."""
    at: tuple[int, int]
    """Where its text begins and ends in the page."""


class Step(NamedTuple):
    """Something to do for a page: commands to run, code, or a file to write."""

    block: Block
    output: Block | None
    """What it prints, if the page shows it."""


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page."""
    whole = _WHOLE_PAGE.search(text)
    unsaid = whole[1] if whole else ""
    return [
        Block(found["language"] or "text", found["text"], found["said"] or unsaid, found.span("text"))
        for found in _BLOCK.finditer(text)
    ]


def steps(text: str) -> Iterator[Step]:
    """Yield what is done for a page, in its order."""
    found = blocks(text)
    for block, following in zip_longest(found, found[1:]):
        gap = "" if following is None else text[block.at[1] : following.at[0]]
        shown = following if gap in ("```\n\n```text\n", "```\n\n```\n") else None
        if block.said.startswith("not run: "):
            continue
        if block.said.startswith("file "):
            yield Step(block, None)
        elif block.language == "python" or (block.language == "sh" and (shown or block.said == "run")):
            yield Step(block, shown)


def commands(text: str, program: str = "sim") -> list[str]:
    """Return the lines of a page that call a program, without comments."""
    found = [block.text.replace("\\\n", " ") for block in blocks(text) if block.language == "sh"]
    lines = [line for block in found for line in block.splitlines()]
    return [re.split(r"\s+# ", line)[0] for line in lines if line.startswith(f"{program} ")]


def name(page: Path) -> str:
    """Return a page's place in the repository."""
    return page.relative_to(ROOT).as_posix()
