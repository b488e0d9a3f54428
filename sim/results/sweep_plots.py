"""Pictures of a sweep: one for each number, over the swept keys.

On a grid, the key with most numbers is on the x axis, the next has colours, and each combination of the
others a panel of its own. Sampled points have a panel for each key that was sampled. Bands and error bars are
95 % intervals of the mean over seeds or, with draws of the coefficients, go from their least to their most.
"""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sim.results.compared import Point
from sim.results.comparison import key_headers
from sim.results.plots import BAND, WHISKER, axis_unit, error_bar, means_of, set_scale, style
from sim.results.quantities import label, unit
from sim.results.swept import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_JUMPS = {"router.overlap_score_credit": (0.0, "at 0 no index is built")}
"""Values at which a key means something else than just beside them: no line leads there."""
_PANEL_INCHES = (4.8, 3.2)
_TITLE_INCHES = 0.5
_LABEL_WIDTH = 34
_MOST_COLOURS = 8
_MOST_TICKS = 11


def write_sweep_plots(sweep: Sweep, metrics: Sequence[str], folder: Path) -> None:
    """Write a PNG for each number, named after it."""
    with style():
        for metric in metrics:
            plot_sweep(sweep, metric).savefig(folder / f"{metric}.png", metadata={"Software": None})


def plot_sweep(sweep: Sweep, metric: str) -> "Figure":
    """Return the figure of one number of a sweep."""
    with style():
        return _Picture(sweep, metric).figure


class _Picture:
    """A figure while it is drawn."""

    def __init__(self, sweep: Sweep, metric: str) -> None:
        from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

        self._sweep = sweep = sweep.shown()
        ranked = sorted((key for key in sweep.keys if key not in sweep.sampled), key=self._rank)
        xs = list(sweep.sampled) or ranked[:1] or [""]
        rest = ranked if sweep.sampled else ranked[1:]
        self._hue, self._facets = next(iter(rest), ""), rest[1:]
        data = self._frame(metric)
        self._shown = axis_unit(unit(metric), data)
        data = data.assign(value=data["value"] / self._shown.per_axis_unit)
        panels = [(x, facet) for facet in dict.fromkeys(map(self._facet, sweep.points)) for x in xs]
        width, height = _PANEL_INCHES
        size = (width * len(panels), height + _TITLE_INCHES)
        self.figure = Figure(figsize=size, layout="constrained")
        axes = self.figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for panel, (x, facet) in zip(axes, panels, strict=True):
            self._draw(panel, x, data[data["facet"] == facet])
            set_scale(panel.yaxis, self._shown, data["value"], logarithmic=self._is_numeric(x))
            self._label(panel, x, facet)
        name = label(metric) + (f" ({self._shown.axis})" if self._shown.axis else "")
        axes[0].set_ylabel(fill(name, _LABEL_WIDTH))
        self._explain()

    def _rank(self, key: str) -> tuple[bool, int]:
        """Numbers before names, then what has most values."""
        return not self._is_numeric(key), -len(self._sweep.values_of(key))

    def _is_numeric(self, key: str) -> bool:
        values = self._sweep.values_of(key) if key else ["one bar"]
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)

    def _facet(self, point: Point) -> str:
        """Return the values of the keys that neither an axis nor colours show, as a title."""
        values = dict(zip(self._sweep.keys, point, strict=True))
        headers = dict(zip(self._sweep.keys, key_headers(self._sweep.keys), strict=True))
        return ", ".join(f"{headers[key]} = {self._sweep.written(key, values[key])}" for key in self._facets)

    def _frame(self, metric: str) -> "pd.DataFrame":
        """Return a row for each run: the value, the swept keys (names as they are written), the panel."""
        import pandas as pd  # noqa: PLC0415

        rows = []
        for _, point, _, name, value in self._sweep.records():
            if name == metric:
                shown = {
                    key: at if self._is_numeric(key) and key != self._hue else self._sweep.written(key, at)
                    for key, at in zip(self._sweep.keys, point, strict=True)
                }
                rows.append({"": "", **shown, "value": float(value), "facet": self._facet(point)})
        return pd.DataFrame(rows, columns=["", *self._sweep.keys, "value", "facet"])

    def _draw(self, panel: "Axes", x: str, data: "pd.DataFrame") -> None:
        import seaborn as sns  # noqa: PLC0415

        if data.empty:
            panel.text(0.5, 0.5, "not measured", ha="center", color="0.5", transform=panel.transAxes)
            return
        look: dict[str, Any] = {
            "x": x,
            "y": "value",
            "errorbar": self._error_bar,
            "ax": panel,
            **self._colours(),
        }
        if not self._is_numeric(x):
            sns.barplot(data, err_kws=WHISKER, **look)
            return
        if self._sweep.sampled:
            sns.lineplot(data, marker="o", linestyle="", err_style="bars", **look)
            return
        apart = data[x] == _JUMPS[x][0] if x in _JUMPS else data[x].isna()
        sns.lineplot(data[~apart], marker="o", err_kws=BAND, **look)
        if apart.any():
            sns.lineplot(data[apart], marker="o", linestyle="", err_style="bars", legend=False, **look)

    def _error_bar(self, values: "pd.Series[float]") -> tuple[float, float]:
        if self._sweep.seeds_a_draw:
            return values.min(), values.max()
        return error_bar(values)

    def _colours(self) -> dict[str, Any]:
        import seaborn as sns  # noqa: PLC0415

        if not self._hue:
            return {"color": sns.color_palette("colorblind")[0]}
        order = [self._sweep.written(self._hue, value) for value in self._sweep.values_of(self._hue)]
        palette = "colorblind" if len(order) <= _MOST_COLOURS else "viridis"
        return {"hue": self._hue, "hue_order": order, "palette": sns.color_palette(palette, len(order))}

    def _label(self, panel: "Axes", x: str, facet: str) -> None:
        says = x
        values = self._sweep.values_of(x) if self._is_numeric(x) else []
        if x in _JUMPS and any(value == _JUMPS[x][0] for value in values):
            says += f"\n({_JUMPS[x][1]})"
        panel.set_xlabel(says)
        panel.set_title(facet)
        if not self._sweep.sampled and 0 < len(values) <= _MOST_TICKS:
            ticks: list[Any] = values
            panel.set_xticks(ticks, [self._sweep.written(x, value) for value in values])

    def _explain(self) -> None:
        """Put one legend above all panels, and say what the bands are."""
        says = means_of(self._sweep.seeds)
        if each := self._sweep.seeds_a_draw:
            says = f"mean, least and most of {len(self._sweep.seeds)} draws of {each} seeds each"
        handles: dict[str, Any] = {}
        for panel in self.figure.axes:
            handles |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
            if legend := panel.get_legend():
                legend.remove()
        if handles:
            self.figure.legend(
                handles.values(),
                handles,
                title=f"{self._hue}, {says}",
                loc="outside upper center",
                ncols=min(len(handles), _MOST_COLOURS),
            )
        else:
            self.figure.suptitle(says, fontsize="medium")
