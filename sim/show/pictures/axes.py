"""Axes of values over several runs: units, limits, and what several runs are drawn as."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import log, nan
from typing import TYPE_CHECKING, Any

from sim.base.words import exactly
from sim.results.quantities import MILLISECONDS, SECONDS, Unit
from sim.runs.comparison import Comparison
from sim.runs.paired import LEAST_PAIRS
from sim.runs.spread import CONFIDENCE, COVERAGE, band, interval
from sim.show.pictures.style import quiet
from sim.show.pictures.ticks import logarithmic as make_logarithmic
from sim.show.pictures.ticks import number, spans_decades

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_HEADROOM = 1.05
_LEAST_GEOMETRIC, _LEAST_RANGE = 4, 8
"""So many numbers, and so far apart, may be steps of a scale by factors."""
BAND = {"alpha": 0.15, "linewidth": 0}


def whisker() -> dict[str, Any]:
    """Return how error bars of bars look."""
    return {"linewidth": 1.5, "color": quiet()}


def runs_of(comparison: Comparison) -> str:
    """Return what points and bands are."""
    seeds = comparison.seeds
    some = f"seed {seeds[0]}" if len(seeds) == 1 else exactly(len(seeds), "seed")
    if comparison.has_bands:
        draws = f"medians of {exactly(len(comparison.draws), 'draw')} of the coefficients, {some}"
        return f"{draws}, with {100 * COVERAGE:.0f} % bands of the draws"
    if len(seeds) == 1:
        return some
    ends = f" with {100 * CONFIDENCE:.0f} % intervals" if len(seeds) >= LEAST_PAIRS else ""
    return f"means of {some}{ends}"


def axis_unit(shown: Unit, data: "pd.DataFrame") -> Unit:
    """Return the unit of an axis with these values: milliseconds for times below a second."""
    return MILLISECONDS if shown is SECONDS and data["value"].max() < 1 else shown


def set_scale(axis: "Axis", shown: Unit, values: "pd.Series[float]", *, logarithmic: bool) -> None:
    """Let an axis of values begin at 0; logarithmic, if it may be, where they span decades."""
    panel = axis.axes
    set_limits = panel.set_ylim if axis is panel.yaxis else panel.set_xlim
    largest = values.max()
    if logarithmic and spans_decades(values):
        make_logarithmic(axis)
        return
    if largest > 0:
        # Margins are a share of the range, so a flat line would lie on the edge.
        set_limits(0, max(*axis.get_view_interval(), _HEADROOM * largest))
    elif largest == 0:
        set_limits(0, 1)
    number(axis)


def share_limits(axes: "Sequence[Axis]") -> None:
    """Give axes of panels beside each other the same ends."""
    lows, highs = zip(*(axis.get_view_interval() for axis in axes), strict=True)
    for axis in axes:
        panel = axis.axes
        vertical = axis is panel.yaxis
        (panel.set_ylim if vertical else panel.set_xlim)(min(lows), max(highs))
        if (panel.get_yscale() if vertical else panel.get_xscale()) == "log":
            make_logarithmic(axis)


def is_geometric(values: "Sequence[float]") -> bool:
    """Whether numbers, such as 1, 2, 4, 8, are more evenly apart on a logarithmic axis."""
    found = sorted(set(values))
    if len(found) < _LEAST_GEOMETRIC or found[0] <= 0 or found[-1] < _LEAST_RANGE * found[0]:
        return False
    gaps = [after - one for one, after in pairwise(found)]
    factors = [log(after / one) for one, after in pairwise(found)]
    return max(factors) / min(factors) < max(gaps) / min(gaps) / 2


def say_instead(panel: "Axes", text: str) -> None:
    """Say why there is nothing in a panel."""
    panel.tick_params(labelleft=False, labelbottom=False)
    panel.grid(visible=False)
    panel.text(0.5, 0.5, text, ha="center", va="center", color=quiet(), transform=panel.transAxes)


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
