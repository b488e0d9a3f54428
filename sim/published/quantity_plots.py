"""A picture of each quantity: measured as points, simulated as a band, a colour for each variant."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.published.measures import label, unit_of
from sim.published.scores import RowScore
from sim.published.settings import ClusterSettings
from sim.runs.spread import ends
from sim.show.pictures.axes import BAND, axis_unit, is_geometric, set_scale
from sim.show.pictures.fitting import fit_legend, fit_ticks, height_inches
from sim.show.pictures.labels import as_label, as_labels, broken
from sim.show.pictures.style import ONE_INCHES, SMALL, Theme, palette, quiet, save, style
from sim.show.pictures.ticks import logarithmic

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = ["variant", "level", "measured", "low", "high", "values"]
_MOST_TICKS = 8
_NAME_CHARACTERS = 14
"""In a line below a column; what does not fit there is turned."""
_SIDE_CHARACTERS = 36
_LEGEND_COLUMNS = 3
_SAYS = "circles: measured, with tolerance; lines: simulated, median and 95\N{THIN SPACE}% of the runs"
_SAYS_BESIDE = (
    "circles: measured, with tolerance; diamonds: simulated, median and 95\N{THIN SPACE}% of the runs"
)


class Quantity(NamedTuple):
    """One number, wherever it is printed: over the level, or of configurations without one."""

    metric: str
    leveled: bool
    rows: tuple[RowScore, ...]

    @property
    def title(self) -> str:
        """What a person calls it."""
        return label(self.metric)

    @property
    def file_name(self) -> str:
        """The name of its picture."""
        return f"{self.metric.replace('/', '_')}{'' if self.leveled else '-alone'}.svg"


def quantities(rows: Sequence[RowScore]) -> list[Quantity]:
    """Return each quantity that is printed, in the order of the rows."""
    found: dict[tuple[str, bool], list[RowScore]] = {}
    for row in rows:
        if row.target.printed is not None:
            found.setdefault((row.target.number, row.target.level is not None), []).append(row)
    return [Quantity(*key, tuple(of_key)) for key, of_key in found.items()]


def write_quantities(
    settings: ClusterSettings, rows: Sequence[RowScore], folder: Path, theme: Theme | None = None
) -> dict[Quantity, Path]:
    """Write a picture of each quantity as SVG; returns where."""
    paths = {}
    for quantity in quantities(rows):
        path = paths[quantity] = folder / quantity.file_name
        folder.mkdir(parents=True, exist_ok=True)
        with style(theme):
            save(draw(settings, quantity), path, theme)
    return paths


def draw(settings: ClusterSettings, quantity: Quantity) -> "Figure":
    """Return the picture of a quantity, drawn in the style of the others."""
    import pandas as pd  # noqa: PLC0415 - slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415

    data = pd.DataFrame(
        _lines(settings, quantity), columns=["variant", "level", "measured", "low", "high", "values"]
    )
    shown = axis_unit(unit_of(quantity.metric), pd.DataFrame({"value": data["measured"]}))
    for column in ("measured", "low", "high"):
        data[column] /= shown.per_axis_unit
    data["values"] = [[value / shown.per_axis_unit for value in values] for values in data["values"]]
    names = as_labels(data["variant"], 60 if quantity.leveled else _NAME_CHARACTERS)
    colours = dict(zip(names, palette(len(names)), strict=True))
    figure = Figure(figsize=ONE_INCHES, layout="constrained")
    panel = figure.subplots()
    if quantity.leveled:
        for variant, of_variant in data.groupby("variant", sort=False):
            _over_level(panel, of_variant.sort_values("level"), names[str(variant)], colours[str(variant)])
        panel.set_xlabel(as_label(settings.scale))
        levels = sorted(set(data["level"]))
        if is_geometric(levels):
            logarithmic(panel.xaxis)
        if len(levels) <= _MOST_TICKS:
            panel.set_xticks(levels, [f"{level:g}" for level in levels])
            panel.set_xticks([], minor=True)
        if len(names) > 1:
            handles, shown_names = panel.get_legend_handles_labels()
            above = fit_legend(figure, handles, shown_names, title="", most_columns=_LEGEND_COLUMNS)
            figure.set_figheight(figure.get_figheight() + height_inches(figure, above))
    else:
        _beside(
            panel,
            data,
            [names[text] for text in data["variant"]],
            [colours[text] for text in data["variant"]],
        )
    everything = pd.Series([value for values in data["values"] for value in values] + [*data["measured"]])
    set_scale(panel.yaxis, shown, everything, logarithmic=True)
    unit = f" ({shown.axis})" if shown.axis else ""
    panel.set_ylabel(broken(f"{as_label(quantity.title)}{unit}", _SIDE_CHARACTERS))
    panel.set_title(_SAYS if quantity.leveled else _SAYS_BESIDE, color=quiet(), fontsize=SMALL)
    fit_ticks(figure)
    return figure


def _lines(settings: ClusterSettings, quantity: Quantity) -> Sequence[Sequence[object]]:
    lines = []
    for row in quantity.rows:
        target, scale = row.target, row.target.scale
        low, high = target.band
        lines.append(
            (
                settings.called(target.configurations[0]),
                target.level,
                (target.printed or 0.0) / scale,
                (low or 0.0) / scale,
                (high or 0.0) / scale,
                [value / scale for value in row.deciding.values],
            )
        )
    return lines


def _over_level(panel: "Axes", data: "pd.DataFrame", name: str, colour: Any) -> None:
    whiskers = _whiskers(data)
    panel.errorbar(
        data["level"],
        data["measured"],
        yerr=whiskers,
        fmt="o",
        markersize=5,
        capsize=2,
        elinewidth=0.8,
        color=colour,
        label=name,
    )
    simulated = data[data["values"].map(bool)]
    if simulated.empty:
        return
    medians = simulated["values"].map(median)
    lows, highs = zip(*simulated["values"].map(_ends), strict=True)
    panel.fill_between(simulated["level"], lows, highs, color=colour, alpha=BAND["alpha"], linewidth=0)
    panel.plot(simulated["level"], medians, "D-", markersize=3.5, color=colour)
    if len(simulated) == 1:  # a band of one place has no width
        panel.vlines(simulated["level"], lows, highs, color=colour, alpha=0.4, linewidth=4)


def _beside(panel: "Axes", data: "pd.DataFrame", names: Sequence[str], colours: Sequence[Any]) -> None:
    whiskers = _whiskers(data)
    for place, values in enumerate(data["values"]):
        measured = data["measured"].iloc[place]
        panel.errorbar(
            [place - 0.1],
            [measured],
            yerr=[[side[place]] for side in whiskers],
            fmt="o",
            markersize=6,
            capsize=2,
            elinewidth=0.8,
            color=colours[place],
        )
        if values:
            low, high = _ends(values)
            middle = median(values)
            panel.errorbar(
                [place + 0.1],
                [middle],
                yerr=[[middle - low], [high - middle]],
                fmt="D",
                markersize=5,
                elinewidth=3,
                alpha=0.6,
                color=colours[place],
            )
    panel.set_xticks(range(len(names)), names)
    panel.set_xlim(-0.6, len(names) - 0.4)


def _whiskers(data: "pd.DataFrame") -> tuple[Sequence[float], Sequence[float]]:
    return [*(data["measured"] - data["low"])], [*(data["high"] - data["measured"])]


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = ends(values) if len(values) > 1 else (values[0], values[0])
    middle = median(values)
    return min(low, middle), max(high, middle)
