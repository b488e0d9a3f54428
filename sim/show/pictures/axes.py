"""Axes of values over several runs: units, limits, and what several runs are drawn as."""

from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any

from sim.results.quantities import MILLISECONDS, SECONDS, TOKENS, Unit
from sim.runs.comparison import Comparison
from sim.runs.paired import LEAST_PAIRS
from sim.runs.spread import CONFIDENCE, COVERAGE, band, interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axis import Axis

_LOG_FROM = 50
"""Durations that differ by this factor are drawn on a logarithmic axis."""
_HEADROOM = 1.05
BAND = {"alpha": 0.15, "linewidth": 0}
WHISKER = {"linewidth": 1.5, "color": "0.25"}


def runs_of(comparison: Comparison) -> str:
    """Return what points and bands are."""
    seeds = comparison.seeds
    some = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
    if comparison.has_bands:
        draws = f"medians of {len(comparison.draws)} draws of the coefficients, {some}"
        return f"{draws}, with {100 * COVERAGE:.0f} % bands of the draws"
    if len(seeds) == 1:
        return some
    ends = f" with {100 * CONFIDENCE:.0f} % intervals" if len(seeds) >= LEAST_PAIRS else ""
    return f"means of {some}{ends}"


def axis_unit(shown: Unit, data: "pd.DataFrame") -> Unit:
    """Return the unit of an axis with these values: milliseconds for times below a second."""
    return MILLISECONDS if shown is SECONDS and data["value"].max() < 1 else shown


def set_scale(axis: "Axis", shown: Unit, values: "pd.Series[float]", *, logarithmic: bool) -> None:
    """Let an axis of values begin at 0; logarithmic, if it may be, for durations that differ widely."""
    from matplotlib.ticker import EngFormatter  # noqa: PLC0415

    panel = axis.axes
    vertical = axis is panel.yaxis
    set_limits = panel.set_ylim if vertical else panel.set_xlim
    smallest, largest = values.min(), values.max()
    if logarithmic and shown.axis in {"s", "ms"} and 0 < smallest * _LOG_FROM < largest:
        (panel.set_yscale if vertical else panel.set_xscale)("log")
        axis.set_major_formatter("{x:g}")
    elif largest > 0:
        # Margins are a share of the range, so a flat line would lie on the edge.
        set_limits(0, max(*axis.get_view_interval(), _HEADROOM * largest))
    elif largest == 0:
        set_limits(0, 1)
    if shown is TOKENS and largest > 0:
        axis.set_major_formatter(EngFormatter(sep=""))


def spread_of(comparison: Comparison, metric: str, shown: Unit) -> dict[str, Any]:
    """Return what seaborn draws of several runs: means with intervals or, of draws, medians with bands."""
    if comparison.has_bands:
        return {"estimator": "median", "errorbar": _band_ends}
    return {"estimator": "mean", "errorbar": partial(_error_bar, metric, shown.per_axis_unit)}


def _band_ends(values: "pd.Series[float]") -> tuple[float, float]:
    """Return the band of the draws, as tables have it."""
    found = band(list(values))
    return (nan, nan) if found.low is None or found.high is None else (found.low, found.high)


def _error_bar(metric: str, per_axis_unit: float, values: "pd.Series[float]") -> tuple[float, float]:
    """Return the interval of the mean, as tables have it."""
    found = interval(list(values * per_axis_unit), metric)
    if found.n < LEAST_PAIRS or found.low is None or found.high is None:
        return nan, nan
    return found.low / per_axis_unit, found.high / per_axis_unit
