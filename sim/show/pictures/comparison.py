"""Pictures of a comparison: small multiples, a panel for each number, a colour for each scenario.

A swept key with numbers gives a line for each scenario, one with names gives bars; without a swept key there
is one bar a scenario. Bands and error bars are 95 % intervals of the mean over seeds; if coefficients were
drawn, they are the 95 % band of the draws around the median.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from math import ceil, nan
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sim.base.whole_file import whole_file
from sim.results.quantities import MILLISECONDS, SECONDS, TOKENS, Unit, label, unit
from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Point
from sim.runs.paired import LEAST_PAIRS
from sim.runs.spread import CONFIDENCE, COVERAGE, band, interval
from sim.show.pictures.labels import as_label, as_labels
from sim.show.pictures.style import given_or_new, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

PLOTTED = (
    "ttft_s.p50",
    "ttft_s.p95",
    "itl_s.p50",
    "itl_s.p99.9",
    "prefill.recomputation",
    "workers_per_session.mean",
)
"""What a plot shows unless asked for something else."""

_COLUMNS = 3
_PANEL_INCHES = (3.6, 2.6)
_LEGEND_INCHES = 0.7
_LABEL_WIDTH = 26
_NAME_WIDTH = 24
"""Of names beside bars."""
_MOST_COLUMNS = 4
_HANDLE_INCHES, _CHARACTER_INCHES = 0.6, 0.085
"""Of a legend, about."""
_LOG_FROM = 50
"""Durations that differ by this factor are drawn on a logarithmic axis."""
_MOST_TICKS = 9
_HEADROOM = 1.05
BAND = {"alpha": 0.15, "linewidth": 0}
WHISKER = {"linewidth": 1.5, "color": "0.25"}


def write_plot(comparison: Comparison, metrics: Sequence[str], folder: Path) -> None:
    """Write comparison.png and comparison.svg, the same picture; equal comparisons give equal bytes."""
    figure = plot(comparison, metrics)
    with style():
        for name, metadata in (("comparison.png", {"Software": None}), ("comparison.svg", {"Date": None})):
            with whole_file(folder / name) as file:
                figure.savefig(file, metadata=metadata)


def plot(comparison: Comparison, metrics: Sequence[str]) -> "Figure":
    """Return the figure of these numbers of a comparison.

    With several swept keys, the one with most values is on the x axes, and each combination of the others
    has a column of panels.
    """
    with style():
        return _figure(_Panels(comparison), metrics)


def plot_metric(comparison: Comparison, metric: str, ax: "Axes | None") -> "Axes":
    """Draw one number of a comparison on one pair of axes, and return them.

    With several swept keys, the one with most values is on the x axis, and a colour is a scenario at one
    combination of the others.
    """
    panels = _Panels(comparison, one_panel=True)
    ax = given_or_new(ax)
    panels.row([ax], metric)
    if legend := ax.get_legend():
        legend.set_title(runs_of(comparison))
    else:
        ax.set_title(runs_of(comparison))
    return ax


def _figure(panels: "_Panels", metrics: Sequence[str]) -> "Figure":
    """Return the figure of some numbers, a row of panels for each or, without facets, several in a row."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    facets = panels.facets
    faceted = len(facets) > 1
    columns = len(facets) if faceted else min(_COLUMNS, len(metrics))
    rows = len(metrics) if faceted else ceil(len(metrics) / columns)
    width, height = _PANEL_INCHES
    figure = Figure(figsize=(width * columns, height * rows + _LEGEND_INCHES), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=faceted, sharey="row" if faceted else "none")
    for place, metric in enumerate(metrics):
        panels.row(grid[place] if faceted else grid.flat[place : place + 1], metric)
    for unused in grid.flat[len(metrics) * len(facets) :]:
        unused.remove()
    if faceted:
        for panel, facet in zip(grid[0], facets, strict=True):
            panel.set_title(as_label(facet))
        for panel in grid.flat:
            panel.label_outer()
    _explain(figure, runs_of(panels.comparison))
    return figure


def means_of(seeds: Sequence[int]) -> str:
    """Return what points and bands over seeds are."""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    says = f"means of {len(seeds)} seeds"
    return says + (f" with {100 * CONFIDENCE:.0f} % intervals" if len(seeds) >= LEAST_PAIRS else "")


def runs_of(comparison: Comparison) -> str:
    """Return what points and bands are."""
    seeds, draws = comparison.seeds, comparison.draws
    if not comparison.has_bands:
        return means_of(seeds)
    some = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
    band_words = f"{100 * COVERAGE:.0f} % bands of the draws"
    return f"medians of {len(draws)} draws of the coefficients, {some}, with {band_words}"


def _explain(figure: "Figure", says: str) -> None:
    """Put one legend above all panels, and say what the bands are."""
    handles: dict[str, Any] = {}
    for panel in figure.axes:
        handles |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
        if legend := panel.get_legend():
            legend.remove()
    if handles:
        columns = legend_columns(figure, handles)
        figure.legend(handles.values(), handles, title=says, loc="outside upper center", ncols=columns)
    else:
        figure.suptitle(says, fontsize="medium")


def legend_columns(figure: "Figure", names: Iterable[str]) -> int:
    """Return how many names stand beside each other in a legend above the panels."""
    widths = [len(name) for name in names]
    room = int(figure.get_figwidth() / (_HANDLE_INCHES + _CHARACTER_INCHES * max(widths)))
    return max(1, min(len(widths), _MOST_COLUMNS, room))


class _Panels:
    """Draws numbers of a comparison, a panel for each facet: values of further swept keys together."""

    def __init__(self, comparison: Comparison, *, one_panel: bool = False) -> None:
        """Read the comparison; with `one_panel` a facet is a further series, not a panel of its own."""
        self.comparison = comparison
        self._key = max(comparison.keys, key=self._rank, default="")
        self._numeric = bool(self._key) and self._has_numbers(self._key)
        facets = list(dict.fromkeys(map(self._facet, comparison.points)))
        self.facets = [""] if one_panel else facets
        self._joined = one_panel and len(facets) > 1
        names = [
            self._name(scenario, facet)
            for scenario in comparison.scenarios
            for facet in (facets if self._joined else [""])
        ]
        self._labels = as_labels(names) if self._key else as_labels(names, _NAME_WIDTH)
        self._series = list(self._labels.values())
        values = comparison.values_of(self._key) if self._key else []
        self._ticks = as_labels(comparison.written(self._key, value) for value in values)
        self._data = self._frame()

    def _rank(self, key: str) -> tuple[bool, int]:
        """Numbers before names, then what has most values."""
        return self._has_numbers(key), len(self.comparison.values_of(key))

    def _has_numbers(self, key: str) -> bool:
        values = self.comparison.values_of(key)
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)

    def _facet(self, point: Point) -> str:
        """Return the values of all swept keys but the one of the x axis, as a title."""
        return ", ".join(
            f"{key.rpartition('.')[2]} = {self.comparison.written(key, value)}"
            for key, value in zip(self.comparison.keys, point, strict=True)
            if key != self._key
        )

    def _frame(self) -> "pd.DataFrame":
        import pandas as pd  # noqa: PLC0415

        rows = []
        for one in self.comparison.compared_records():
            facet = self._facet(one.point)
            place = "" if self._joined else facet
            series = self._labels[self._name(one.scenario, facet)]
            rows.append((series, self._x(one.point), place, one.metric, float(one.value)))
        return pd.DataFrame(rows, columns=["series", "x", "facet", "metric", "value"])

    def _name(self, scenario: str, facet: str) -> str:
        return f"{scenario}, {facet}" if self._joined else scenario

    def _x(self, point: Point) -> object:
        if not self._key:
            return ""
        value = point[self.comparison.keys.index(self._key)]
        return value if self._numeric else self._ticks[self.comparison.written(self._key, value)]

    def row(self, panels: "Sequence[Axes] | NDArray[Any]", metric: str) -> None:
        """Draw one number, a panel for each facet."""
        data = self._data[self._data["metric"] == metric]
        shown = axis_unit(unit(metric), data)
        data = data.assign(value=data["value"] / shown.per_axis_unit)
        for panel, facet in zip(panels, self.facets, strict=True):
            self._draw(panel, data[data["facet"] == facet], spread_of(self.comparison, metric, shown))
        # Panels that share an axis have its limits only now.
        for panel in panels:
            self._set_scale(panel, shown, data)
            self._set_labels(panel, fill(label(metric), _LABEL_WIDTH), shown)

    def _draw(self, panel: "Axes", data: "pd.DataFrame", spread: dict[str, Any]) -> None:
        import seaborn as sns  # noqa: PLC0415

        if data.empty:
            panel.text(0.5, 0.5, "not measured", ha="center", color="0.5", transform=panel.transAxes)
            return
        names = self._series
        hue = {
            "hue": "series",
            "hue_order": names,
            "palette": sns.color_palette("colorblind", len(names)),
            **spread,
        }
        if not self._key:
            sns.barplot(data, x="value", y="series", order=names, err_kws=WHISKER, ax=panel, **hue)
        elif self._numeric:
            style = {"style": "series", "style_order": names, "markers": True}
            sns.lineplot(data, x="x", y="value", err_kws=BAND, ax=panel, **style, **hue)
        else:
            sns.barplot(data, x="x", y="value", err_kws=WHISKER, ax=panel, **hue)

    def _set_scale(self, panel: "Axes", shown: Unit, data: "pd.DataFrame") -> None:
        axis = panel.yaxis if self._key else panel.xaxis
        set_scale(axis, shown, data["value"], logarithmic=self._numeric)

    def _set_labels(self, panel: "Axes", name: str, shown: Unit) -> None:
        name += f" ({shown.axis})" if shown.axis else ""
        if self._key:
            panel.set(xlabel=self._key, ylabel=name)
        else:
            panel.set(xlabel=name, ylabel="")
        values: list[Any] = self.comparison.values_of(self._key) if self._numeric else []
        if 0 < len(values) <= _MOST_TICKS:
            written = [self._ticks[self.comparison.written(self._key, value)] for value in values]
            panel.set_xticks(values, written)


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
