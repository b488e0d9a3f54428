"""Pictures of a comparison: small multiples, a panel for each number, a colour for each scenario.

A swept key with numbers gives a line for each scenario, one with names gives bars; without a swept key there
is one bar a scenario. Bands and error bars are 95 % intervals of the mean over seeds; if coefficients were
drawn, they are the 95 % band of the draws around the median.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import ceil, nan
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sim.results.bands import COVERAGE, band
from sim.results.compared import Comparison, Point
from sim.results.intervals import CONFIDENCE, interval
from sim.results.paired import LEAST_PAIRS
from sim.results.quantities import MILLISECONDS, SECONDS, TOKENS, Unit, label, unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
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
_LOG_FROM = 50
"""Durations that differ by this factor are drawn on a logarithmic axis."""
_MOST_TICKS = 9
_HEADROOM = 1.05
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
_BAND = {"alpha": 0.15, "linewidth": 0}
_WHISKER = {"linewidth": 1.5, "color": "0.25"}


def write_plot(comparison: Comparison, metrics: Sequence[str], folder: Path) -> None:
    """Write comparison.png and comparison.svg, the same picture; equal comparisons give equal bytes."""
    figure = plot(comparison, metrics)
    with _style():
        figure.savefig(folder / "comparison.png", metadata={"Software": None})
        figure.savefig(folder / "comparison.svg", metadata={"Date": None})


def plot(comparison: Comparison, metrics: Sequence[str]) -> "Figure":
    """Return the figure of these numbers of a comparison.

    With several swept keys, the one with most values is on the x axes, and each combination of the others
    has a column of panels.
    """
    with _style():
        return _Picture(comparison, metrics).figure


def _style() -> AbstractContextManager[Any]:
    import matplotlib as mpl  # noqa: PLC0415 - slow to import
    import seaborn as sns  # noqa: PLC0415

    style: dict[Any, Any] = {**sns.axes_style("whitegrid"), **_STYLE}
    return mpl.rc_context(style)


class _Picture:
    """A figure while it is drawn."""

    def __init__(self, comparison: Comparison, metrics: Sequence[str]) -> None:
        from matplotlib.figure import Figure  # noqa: PLC0415

        self._comparison = comparison
        self._key = max(comparison.keys, key=self._rank, default="")
        self._numeric = bool(self._key) and self._has_numbers(self._key)
        data = self._frame()
        facets = list(dict.fromkeys(map(self._facet, comparison.points)))
        faceted = len(facets) > 1
        columns = len(facets) if faceted else min(_COLUMNS, len(metrics))
        rows = len(metrics) if faceted else ceil(len(metrics) / columns)
        width, height = _PANEL_INCHES
        self.figure = Figure(figsize=(width * columns, height * rows + _LEGEND_INCHES), layout="constrained")
        grid = self.figure.subplots(
            rows, columns, squeeze=False, sharex=faceted, sharey="row" if faceted else "none"
        )
        for place, metric in enumerate(metrics):
            panels = grid[place] if faceted else grid.flat[place : place + 1]
            self._row(panels, metric, facets, data[data["metric"] == metric])
        for unused in grid.flat[len(metrics) * len(facets) :]:
            unused.remove()
        if faceted:
            for panel, facet in zip(grid[0], facets, strict=True):
                panel.set_title(facet)
            for panel in grid.flat:
                panel.label_outer()
        self._explain()

    def _rank(self, key: str) -> tuple[bool, int]:
        """Numbers before names, then what has most values."""
        return self._has_numbers(key), len(self._comparison.values_of(key))

    def _has_numbers(self, key: str) -> bool:
        values = self._comparison.values_of(key)
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)

    def _facet(self, point: Point) -> str:
        """Return the values of all swept keys but the one of the x axis, as a title."""
        return ", ".join(
            f"{key.rpartition('.')[2]} = {self._comparison.written(key, value)}"
            for key, value in zip(self._comparison.keys, point, strict=True)
            if key != self._key
        )

    def _frame(self) -> "pd.DataFrame":
        import pandas as pd  # noqa: PLC0415

        rows = [
            (one.scenario, self._x(one.point), self._facet(one.point), one.metric, float(one.value))
            for one in self._comparison.records()
        ]
        return pd.DataFrame(rows, columns=["scenario", "x", "facet", "metric", "value"])

    def _x(self, point: Point) -> object:
        if not self._key:
            return ""
        value = point[self._comparison.keys.index(self._key)]
        return value if self._numeric else self._comparison.written(self._key, value)

    def _row(self, panels: "NDArray[Any]", metric: str, facets: Sequence[str], data: "pd.DataFrame") -> None:
        """Draw one number, a panel for each facet."""
        shown = _axis_unit(unit(metric), data)
        data = data.assign(value=data["value"] / shown.per_axis_unit)
        for panel, facet in zip(panels, facets, strict=True):
            self._draw(panel, data[data["facet"] == facet])
        # Panels that share an axis have its limits only now.
        for panel in panels:
            self._set_scale(panel, shown, data)
            self._set_labels(panel, fill(label(metric), _LABEL_WIDTH), shown)

    def _draw(self, panel: "Axes", data: "pd.DataFrame") -> None:
        import seaborn as sns  # noqa: PLC0415

        if data.empty:
            panel.text(0.5, 0.5, "not measured", ha="center", color="0.5", transform=panel.transAxes)
            return
        names = list(self._comparison.scenarios)
        hue = {
            "hue": "scenario",
            "hue_order": names,
            "palette": sns.color_palette("colorblind", len(names)),
            "estimator": "median" if self._comparison.has_bands else "mean",
            "errorbar": _band_ends if self._comparison.has_bands else _error_bar,
        }
        if not self._key:
            sns.barplot(data, x="value", y="scenario", order=names, err_kws=_WHISKER, ax=panel, **hue)
        elif self._numeric:
            style = {"style": "scenario", "style_order": names, "markers": True}
            sns.lineplot(data, x="x", y="value", err_kws=_BAND, ax=panel, **style, **hue)
        else:
            sns.barplot(data, x="x", y="value", err_kws=_WHISKER, ax=panel, **hue)

    def _set_scale(self, panel: "Axes", shown: Unit, data: "pd.DataFrame") -> None:
        from matplotlib.ticker import EngFormatter  # noqa: PLC0415

        axis = panel.yaxis if self._key else panel.xaxis
        set_limits = panel.set_ylim if self._key else panel.set_xlim
        smallest, largest = data["value"].min(), data["value"].max()
        if self._numeric and shown.axis in {"s", "ms"} and 0 < smallest * _LOG_FROM < largest:
            panel.set_yscale("log")
            axis.set_major_formatter("{x:g}")
        elif largest > 0:
            # Margins are a share of the range, so a flat line would lie on the edge.
            set_limits(0, max(*axis.get_view_interval(), _HEADROOM * largest))
        elif largest == 0:
            set_limits(0, 1)
        if shown is TOKENS and largest > 0:
            axis.set_major_formatter(EngFormatter(sep=""))

    def _set_labels(self, panel: "Axes", name: str, shown: Unit) -> None:
        name += f" ({shown.axis})" if shown.axis else ""
        if self._key:
            panel.set(xlabel=self._key, ylabel=name)
        else:
            panel.set(xlabel=name, ylabel="")
        values: list[Any] = self._comparison.values_of(self._key) if self._numeric else []
        if 0 < len(values) <= _MOST_TICKS:
            panel.set_xticks(values, [self._comparison.written(self._key, value) for value in values])

    def _explain(self) -> None:
        """Put one legend above all panels, and say what the bands are."""
        says = self._says()
        handles: dict[str, Any] = {}
        for panel in self.figure.axes:
            handles |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
            if legend := panel.get_legend():
                legend.remove()
        if handles:
            self.figure.legend(
                handles.values(), handles, title=says, loc="outside upper center", ncols=min(len(handles), 4)
            )
        else:
            self.figure.suptitle(says, fontsize="medium")

    def _says(self) -> str:
        seeds, draws = self._comparison.seeds, self._comparison.draws
        some = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
        if self._comparison.has_bands:
            band = f"{100 * COVERAGE:.0f} % bands of the draws"
            return f"medians of {len(draws)} draws of the coefficients, {some}, with {band}"
        if len(seeds) == 1:
            return some
        level = f" with {100 * CONFIDENCE:.0f} % intervals" if len(seeds) >= LEAST_PAIRS else ""
        return f"means of {some}{level}"


def _axis_unit(shown: Unit, data: "pd.DataFrame") -> Unit:
    return MILLISECONDS if shown is SECONDS and data["value"].max() < 1 else shown


def _band_ends(values: "pd.Series[float]") -> tuple[float, float]:
    """Return the band of the draws, as tables have it."""
    found = band(list(values))
    return (nan, nan) if found.low is None or found.high is None else (found.low, found.high)


def _error_bar(values: "pd.Series[float]") -> tuple[float, float]:
    """Return the interval of the mean, as tables have it."""
    found = interval(list(values))
    if found.n < LEAST_PAIRS or found.low is None or found.high is None:
        return nan, nan
    return found.low, found.high
