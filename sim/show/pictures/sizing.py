"""The picture of a search for cluster sizes: what a cluster costs, and what it keeps."""

from math import ceil, isfinite, nan
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sim.base.limits import Limit
from sim.base.whole_file import whole_file
from sim.base.words import format_bytes
from sim.results.quantities import Unit, label, unit, written_limit
from sim.runs.sizing import Sized
from sim.runs.tried import Tried
from sim.show.pictures.axes import axis_unit, say_instead, set_scale
from sim.show.pictures.fitting import fit_ticks
from sim.show.pictures.labels import as_label
from sim.show.pictures.named_points import name_points
from sim.show.pictures.style import CHARACTERS_AN_INCH, ink, palette, quiet, style
from sim.show.pictures.ticks import logarithmic, number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_INCHES = (5.2, 4.0)
_LEGEND_INCHES = 2.0
_BESIDE = 2
"""Panels in a row."""
_POINT_SIZE = 60
_FAINT = 0.35
_DECADE = 10
"""Costs that differ by this factor are drawn on a logarithmic axis."""
_LAYOUT, _HOST = "layout", "host RAM a worker"
_KINDS = ["aggregated", "disaggregated"]
_KEPT: dict[str, Any] = {"alpha": 0.08, "linewidth": 0, "zorder": 0}


def write_frontier(sized: Sized, folder: Path) -> None:
    """Write frontier.png."""
    with style(), whole_file(folder / "frontier.png") as file:
        plot_frontier(sized).savefig(file, metadata={"Software": None})


def plot_frontier(sized: Sized) -> "Figure":
    """Return the figure: a panel for each limit, a point for each cluster, GPU hours against the number.

    Clusters that do not hold are faint; all are named as far as there is room, the smallest that hold and
    those of the frontier first. A line joins those that none is cheaper and better than; where the limit is
    kept is shaded, and what no number of GPUs gets below is a dotted line.
    """
    with style():
        from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

        count = len(sized.limits)
        columns = min(count, _BESIDE)
        rows = ceil(count / columns)
        width, height = _PANEL_INCHES
        inches = width * columns + _LEGEND_INCHES
        figure = Figure(figsize=(inches, height * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, limit in zip(panels, sized.limits, strict=False):
            _draw(panel, sized, limit)
        for panel in panels[count:]:
            panel.set_visible(False)
        # Only panels with points know what points are.
        entries = [panel.get_legend_handles_labels() for panel in panels]
        handles, names = max(entries, key=lambda entry: len(entry[1]))
        for handle in handles:
            handle.set_alpha(1)
        figure.legend(handles, names, loc="outside right center")
        sessions = f" at {sized.sessions} sessions" if sized.sessions else ""
        faint = ": faint clusters do not hold" if sized.smallest else ": no cluster that was tried holds"
        title = f"{as_label(sized.scenario)}{sessions}{faint}"
        figure.suptitle(fill(title, int(CHARACTERS_AN_INCH * inches)))
        fit_ticks(figure)
        for panel, limit in zip(panels, sized.limits, strict=False):
            _name(panel, sized, limit)
        return figure


def _draw(panel: "Axes", sized: Sized, limit: Limit) -> None:
    import seaborn as sns  # noqa: PLC0415

    data = _frame(sized, limit)
    shown = _axis(sized, limit)
    data["value"] /= shown.per_axis_unit
    if data.empty:
        panel.set_title(written_limit(limit))
        say_instead(panel, "not measured")
        return
    kinds = [kind for kind in _KINDS if kind in set(data[_LAYOUT])]
    look: dict[str, Any] = {
        "x": "gpu_hours",
        "y": "value",
        "hue": _LAYOUT,
        "hue_order": kinds,
        "palette": dict(zip(_KINDS, palette(len(_KINDS)), strict=True)),
        "style": _HOST,
        "style_order": list(dict.fromkeys(data[_HOST])),
        "s": _POINT_SIZE,
        "ax": panel,
    }
    sns.scatterplot(data, alpha=_FAINT, **look)
    if data["holds"].any():
        sns.scatterplot(data[data["holds"]], legend=False, **look)
    if legend := panel.get_legend():
        legend.remove()
    points = [_point(tried, limit, shown) for tried in sized.frontier(limit.metric)]
    panel.plot(*zip(*points, strict=True), color=quiet(), linewidth=1, zorder=1)
    _scale(panel, sized, limit, shown, data)


def _scale(panel: "Axes", sized: Sized, limit: Limit, shown: Unit, data: "pd.DataFrame") -> None:
    """Set both axes, and draw limit, floor and where the limit is kept."""
    bound = limit.bound / shown.per_axis_unit
    floor = sized.floor_of(limit)
    lines = [bound, *([floor / shown.per_axis_unit] if floor is not None else [])]
    values = [value for value in [*data["value"], *lines] if isfinite(value)]
    import pandas as pd  # noqa: PLC0415

    set_scale(panel.yaxis, shown, pd.Series(values), logarithmic=True)
    hours = data["gpu_hours"]
    if 0 < hours.min() * _DECADE < hours.max():
        logarithmic(panel.xaxis)
    else:
        panel.set_xlim(0, 1.08 * hours.max() or 1)
        number(panel.xaxis)
    low, high = panel.get_ylim()
    if panel.get_yscale() == "log":
        low, high = min(low, 0.8 * min(values)), max(high, 1.25 * max(values))
    panel.set_ylim(low, high)
    *_, kept, least = palette(4)
    panel.axhspan(*((low, bound) if limit.below else (bound, high)), color=kept, **_KEPT)
    panel.axhline(bound, color=ink(), linestyle="--", linewidth=1, label="limit; shaded: kept")
    if floor is not None:
        panel.axhline(
            floor / shown.per_axis_unit,
            color=least,
            linestyle=":",
            linewidth=1,
            label="each request alone",
        )
    axis = f" ({shown.axis})" if shown.axis else ""
    panel.set(xlabel="GPU hours", ylabel=f"{label(limit.metric)}{axis}", title=written_limit(limit))


def _name(panel: "Axes", sized: Sized, limit: Limit) -> None:
    """Name clusters, the smallest and those of the frontier first, as far as there is room."""
    shown = _axis(sized, limit)
    first = [*sized.smallest, *sized.frontier(limit.metric)]
    order = dict.fromkeys(id(tried) for tried in [*first, *sized.tried])
    by_id = {id(tried): tried for tried in sized.tried}
    names = [
        (str(by_id[one].configuration.layout), _point(by_id[one], limit, shown))
        for one in order
        if one in by_id
    ]
    name_points(panel, names)


def _axis(sized: Sized, limit: Limit) -> Unit:
    return axis_unit(unit(limit.metric), _frame(sized, limit))


def _point(tried: Tried, limit: Limit, shown: Unit) -> tuple[float, float]:
    cost, value = tried.mean("gpu_hours"), tried.worst(limit)
    return (
        nan if cost is None else cost,
        nan if value is None else value / shown.per_axis_unit,
    )


def _frame(sized: Sized, limit: Limit) -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415

    rows = [
        {
            "gpu_hours": tried.mean("gpu_hours"),
            "value": tried.worst(limit),
            "holds": tried.holds,
            _LAYOUT: tried.configuration.layout.kind,
            _HOST: format_bytes(size) if (size := tried.configuration.host_bytes) else "none",
        }
        for tried in sorted(sized.tried, key=lambda tried: tried.configuration.host_bytes)
    ]
    columns = ["gpu_hours", "value", "holds", _LAYOUT, _HOST]
    return pd.DataFrame(rows, columns=columns).dropna()
