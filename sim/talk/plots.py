"""The sensitivity study as a picture: rows against moved assumptions, the colour how far each row is off."""

from collections.abc import Sequence
from pathlib import Path

from sim.results.plots import style
from sim.talk.scores import RowScore
from sim.talk.show import band, quantity

_CELL_INCHES = (0.62, 0.34)
_MARGIN_INCHES = (3.4, 2.4)
_MOST_OFF = 1.5
"""Beyond e to this power, colours do not deepen."""


def write_sensitivity(columns: Sequence[str], rows: Sequence[Sequence[RowScore]], path: Path) -> None:
    """Write the picture, the same bytes for the same numbers.

    Args:
        columns: what the numbers of a column were made with.
        rows: of each target, its score in every column.
        path: a PNG file.

    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    with style():
        width = _MARGIN_INCHES[0] + _CELL_INCHES[0] * len(columns)
        height = _MARGIN_INCHES[1] + _CELL_INCHES[1] * len(rows)
        figure = Figure(figsize=(width, height), layout="constrained")
        _draw(figure, columns, rows)
        figure.savefig(path, metadata={"Software": None}, dpi=110)
