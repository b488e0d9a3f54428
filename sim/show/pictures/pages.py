"""Small multiples that fit pages: so many panels on each, and which page it is above them."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sim.show.pictures.fitting import fit_legend, fit_ticks, height_inches
from sim.show.pictures.labels import as_label
from sim.show.pictures.panels import Panels
from sim.show.pictures.style import CHARACTERS_AN_INCH, ONE_INCHES, PANEL_INCHES, SMALL_INCHES, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROWS = 4
"""Of panels on a page."""
_INCHES = {1: ONE_INCHES, 2: PANEL_INCHES, 3: SMALL_INCHES}
"""Of a panel, where so many stand beside each other: at most three."""
_LEGEND_COLUMNS = 6
_Cell = tuple[str, int]
"""A number, and which of the places that it is drawn at."""


def pages_of(panels: Panels, metrics: Sequence[str]) -> "list[Figure]":
    """Return figures of some numbers, a page each; of numbers with one panel, several stand in a row.

    Where a number has several panels, all have the same limits, whatever page they are on.
    """
    with style():
        rows = _rows(metrics, len(panels.places))
        parts = [rows[first : first + _ROWS] for first in range(0, len(rows), _ROWS)]
        drawn: dict[_Cell, Axes] = {}
        pages = [_page(part, max(map(len, rows)), drawn, panels.least_inches) for part in parts]
        for metric in metrics:
            panels.draw([drawn[metric, place] for place in range(len(panels.places))], metric)
        for number, (page, part) in enumerate(zip(pages, parts, strict=True), 1):
            if len(panels.places) > 1:
                _outer_labels(panels, part, drawn)
            says = panels.says + (f" (page {number} of {len(pages)})" if len(pages) > 1 else "")
            _explain(page, says)
            fit_ticks(page)
        return pages


def write_pages(pages: "Sequence[Figure]", folder: Path, name: str, *kinds: str) -> list[Path]:
    """Write NAME.KIND, NAME-2.KIND and so on; returns where. What an earlier time had more of goes."""
    written = [
        folder / (f"{name}.{kind}" if place == 0 else f"{name}-{place + 1}.{kind}")
        for place in range(len(pages))
        for kind in kinds
    ]
    for path, page in zip(written, [page for page in pages for _ in kinds], strict=True):
        save(page, path)
    remove_pages(folder, name, *kinds, beyond=len(pages))
    return written


def remove_pages(folder: Path, name: str, *kinds: str, beyond: int = 0) -> None:
    """Remove pages of an earlier time from there on."""
    for kind in kinds:
        if not beyond:
            (folder / f"{name}.{kind}").unlink(missing_ok=True)
        number = max(beyond, 1) + 1
        while (path := folder / f"{name}-{number}.{kind}").exists():
            path.unlink()
            number += 1


def _rows(metrics: Sequence[str], n_places: int) -> list[list[_Cell]]:
    """Return which panels stand beside each other."""
    if n_places == 1:
        return _broken([(metric, 0) for metric in metrics])
    return [row for metric in metrics for row in _broken([(metric, place) for place in range(n_places)])]


def _broken(cells: Sequence[_Cell]) -> list[list[_Cell]]:
    most = 2 if len(cells) == 4 else max(_INCHES)
    return [list(cells[first : first + most]) for first in range(0, len(cells), most)]


def _page(
    rows: Sequence[Sequence[_Cell]], columns: int, drawn: "dict[_Cell, Axes]", least_inches: float
) -> "Figure":
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    width, height = _INCHES[columns]
    figure = Figure(figsize=(width * columns, max(height, least_inches) * len(rows)), layout="constrained")
    grid = figure.add_gridspec(len(rows), columns)
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            drawn[cell] = figure.add_subplot(grid[y, x])
    return figure


def _outer_labels(panels: Panels, rows: Sequence[Sequence[_Cell]], drawn: "dict[_Cell, Axes]") -> None:
    """Title panels; say what axes are at the left, and below where there is nothing below."""
    same_x = len({x for x, _ in panels.places}) == 1
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            panel, title = drawn[cell], panels.places[cell[1]][1]
            characters = int(CHARACTERS_AN_INCH * panel.get_figure().get_figwidth() / max(map(len, rows)))  # type: ignore[union-attr]
            if not (y and x < len(rows[y - 1]) and rows[y - 1][x][1] == cell[1]):
                panel.set_title(as_label(title, characters))
            if x:
                panel.set_ylabel("")
                panel.tick_params(labelleft=panels.horizontal and panel.get_yscale() == "category")
            if same_x and y + 1 < len(rows) and x < len(rows[y + 1]):
                panel.set_xlabel("")


def _explain(figure: "Figure", says: str) -> None:
    """Put one legend above all panels, and say what the bands are."""
    handles: dict[str, Any] = {}
    for panel in figure.axes:
        handles |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
        if legend := panel.get_legend():
            legend.remove()
    text = fill(says, int(CHARACTERS_AN_INCH * figure.get_figwidth()))
    above = (
        fit_legend(figure, [*handles.values()], [*handles], title=text, most_columns=_LEGEND_COLUMNS)
        if handles
        else figure.suptitle(text)
    )
    figure.set_figheight(figure.get_figheight() + height_inches(figure, above))
