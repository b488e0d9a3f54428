"""Pictures of a sweep: one for each number, over the swept keys.

On a grid, the key with most numbers is on the x axis, the next has colours, and each combination of the
others a panel of its own. Sampled points have a panel for each key that was sampled. Bands and error bars are
those of a comparison's plots.
"""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sim.base.whole_file import whole_file
from sim.results.quantities import label, unit
from sim.runs.comparison_rows import Point
from sim.runs.sweep import DRAW, Sweep
from sim.show.pictures.comparison import BAND, WHISKER, axis_unit, runs_of, set_scale, spread_of
from sim.show.pictures.labels import as_label, as_labels
from sim.show.pictures.style import given_or_new, style
from sim.show.text.comparison import key_headers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_JUMPS = {"router.overlap_score_credit": (0.0, "at 0 no index is built")}
"""Values at which a key means something else than just beside them: no line leads there."""
_PANEL_INCHES = (4.8, 3.2)
_TITLE_INCHES = 0.5
_LABEL_WIDTH = 34
_TITLE_WIDTH = 60
_MOST_COLOURS = 8
_MOST_TICKS = 11


def write_sweep_plots(sweep: Sweep, metrics: Sequence[str], folder: Path) -> None:
    """Write a PNG for each number, named after it; those of an earlier sweep that are not asked for go."""
    for stale in set(sweep.metrics) - set(metrics):
        (folder / f"{stale}.png").unlink(missing_ok=True)
    with style():
        for metric in metrics:
            with whole_file(folder / f"{metric}.png") as file:
                plot_sweep(sweep, metric).savefig(file, metadata={"Software": None})


def plot_sweep(sweep: Sweep, metric: str) -> "Figure":
    """Return the figure of one number of a sweep."""
    with style():
        return _figure(_Panels(sweep, metric))


def plot_over(sweep: Sweep, metric: str, x: str | None, ax: "Axes | None") -> "Axes":
    """Draw one number of a sweep over one key on one pair of axes, and return them."""
    panels = _Panels(sweep, metric, x, one_panel=True)
    ax = given_or_new(ax)
    panels.draw([ax])
    if legend := ax.get_legend():
        legend.set_title(panels.says)
    else:
        ax.set_title(panels.says)
    return ax


def _figure(panels: "_Panels") -> "Figure":
    """Return a figure of all panels beside each other, with one legend above them."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    width, height = _PANEL_INCHES
    figure = Figure(figsize=(width * len(panels), height + _TITLE_INCHES), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    panels.draw(axes)
    handles: dict[str, Any] = {}
    for panel in axes:
        handles |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
        if legend := panel.get_legend():
            legend.remove()
        panel.label_outer()
    says = fill(panels.says, _TITLE_WIDTH * len(panels))
    if handles:
        columns = min(len(handles), _MOST_COLOURS)
        figure.legend(handles.values(), handles, title=says, loc="outside upper center", ncols=columns)
    else:
        figure.suptitle(says, fontsize="medium")
    return figure


class _Panels:
    """One number of a sweep, a panel for each sampled key and each combination of keys without colours."""

    def __init__(self, sweep: Sweep, metric: str, x: str | None = None, *, one_panel: bool = False) -> None:
        """Read the sweep; with `one_panel`, all keys but that of the x axis (`x`, if given) have colours."""
        self._sweep = sweep = sweep if x == DRAW else sweep.shown()
        grid = [key for key in sweep.keys if key not in sweep.sampled and key != x]
        ranked = sorted(grid, key=self._rank)
        xs = [x] if x is not None else list(sweep.sampled) or ranked[:1] or [""]
        rest = [key for key in ranked if key not in xs]
        coloured = rest if one_panel else rest[:1]
        self._hues, self._facets = coloured, [key for key in rest if key not in coloured]
        self._hue = ", ".join(self._hues)
        self._metric = metric
        self._colour_names = as_labels(map(self._colour, sweep.points))
        self._ticks = {
            key: as_labels(sweep.written(key, value) for value in sweep.values_of(key)) for key in sweep.keys
        }
        data = self._frame(metric)
        self._shown = axis_unit(unit(metric), data)
        self._data = data.assign(value=data["value"] / self._shown.per_axis_unit)
        facets = dict.fromkeys(map(self._facet, sweep.points))
        self._panels = [(key, facet) for facet in facets for key in (xs[:1] if one_panel else xs)]
        self._name = label(metric) + (f" ({self._shown.axis})" if self._shown.axis else "")

    def __len__(self) -> int:
        return len(self._panels)

    @property
    def says(self) -> str:
        """What colours and bands are."""
        runs = runs_of(self._sweep)
        return f"{self._hue}, {runs}" if self._hue else runs

    def draw(self, axes: "Sequence[Axes] | NDArray[Any]") -> None:
        """Draw each panel."""
        for panel, (x, facet) in zip(axes, self._panels, strict=True):
            self._draw(panel, x, self._data[self._data["facet"] == facet])
            set_scale(panel.yaxis, self._shown, self._data["value"], logarithmic=self._is_numeric(x))
            self._label(panel, x, facet)
            panel.set_ylabel(fill(self._name, _LABEL_WIDTH))

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
        for record in self._sweep.records():
            if record.metric == metric:
                point = record.point
                shown = {
                    key: at if self._is_numeric(key) else self._ticks[key][self._sweep.written(key, at)]
                    for key, at in zip(self._sweep.keys, point, strict=True)
                }
                shown |= {"": "", self._hue: self._colour_names[self._colour(point)]}
                rows.append({**shown, "value": float(record.value), "facet": self._facet(point)})
        columns = dict.fromkeys(["", self._hue, *self._sweep.keys, "value", "facet"])
        return pd.DataFrame(rows, columns=list(columns))

    def _colour(self, point: Point) -> str:
        """Return the values of the keys that have colours, as they are written."""
        values = dict(zip(self._sweep.keys, point, strict=True))
        return ", ".join(self._sweep.written(key, values[key]) for key in self._hues)

    def _draw(self, panel: "Axes", x: str, data: "pd.DataFrame") -> None:
        import seaborn as sns  # noqa: PLC0415

        if data.empty:
            panel.text(0.5, 0.5, "not measured", ha="center", color="0.5", transform=panel.transAxes)
            return
        look: dict[str, Any] = {
            "x": x,
            "y": "value",
            "ax": panel,
            **spread_of(self._sweep, self._metric, self._shown),
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

    def _colours(self) -> dict[str, Any]:
        import seaborn as sns  # noqa: PLC0415

        if not self._hue:
            return {"color": sns.color_palette("colorblind")[0]}
        order = list(self._colour_names.values())
        palette = "colorblind" if len(order) <= _MOST_COLOURS else "viridis"
        return {"hue": self._hue, "hue_order": order, "palette": sns.color_palette(palette, len(order))}

    def _label(self, panel: "Axes", x: str, facet: str) -> None:
        says = x
        values = self._sweep.values_of(x) if self._is_numeric(x) else []
        if x in _JUMPS and any(value == _JUMPS[x][0] for value in values):
            says += f"\n({_JUMPS[x][1]})"
        panel.set_xlabel(says)
        panel.set_title(as_label(facet))
        if not self._sweep.sampled and 0 < len(values) <= _MOST_TICKS:
            ticks: list[Any] = values
            panel.set_xticks(ticks, [as_label(self._sweep.written(x, value)) for value in values])
