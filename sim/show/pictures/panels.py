"""Panels of a comparison: numbers over keys, in colours; `pages` puts them beside each other.

Which keys are on x axes, which values have panels of their own, and what a colour stands for, each kind of
picture says for itself.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from sim.results.quantities import label, unit
from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Point
from sim.show.pictures.axes import (
    axis_unit,
    is_geometric,
    runs_of,
    say_instead,
    set_scale,
    share_limits,
    spread_of,
)
from sim.show.pictures.labels import as_labels, broken
from sim.show.pictures.style import CHARACTERS_AN_INCH, on_axes, palette
from sim.show.pictures.ticks import logarithmic, number
from sim.show.text.comparison import key_headers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_LABEL_CHARACTERS = 26
"""In a line beside an axis: what the smallest panel has room for."""
_BELOW_CHARACTERS = 36
"""In a line below an axis, likewise."""
_LINE_INCHES = 0.17
_MOST_TICKS = 12
"""Numbers on an x axis that have a tick each, as far as they fit."""


class Panels(ABC):
    """Draws numbers of a comparison, a panel for each key of an x axis and each value of other keys."""

    horizontal = False
    """Whether values are on the x axis."""

    def __init__(
        self,
        comparison: Comparison,
        *,
        x: Sequence[str],
        facets: Sequence[str],
        name_characters: int = 60,
        most_ticks: int = _MOST_TICKS,
    ) -> None:
        """Read the comparison.

        Args:
            comparison: what is drawn.
            x: keys of x axes, each with panels of its own; "" for none.
            facets: keys whose values have panels of their own.
            name_characters: in a line of the label of what has a colour.
            most_ticks: of numbers on an x axis that have a tick each.

        """
        self.comparison = comparison
        self._x, self._facets, self._most_ticks = x, facets, most_ticks
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
    def least_inches(self) -> float:
        """How high a panel has to be for what stands beside its bars."""
        lines = sum(name.count("\n") + 1 for name in self.series)
        return _LINE_INCHES * (lines + 6) if self.horizontal else 0.0

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

    def draw(self, panels: "Sequence[Axes]", metric: str) -> None:
        """Draw one number."""
        data = self._frame(metric)
        shown = axis_unit(unit(metric), data)
        data = data.assign(value=data["value"] / shown.per_axis_unit)
        look = spread_of(self.comparison, metric, shown) | self._colours()
        name = fill(label(metric), _LABEL_CHARACTERS) + (f" ({shown.axis})" if shown.axis else "")
        for panel, (x, title) in zip(panels, self.places, strict=True):
            of_panel = data[data["panel"] == title]
            if of_panel.empty:
                say_instead(panel, "not measured")
            else:
                self.draw_panel(panel, x, of_panel, look)
        axes = [panel.xaxis if self.horizontal else panel.yaxis for panel in panels]
        for axis, panel, (x, _) in zip(axes, panels, self.places, strict=True):
            set_scale(axis, shown, data["value"], logarithmic=is_numeric(self.comparison, x))
            panel.set(xlabel=name, ylabel="") if self.horizontal else self._label(panel, x, name)
        share_limits(axes)

    def _label(self, panel: "Axes", x: str, name: str) -> None:
        panel.set(xlabel=broken(self.x_label(x), _BELOW_CHARACTERS), ylabel=name)
        if not is_numeric(self.comparison, x) or not panel.has_data():
            return
        number(panel.xaxis)
        values: list[Any] = self.comparison.values_of(x)
        if is_geometric(values):
            logarithmic(panel.xaxis)
        if 0 < len(values) <= self._most_ticks:
            panel.set_xticks(values, [self._ticks[x][self.comparison.written(x, value)] for value in values])
            panel.set_xticks([], minor=True)

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
        if list(self._names) == [""]:
            return {"color": palette(1)[0]}
        return {"hue": "series", "hue_order": self.series, "palette": palette(len(self._names))}


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


def draw_on(panels: Panels, metric: str, ax: "Axes | None") -> "Axes":
    """Draw one number on one pair of axes, new ones if none are given, and return them."""
    with on_axes(ax) as panel:
        panels.draw([panel], metric)
        inches = panel.get_figure(root=True).get_figwidth()  # type: ignore[union-attr]
        says = fill(panels.says, int(CHARACTERS_AN_INCH * inches))
        if legend := panel.get_legend():
            legend.set_title(says)
        else:
            panel.set_title(says)
        return panel
