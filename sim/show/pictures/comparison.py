"""Pictures of a comparison: small multiples, a panel for each number, a colour for each scenario.

A swept key with numbers gives a line for each scenario, one with names gives bars; without a swept key there
is one bar a scenario. Bands and error bars are 95 % intervals of the mean over seeds; if coefficients were
drawn, they are the 95 % band of the draws around the median.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.base.whole_file import whole_file
from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Point
from sim.show.pictures.axes import BAND, WHISKER
from sim.show.pictures.panels import Layout, Panels, draw_on, figure_of, is_numeric, ranked, title_of
from sim.show.pictures.style import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLOTTED = (
    "ttft_s.p50",
    "ttft_s.p95",
    "itl_s.p50",
    "itl_s.p99.9",
    "prefill.recomputation",
    "workers_per_session.mean",
)
"""What a plot shows unless asked for something else."""

_LAYOUT = Layout(
    inches=(3.6, 2.6),
    head_inches=0.7,
    label_characters=26,
    head_characters=90,
    most_ticks=9,
    most_colours=10,
    legend_columns=4,
)
_NAME_CHARACTERS = 24
"""Of names beside bars."""


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
        return figure_of(_Panels(comparison), metrics)


def plot_metric(comparison: Comparison, metric: str, ax: "Axes | None") -> "Axes":
    """Draw one number of a comparison on one pair of axes, and return them.

    With several swept keys, the one with most values is on the x axis, and a colour is a scenario at one
    combination of the others.
    """
    return draw_on(_Panels(comparison, one_panel=True), metric, ax)


class _Panels(Panels):
    """A colour is a scenario."""

    def __init__(self, comparison: Comparison, *, one_panel: bool = False) -> None:
        """Read the comparison; with `one_panel`, all keys but that of the x axis have colours, too."""
        x, *others = ranked(comparison, comparison.keys) or [""]
        facets = [key for key in comparison.keys if key in others]
        self.horizontal = not x
        self._coloured = facets if one_panel else []
        beside_bars = {} if x else {"name_characters": _NAME_CHARACTERS}
        super().__init__(comparison, _LAYOUT, x=[x], facets=[] if one_panel else facets, **beside_bars)

    def name(self, scenario: str, point: Point) -> str:
        """See `Panels`."""
        return ", ".join(filter(None, [scenario, title_of(self.comparison, self._coloured, point)]))

    def draw_panel(self, panel: "Axes", x: str, data: "pd.DataFrame", look: dict[str, Any]) -> None:
        """See `Panels`: lines over numbers, else bars."""
        import seaborn as sns  # noqa: PLC0415 - slow to import

        if not x:
            sns.barplot(data, x="value", y="series", order=self.series, err_kws=WHISKER, ax=panel, **look)
        elif is_numeric(self.comparison, x):
            marks = {"style": "series", "style_order": self.series, "markers": True}
            sns.lineplot(data, x=x, y="value", err_kws=BAND, ax=panel, **marks, **look)
        else:
            sns.barplot(data, x=x, y="value", err_kws=WHISKER, ax=panel, **look)
