"""Pieces of Markdown: tables, and text of docstrings."""

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells may hold Markdown, of which line ends become spaces."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(cell, line))} |\n" for line in lines)


def keys(kind: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of keys and what they are, which narrow screens show as paragraphs."""
    return f'<div class="made-keys made-{kind}" markdown>\n\n{table(head, rows)}\n</div>\n'


def cell(text: str) -> str:
    """Return a text that stays in its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: object) -> str:
    """Return a text as code; nothing of nothing."""
    return f"`{text}`" if str(text) else ""


def anchored(text: str, anchor: str) -> str:
    """Return a name as code that links may lead to."""
    return f"`{text}`{{: #{anchor} }}"


def sentence(text: str) -> str:
    """Return the text of a docstring or a setting as one paragraph; what looks like HTML is text."""
    return " ".join(text.split()).replace("<", "&lt;")


def paragraphs(text: str) -> str:
    """Return a docstring as Markdown: indented code stays code, lists get room before them."""
    text = re.sub(r"(?m)^(?!- |  |$)(.*)\n(- )", r"\1\n\n\2", text)
    return text + "\n"
