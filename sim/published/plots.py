"""The sensitivity study as a picture: rows against moved assumptions, the colour how far each row is off."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sim.published.scores import RowScore
from sim.published.show_rows import band, quantity
from sim.published.variants import Scored
from sim.show.pictures.labels import as_label
from sim.show.pictures.style import SMALL, save, scale_around, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CELL_INCHES = (0.66, 0.34)
_MARGIN_INCHES = (4.0, 2.6)
_IN_CELL = SMALL - 1
_MOST_OFF = 1.5
"""Beyond e to this power, colours do not deepen."""


def write_sensitivity(found: Sequence[Scored], path: Path) -> None:
    """Write the picture as SVG, the same bytes for the same numbers: a column for each variant."""
    save(draw(found), path)


def draw(found: Sequence[Scored]) -> "Figure":
    """Return the picture."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    columns = [scored.variant.name for scored in found]
    rows = list(zip(*(scored.rows for scored in found), strict=True))
    with style():
        width = _MARGIN_INCHES[0] + _CELL_INCHES[0] * len(columns)
        height = _MARGIN_INCHES[1] + _CELL_INCHES[1] * len(rows)
        figure = Figure(figsize=(width, height), layout="constrained")
        _draw(figure, columns, rows)
        return figure


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
        annot_kws={"fontsize": _IN_CELL},
        cmap=scale_around(),
        center=0,
        vmin=-_MOST_OFF,
        vmax=_MOST_OFF,
        cbar=False,
        linewidths=0.5,
        ax=panel,
    )
    panel.set_xticklabels(map(as_label, columns), rotation=90)
    panel.set_yticklabels(
        [f"{as_label(row[0].target.name)}  ({band(row[0].target)})" for row in rows], rotation=0
    )
    panel.grid(visible=False)
    panel.set_title("no colour: the row holds; red: too high, blue: too low, and what it is there")


def signed(row: RowScore) -> float:
    """Return how far a row is from its band: above 0 if its number is too high, below 0 if too low."""
    score = row.deciding
    if row.holds or score.median is None:
        return 0.0
    value = abs(score.median) if row.target.combine == "difference" else score.median
    low = row.target.band.low
    return -score.off if low is not None and value < low else score.off
