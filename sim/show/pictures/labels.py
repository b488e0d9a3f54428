"""Names that users gave, as pictures show them: as text, whatever matplotlib would make of it."""

import re
from collections.abc import Iterable
from textwrap import fill

_MOST = 60
"""Characters of a label; of a longer name the middle is left out."""
_TAIL = 20
_NOTHING_WIDE = "\u200b"


def as_label(text: str, width: int = _MOST) -> str:
    """Return a text as matplotlib has to be given it, in lines of so many characters.

    Dollar signs begin no formula, an underscore at the beginning hides nothing from a legend, control
    characters and halves of surrogate pairs are written out, what is long is shortened.
    """
    shown = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    if len(shown) > _MOST:
        shown = f"{shown[: _MOST - _TAIL - 1]}…{shown[-_TAIL:]}"
    if len(shown) > width:
        shown = fill(shown, width)
    hidden = shown.startswith("_")
    return (_NOTHING_WIDE if hidden else "") + shown.replace("$", r"\$")


def as_labels(texts: Iterable[str], width: int = _MOST) -> dict[str, str]:
    """Return the label of each text; those that would look the same are numbered."""
    labels: dict[str, str] = {}
    taken: set[str] = set()
    for text in texts:
        if text in labels:
            continue
        label = first = as_label(text, width)
        number = 1
        while label in taken:
            number += 1
            label = f"{first} ({number})"
        labels[text] = label
        taken.add(label)
    return labels


def broken(text: str, width: int) -> str:
    """Return a text in lines of so many characters, broken after blanks or, of keys, dots and underscores."""
    return "\n".join(map(str.strip, _lines(text, width)))


def _lines(text: str, width: int) -> list[str]:
    lines: list[str] = []
    for given in text.split("\n"):
        lines.append("")
        for part in re.findall(r"[^ ._]*[ ._]?", given):
            if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
                lines.append("")
            lines[-1] += part
    return lines
