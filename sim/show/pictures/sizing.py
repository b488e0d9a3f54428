"""The picture of a search for cluster sizes: what a cluster costs, and what it keeps."""

from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.base.limits import Limit
from sim.base.units import format_bytes
from sim.base.whole_file import whole_file
from sim.results.quantities import Unit, label, unit
from sim.runs.sizing import Sized
from sim.runs.tried import Tried
from sim.show.pictures.axes import axis_unit, set_scale
from sim.show.pictures.labels import as_label
from sim.show.pictures.style import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_INCHES = (6.0, 4.4)
_POINT_SIZE = 60
_FAINT = 0.3
_LAYOUT, _HOST = "layout", "host RAM a worker"
_KINDS = ["aggregated", "disaggregated"]


def write_frontier(sized: Sized, folder: Path) -> None:
    """Write frontier.png."""
    with style(), whole_file(folder / "frontier.png") as file:
        plot_frontier(sized).savefig(file, metadata={"Software": None})


def plot_frontier(sized: Sized) -> "Figure":
    """Return the figure: a panel for each limit, a point for each cluster, GPU hours against the number.

    Clusters that do not hold are faint, the smallest that hold are named. The line joins those that none is
    cheaper and better than.
    """
    with style():
        from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

        width, height = _PANEL_INCHES
        figure = Figure(figsize=(width * len(sized.limits), height), layout="constrained")
        panels = figure.subplots(1, len(sized.limits), squeeze=False)[0]
        for panel, limit in zip(panels, sized.limits, strict=True):
            _draw(panel, sized, limit)
        handles, names = panels[0].get_legend_handles_labels()
        for handle in handles:
            handle.set_alpha(1)
        figure.legend(handles, names, loc="outside right center")
        figure.suptitle(
            f"{as_label(sized.scenario)}: named clusters are the smallest that hold, faint ones do not",
            fontsize="medium",
        )
        return figure


def _draw(panel: "Axes", sized: Sized, limit: Limit) -> None:
    import seaborn as sns  # noqa: PLC0415

    data = _frame(sized, limit.metric)
    shown = axis_unit(unit(limit.metric), data)
    data["value"] /= shown.per_axis_unit
    look: dict[str, Any] = {
        "x": "gpu_hours",
        "y": "value",
        "hue": _LAYOUT,
        "hue_order": _KINDS,
        "palette": sns.color_palette("colorblind", len(_KINDS)),
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
    _draw_frontier(panel, sized, limit, shown)
    panel.axhline(limit.bound / shown.per_axis_unit, color="0.3", linestyle="--", linewidth=1)
    set_scale(panel.yaxis, shown, data["value"], logarithmic=True)
    panel.set_xlim(left=0)
    axis = f" ({shown.axis})" if shown.axis else ""
    panel.set(xlabel="GPU hours", ylabel=f"{label(limit.metric)}{axis}, limit dashed")


def _draw_frontier(panel: "Axes", sized: Sized, limit: Limit, shown: Unit) -> None:
    """Join the clusters of the frontier, and name the smallest that hold."""
    points = [_point(tried, limit, shown) for tried in sized.frontier(limit.metric)]
    panel.plot(*zip(*points, strict=True), color="0.5", linewidth=1, zorder=0)
    for tried in sized.smallest:
        panel.annotate(
            str(tried.configuration.layout),
            _point(tried, limit, shown),
            xytext=(5, 5),
            textcoords="offset points",
            fontsize="small",
        )


def _point(tried: Tried, limit: Limit, shown: Unit) -> tuple[float, float]:
    cost, value = tried.mean("gpu_hours"), tried.mean(limit.metric)
    return (
        nan if cost is None else cost,
        nan if value is None else value / shown.per_axis_unit,
    )


def _frame(sized: Sized, metric: str) -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415

    rows = [
        {
            "gpu_hours": tried.mean("gpu_hours"),
            "value": tried.mean(metric),
            "holds": tried.holds,
            _LAYOUT: tried.configuration.layout.kind,
            _HOST: format_bytes(size) if (size := tried.configuration.host_bytes) else "none",
        }
        for tried in sorted(sized.tried, key=lambda tried: tried.configuration.host_bytes)
    ]
    return pd.DataFrame(rows).dropna()
