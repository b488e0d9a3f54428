"""Small multiples of a comparison: a row of panels for each number, or several numbers in a row.

Which keys are on x axes, which values have panels of their own, and what a colour stands for, each kind of
picture says for itself.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sim.results.quantities import label, unit
from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Point
from sim.show.pictures.axes import axis_unit, runs_of, set_scale, spread_of
from sim.show.pictures.labels import as_label, as_labels
from sim.show.pictures.style import given_or_new
from sim.show.text.comparison import key_headers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_COLUMNS = 3
"""Numbers in a row."""
_HANDLE_INCHES, _CHARACTER_INCHES = 0.6, 0.085
"""Of a legend, about."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How large panels are, and what there is room for."""

    inches: tuple[float, float]
    """Of a panel."""
    head_inches: float
    """Above all panels."""
    label_characters: int
    """In a line beside an axis."""
    head_characters: int
    """In a line above a panel."""
    most_ticks: int
    """Numbers on an x axis that have a tick each."""
    most_colours: int
    """That are told apart; more go from dark to light."""
    legend_columns: int


class Panels(ABC):
    """Draws numbers of a comparison, a panel for each key of an x axis and each value of other keys."""

    horizontal = False
    """Whether values are on the x axis."""

    def __init__(
        self,
        comparison: Comparison,
        layout: Layout,
        *,
        x: Sequence[str],
        facets: Sequence[str],
        name_characters: int = 60,
    ) -> None:
        """Read the comparison.

        Args:
            comparison: what is drawn.
            layout: of the panels.
            x: keys of x axes, each with panels of its own; "" for none.
            facets: keys whose values have panels of their own.
            name_characters: in a line of the label of what has a colour.

        """
        self.comparison = comparison
        self.layout = layout
        self._x, self._facets = x, facets
        titles = dict.fromkeys(map(self._title, comparison.points))
        self.places = [(key, title) for title in titles for key in x]
        """Key of the x axis and title of each panel of a number."""
        cells = [(scenario, point) for scenario in comparison.scenarios for point in comparison.points]
        self._names = as_labels((self.name(*cell) for cell in cells), name_characters)
        self._ticks = {
            key: as_labels(comparison.written(key, value) for value in comparison.values_of(key))
            for key in comparison.keys
        }

    @abstractmethod
    def name(self, scenario: str, point: Point) -> str:
        """Return what has a colour; there are no colours if all is ""."""

    @abstractmethod
    def draw_panel(self, panel: "Axes", x: str, data: "pd.DataFrame", look: dict[str, Any]) -> None:
        """Draw one panel: `data` has `value`, `series` and a column for each key of an x axis."""

    @property
    def says(self) -> str:
        """What colours and bands are."""
        return runs_of(self.comparison)

    @property
    def series(self) -> list[str]:
        """Labels of what has a colour."""
        return list(self._names.values())

    def x_label(self, x: str) -> str:
        """Return what is written below an x axis."""
        return x

    def draw(self, panels: "Sequence[Axes] | NDArray[Any]", metric: str) -> None:
        """Draw one number."""
        data = self._frame(metric)
        shown = axis_unit(unit(metric), data)
        data = data.assign(value=data["value"] / shown.per_axis_unit)
        look = spread_of(self.comparison, metric, shown) | self._colours()
        name = fill(label(metric), self.layout.label_characters) + (f" ({shown.axis})" if shown.axis else "")
        for panel, (x, title) in zip(panels, self.places, strict=True):
            of_panel = data[data["panel"] == title]
            if of_panel.empty:
                panel.text(0.5, 0.5, "not measured", ha="center", color="0.5", transform=panel.transAxes)
            else:
                self.draw_panel(panel, x, of_panel, look)
        # Panels that share an axis have its limits only now.
        for panel, (x, _) in zip(panels, self.places, strict=True):
            axis = panel.xaxis if self.horizontal else panel.yaxis
            set_scale(axis, shown, data["value"], logarithmic=is_numeric(self.comparison, x))
            panel.set(xlabel=name, ylabel="") if self.horizontal else self._label(panel, x, name)

    def _label(self, panel: "Axes", x: str, name: str) -> None:
        panel.set(xlabel=self.x_label(x), ylabel=name)
        values: list[Any] = self.comparison.values_of(x) if is_numeric(self.comparison, x) else []
        if 0 < len(values) <= self.layout.most_ticks:
            panel.set_xticks(values, [self._ticks[x][self.comparison.written(x, value)] for value in values])

    def _title(self, point: Point) -> str:
        return title_of(self.comparison, self._facets, point)

    def _frame(self, metric: str) -> "pd.DataFrame":
        """Return a row for each run that has the number."""
        import pandas as pd  # noqa: PLC0415 - slow to import

        rows = [
            (
                float(one.value),
                self._names[self.name(one.scenario, one.point)],
                self._title(one.point),
                *(self._at(x, one.point) for x in self._x),
            )
            for one in self.comparison.compared_records([metric])
        ]
        return pd.DataFrame(rows, columns=["value", "series", "panel", *self._x])

    def _at(self, x: str, point: Point) -> object:
        """Return where on an x axis a point is."""
        if not x:
            return ""
        value = point[self.comparison.keys.index(x)]
        return value if is_numeric(self.comparison, x) else self._ticks[x][self.comparison.written(x, value)]

    def _colours(self) -> dict[str, Any]:
        import seaborn as sns  # noqa: PLC0415 - slow to import

        if list(self._names) == [""]:
            return {"color": sns.color_palette("colorblind")[0]}
        few = len(self._names) <= self.layout.most_colours
        palette = sns.color_palette("colorblind" if few else "viridis", len(self._names))
        return {"hue": "series", "hue_order": self.series, "palette": palette}


def title_of(comparison: Comparison, keys: Sequence[str], point: Point) -> str:
    """Return the values of some keys at a point: "sessions = 12, policy = kv"."""
    shown = {
        key: f"{header} = {comparison.written(key, value)}"
        for key, header, value in zip(comparison.keys, key_headers(comparison.keys), point, strict=True)
    }
    return ", ".join(shown[key] for key in keys)


def is_numeric(comparison: Comparison, key: str) -> bool:
    """Whether there is a key, and all its values are numbers."""
    values = comparison.values_of(key) if key else [""]
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def ranked(comparison: Comparison, keys: Sequence[str]) -> list[str]:
    """Return keys as they come onto x axes: numbers before names, then what has most values."""
    return sorted(keys, key=lambda key: (not is_numeric(comparison, key), -len(comparison.values_of(key))))


def figure_of(panels: Panels, metrics: Sequence[str]) -> "Figure":
    """Return the figure of some numbers: a row for each or, where each has one panel, several in a row."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    layout, several = panels.layout, len(panels.places) > 1
    columns = len(panels.places) if several else min(_COLUMNS, len(metrics))
    rows = len(metrics) if several else ceil(len(metrics) / columns)
    width, height = layout.inches
    figure = Figure(figsize=(width * columns, height * rows + layout.head_inches), layout="constrained")
    one_x = len({x for x, _ in panels.places}) == 1
    grid = figure.subplots(
        rows, columns, squeeze=False, sharex=several and one_x, sharey="row" if several else "none"
    )
    for place, metric in enumerate(metrics):
        panels.draw(grid[place] if several else grid.flat[place : place + 1], metric)
    for unused in grid.flat[len(metrics) * len(panels.places) :]:
        unused.remove()
    if several:
        for panel, (_, title) in zip(grid[0], panels.places, strict=True):
            panel.set_title(as_label(title))
        for panel in grid.flat:
            panel.label_outer()
    _explain(figure, fill(panels.says, layout.head_characters * columns), layout.legend_columns)
    return figure


def draw_on(panels: Panels, metric: str, ax: "Axes | None") -> "Axes":
    """Draw one number on one pair of axes, new ones if none are given, and return them."""
    ax = given_or_new(ax)
    panels.draw([ax], metric)
    if legend := ax.get_legend():
        legend.set_title(panels.says)
    else:
        ax.set_title(panels.says)
    return ax


def _explain(figure: "Figure", says: str, most_columns: int) -> None:
    """Put one legend above all panels, and say what the bands are."""
    handles: dict[str, Any] = {}
    for panel in figure.axes:
        handles |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
        if legend := panel.get_legend():
            legend.remove()
    if handles:
        columns = min(most_columns, _legend_room(figure, handles))
        figure.legend(handles.values(), handles, title=says, loc="outside upper center", ncols=columns)
    else:
        figure.suptitle(says, fontsize="medium")


def _legend_room(figure: "Figure", names: Collection[str]) -> int:
    """Return how many names can stand beside each other above the panels."""
    room = int(figure.get_figwidth() / (_HANDLE_INCHES + _CHARACTER_INCHES * max(map(len, names))))
    return max(1, min(len(names), room))
