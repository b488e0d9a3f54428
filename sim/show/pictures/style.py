"""How pictures look, and where they are drawn."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLE = {
    "axes.edgecolor": "0.6",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "font.family": ["DejaVu Sans"],
    "grid.color": "0.9",
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "sim",
}


@contextmanager
def style() -> Iterator[None]:
    """Make and write figures in this context; a name in letters that the font lacks is no warning."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to import
    import seaborn as sns  # noqa: PLC0415

    settings: dict[Any, Any] = {**sns.axes_style("whitegrid"), **_STYLE}
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def given_or_new(ax: "Axes | None", inches: tuple[float, float] = (6.4, 4.0)) -> "Axes":
    """Return the axes to draw on: those given, or those of a new figure, which a notebook then shows."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # noqa: PLC0415

    # The first figure makes a notebook ready to show figures. In the style, that would end with the style.
    figure = plt.figure(figsize=inches, layout="constrained")
    with style():
        return figure.add_subplot()
