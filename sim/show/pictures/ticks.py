"""Numbers beside an axis: short, as in tables, a thin space before a unit, logarithmic over decades."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axis import Axis

THIN = "\N{THIN SPACE}"
DECADES_FROM = 50
"""Values that differ by this factor are drawn on a logarithmic axis."""
_LETTERS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K"))
_FEW_DECADES = 2.5
"""Fewer have ticks at 1, 2, 5, 10 and so on."""


def short(value: float) -> str:
    """Return a number in few characters: "0.5", "200K", "1.5M"."""
    size = abs(float(f"{value:.6g}"))
    factor, letter = next((row for row in _LETTERS if size >= row[0]), (1.0, ""))
    shown = f"{value / factor:.6g}"
    return f"{shown}{letter}".replace("-", "\N{MINUS SIGN}", 1) if shown != "-0" else "0"


def percent(share: float) -> str:
    """Return a share in percent: "50 %"."""
    return f"{short(100 * share)}{THIN}%"


def number(axis: "Axis") -> None:
    """Write numbers in few characters."""
    axis.set_major_formatter(lambda value, _: short(value))


def percents(axis: "Axis") -> None:
    """Write shares in percent."""
    axis.set_major_formatter(lambda value, _: percent(value))


def whole(axis: "Axis") -> None:
    """Have ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - slow to import

    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    number(axis)


def spans_decades(values: Iterable[float]) -> bool:
    """Whether values are all above 0 and differ so much that small ones would lie on a linear axis' edge."""
    found = [*values]
    return bool(found) and 0 < min(found) * DECADES_FROM < max(found)


def logarithmic(axis: "Axis") -> None:
    """Make an axis logarithmic, with as many numbers as its decades leave room for."""
    import math  # noqa: PLC0415

    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415

    panel, vertical = axis.axes, axis is axis.axes.yaxis
    (panel.set_yscale if vertical else panel.set_xscale)("log")
    low, high = sorted(axis.get_view_interval())
    few = 0 < low < high and math.log10(high / low) < _FEW_DECADES
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=9))
    axis.set_minor_formatter(NullFormatter())
    number(axis)
