"""Names of upright lines above a chart: placed so that no line crosses a name."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

LABEL_WIDTH = 74.0
"""Of a name and the space beside it: "p95 1,234 s" in bold, in units of a drawing."""


class LineLabel(NamedTuple):
    """A line that begins at its name's row and goes down from there."""

    place: float
    text: str
    row: int
    """From the top."""
    on_the_left: bool
    """Whether the name ends at the line; else it begins there."""


def placed(lines: Sequence[tuple[float, str]], end: float) -> list[LineLabel]:
    """Return lines with their names, given by their places, ascending; names stay left of `end`.

    A line crosses the rows below its own. Names to the right of their lines, from the top down, are crossed
    by none, and so are those to the left of their lines, from the bottom up. Where neither fits, the widest
    gap parts one kind from the other.
    """
    n = len(lines)
    on_the_right = sum(place + LABEL_WIDTH <= end for place, _ in lines)
    if 0 < on_the_right < n:
        # Those of one kind may be near each other, those of two may not.
        gaps = [after[0] - before[0] for before, after in pairwise(lines)]
        widest = gaps.index(max(gaps)) + 1
        on_the_right = widest if gaps[widest - 1] >= LABEL_WIDTH and widest <= on_the_right else 0
    rows = [*range(on_the_right), *range(n - 1, on_the_right - 1, -1)]
    return [
        LineLabel(place, text, row, number >= on_the_right)
        for number, ((place, text), row) in enumerate(zip(lines, rows, strict=True))
    ]
