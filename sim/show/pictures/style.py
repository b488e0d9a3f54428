"""How pictures look, on light ground and on dark, and where they are drawn.

All pictures are laid out for 100 pixels an inch; files have twice as many. Ground, text and colours are what
the environment variable `SIM_THEME` says: light, unless it is dark.
"""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sim.base.errors import InputError
from sim.base.messages import did_you_mean
from sim.base.whole_file import whole_file
from sim.show.pictures.fitting import fit_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

Theme = Literal["light", "dark"]
THEME = "SIM_THEME"
"""The environment variable."""
ONE_INCHES = (6.4, 4.0)
"""Of a picture with one panel."""
PANEL_INCHES = (4.8, 3.2)
"""Of each of two panels beside each other."""
SMALL_INCHES = (3.6, 2.8)
"""Of each of three or more."""
CHARACTERS_AN_INCH = 11
"""Of text of the usual size, at least."""
SMALL = 9
"""Points: the smallest text of a picture, of ticks and legends; the rest has one more."""
MANY = 10
"""Colours that are told apart."""

_STYLE = {
    "axes.grid": True,
    "axes.labelsize": SMALL + 1,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": SMALL + 1,
    "figure.dpi": 100,
    "figure.titlesize": SMALL + 1,
    "font.family": ["DejaVu Sans"],
    "font.size": SMALL + 1,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.title_fontsize": SMALL,
    "lines.markersize": 5,
    "savefig.dpi": 200,
    "svg.hashsalt": "sim",
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
}
_GROUND, _INK, _QUIET, _EDGE, _GRID = range(5)
_COLOURS: dict[Theme, tuple[str, str, str, str, str]] = {
    "light": ("#ffffff", "#1b1f24", "#57606a", "#8c959f", "#e4e7eb"),
    "dark": ("#14181d", "#e6e9ec", "#a7b0ba", "#6b7682", "#2b323a"),
}
"""Ground, text, text that is less than the rest, edges, lines behind; those of the pages."""
_DARK = (
    "#56b4e9",
    "#ffb454",
    "#3fcf9e",
    "#ff7f5c",
    "#d9a0e8",
    "#d6b48a",
    "#ffc2e2",
    "#b5bdc6",
    "#f2e85c",
    "#9fe3ff",
)


def theme() -> Theme:
    """Return what `SIM_THEME` asks for.

    Raises:
        InputError: it is neither light nor dark.

    """
    asked = os.environ.get(THEME) or "light"
    for known in _COLOURS:
        if asked == known:
            return known
    raise InputError(f"{THEME} = {asked}: is no theme{did_you_mean(asked, _COLOURS)}")


@contextmanager
def style(chosen: Theme | None = None) -> Iterator[None]:
    """Make and write figures in this context; a name in letters that the font lacks is no warning.

    Args:
        chosen: light or dark; what `SIM_THEME` asks for if not given.

    Raises:
        InputError: `SIM_THEME` is neither.

    """
    import matplotlib as mpl  # noqa: PLC0415 - slow to import
    import seaborn as sns  # noqa: PLC0415

    settings: dict[Any, Any] = {**sns.axes_style("whitegrid"), **_STYLE, **_themed(chosen or theme())}
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def ink() -> str:
    """Return the colour of text, in this context."""
    return _colour("text.color")


def quiet() -> str:
    """Return the colour of what says less than the rest: limits, remarks, whiskers."""
    return _COLOURS[_of_context()][_QUIET]


def faint() -> str:
    """Return the colour of lines that only lead the eye."""
    return _COLOURS[_of_context()][_EDGE]


def palette(n: int) -> list[Any]:
    """Return so many colours that are told apart, by those who see few colours too; of many, a scale."""
    import seaborn as sns  # noqa: PLC0415

    dark = _of_context() == "dark"
    if n > MANY:
        # The ends of the scale would be lost on white or on black.
        shades = sns.color_palette("viridis", round(n / 0.85) + 1)
        return list(shades[-n:] if dark else shades[:n])
    return list(sns.color_palette(_DARK if dark else "colorblind", n))


def scale(name: str = "flare") -> "Colormap":
    """Return one of seaborn's colour maps of even lightness: the more, the further from the ground."""
    import seaborn as sns  # noqa: PLC0415

    if _of_context() == "dark":
        name = name.removesuffix("_r") if name.endswith("_r") else f"{name}_r"
    found: Colormap = sns.color_palette(name, as_cmap=True)
    return found


def scale_around() -> "Colormap":
    """Return a colour map from blue to red, with the ground between."""
    import seaborn as sns  # noqa: PLC0415

    if _of_context() == "dark":
        found: Colormap = sns.diverging_palette(240, 20, s=80, l=55, center="dark", as_cmap=True)
    else:
        found = sns.color_palette("vlag", as_cmap=True)
    return found


def save(figure: "Figure", path: Path, chosen: Theme | None = None) -> None:
    """Write a figure as PNG or SVG, as the name of its file ends; equal figures give equal bytes."""
    kind = path.suffix.removeprefix(".")
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with style(chosen), whole_file(path) as file:
        figure.savefig(file, format=kind, metadata=metadata)


@contextmanager
def on_axes(ax: "Axes | None", inches: tuple[float, float] = ONE_INCHES) -> "Iterator[Axes]":
    """Yield the axes to draw on: those given or, in our style, those of a new figure."""
    if ax is not None:
        yield ax
        return
    import matplotlib.pyplot as plt  # noqa: PLC0415

    # The first figure makes a notebook ready to show figures. In the style, that would end with the style.
    figure = plt.figure(figsize=inches, layout="constrained")
    with style():
        figure.set_facecolor(_colour("figure.facecolor"))
        yield figure.add_subplot()
        fit_ticks(figure)


def _themed(chosen: Theme) -> dict[str, Any]:
    colours = _COLOURS[chosen]
    ground, text = colours[_GROUND], colours[_INK]
    return {
        "axes.edgecolor": colours[_EDGE],
        "axes.facecolor": ground,
        "axes.labelcolor": text,
        "axes.prop_cycle": _cycle(chosen),
        "axes.titlecolor": text,
        "figure.edgecolor": ground,
        "figure.facecolor": ground,
        "grid.color": colours[_GRID],
        "patch.edgecolor": ground,
        "text.color": text,
        "xtick.color": text,
        "ytick.color": text,
    }


def _cycle(chosen: Theme) -> Any:
    import seaborn as sns  # noqa: PLC0415
    from matplotlib.rcsetup import cycler  # noqa: PLC0415

    return cycler(color=sns.color_palette(_DARK if chosen == "dark" else "colorblind", MANY))


def _of_context() -> Theme:
    """Return the theme of the context that one is in; outside of `style`, light: that of matplotlib."""
    dark = _COLOURS["dark"]
    return "dark" if _colour("figure.facecolor") == dark[_GROUND] else "light"


def _colour(name: Any) -> str:
    import matplotlib as mpl  # noqa: PLC0415

    return str(mpl.rcParams[name])
