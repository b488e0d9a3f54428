"""Pictures of a comparison: small multiples, a panel for each number, a colour for each scenario.

A swept key with numbers gives a line for each scenario, one with names gives bars; without a swept key there
is one bar a scenario. Bands and error bars are 95 % intervals of the mean over seeds; if coefficients were
drawn, they are the 95 % band of the draws around the median.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Point
from sim.show.pictures.axes import BAND, whisker
from sim.show.pictures.pages import pages_of, write_pages
from sim.show.pictures.panels import Panels, draw_on, is_numeric, ranked, title_of

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

_NAME_CHARACTERS = 24
"""Of names beside bars."""


def write_plot(comparison: Comparison, metrics: Sequence[str], folder: Path) -> list[Path]:
    """Write comparison.png and comparison.svg, the same picture, more pages beside them; returns where.

    Equal comparisons give equal bytes.
    """
    return write_pages(plots(comparison, metrics), folder, "comparison", "png", "svg")


def plots(comparison: Comparison, metrics: Sequence[str]) -> "list[Figure]":
    """Return the figures of these numbers of a comparison: more than one if one page has no room for all.

    With several swept keys, the one with most values is on the x axes, and each combination of the others
    has a panel.
    """
    return pages_of(_Panels(comparison), metrics)


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
        super().__init__(comparison, x=[x], facets=[] if one_panel else facets, **beside_bars)

    def name(self, scenario: str, point: Point) -> str:
        """See `Panels`."""
        return ", ".join(filter(None, [scenario, title_of(self.comparison, self._coloured, point)]))

    def draw_panel(self, panel: "Axes", x: str, data: "pd.DataFrame", look: dict[str, Any]) -> None:
        """See `Panels`: lines over numbers, else bars."""
        import seaborn as sns  # noqa: PLC0415 - slow to import

        if not x:
            sns.barplot(data, x="value", y="series", order=self.series, err_kws=whisker(), ax=panel, **look)
        elif is_numeric(self.comparison, x):
            marks = {"style": "series", "style_order": self.series, "markers": True}
            sns.lineplot(data, x=x, y="value", err_kws=BAND, ax=panel, **marks, **look)
        else:
            sns.barplot(data, x=x, y="value", err_kws=whisker(), ax=panel, **look)
