"""The sensitivity study as a picture: rows against moved assumptions, the colour how far each row is off."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.base.whole_file import whole_file
from sim.published.scores import RowScore
from sim.published.show_rows import band, quantity
from sim.published.variants import Scored
from sim.show.pictures.labels import as_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CELL_INCHES = (0.62, 0.34)
_MARGIN_INCHES = (3.4, 2.4)
_STYLE: dict[Any, Any] = {"font.family": ["DejaVu Sans"], "svg.fonttype": "none", "svg.hashsalt": "sim"}
"""Text stays text: the file is small, and the numbers can be searched."""
_MOST_OFF = 1.5
"""Beyond e to this power, colours do not deepen."""


def write_sensitivity(found: Sequence[Scored], path: Path) -> None:
    """Write the picture as SVG, the same bytes for the same numbers: a column for each variant."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415

    columns = [scored.variant.name for scored in found]
    rows = list(zip(*(scored.rows for scored in found), strict=True))
    with mpl.rc_context(_STYLE):
        width = _MARGIN_INCHES[0] + _CELL_INCHES[0] * len(columns)
        height = _MARGIN_INCHES[1] + _CELL_INCHES[1] * len(rows)
        figure = Figure(figsize=(width, height), layout="constrained")
        _draw(figure, columns, rows)
        with whole_file(path) as file:
            figure.savefig(file, metadata={"Date": None})


def _draw(figure: "Figure", columns: Sequence[str], rows: Sequence[Sequence[RowScore]]) -> None:
    import numpy as np  # noqa: PLC0415
    import seaborn as sns  # noqa: PLC0415

    off = np.array([[signed(score) for score in row] for row in rows])
    numbers = [
        ["" if score.holds else quantity(score.target, score.deciding.median) for score in row]
        for row in rows
    ]
    panel = figure.subplots()
    sns.heatmap(
        np.clip(off, -_MOST_OFF, _MOST_OFF),
        annot=np.array(numbers),
        fmt="",
        annot_kws={"fontsize": 6.5},
        cmap=sns.color_palette("vlag", as_cmap=True),
        center=0,
        vmin=-_MOST_OFF,
        vmax=_MOST_OFF,
        cbar=False,
        linewidths=0.5,
        ax=panel,
    )
    panel.set_xticklabels(map(as_label, columns), rotation=90, fontsize=7)
    panel.set_yticklabels(
        [f"{as_label(row[0].target.id)}  ({band(row[0].target)})" for row in rows], rotation=0, fontsize=7
    )
    panel.set_title("white: the row holds; red: too high, blue: too low, and what it is there", fontsize=8)


def signed(row: RowScore) -> float:
    """Return how far a row is from its band: above 0 if its number is too high, below 0 if too low."""
    score = row.deciding
    if row.holds or score.median is None:
        return 0.0
    value = abs(score.median) if row.target.combine == "difference" else score.median
    low = row.target.band.low
    return -score.off if low is not None and value < low else score.off
