"""Pictures of a sweep: one for each number, over the swept keys.

On a grid, the key with most numbers is on the x axis, the next has colours, and each combination of the
others a panel of its own. Sampled points have a panel for each key that was sampled. Bands and error bars are
those of a comparison's plots.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.runs.comparison_rows import Point
from sim.runs.sweep import DRAW, Sweep
from sim.show.pictures.axes import BAND, whisker
from sim.show.pictures.pages import pages_of, remove_pages, write_pages
from sim.show.pictures.panels import Panels, draw_on, is_numeric, ranked

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_JUMPS = {"router.overlap_score_credit": (0.0, "at 0 no index is built")}
"""Values at which a key means something else than just beside them: no line leads there."""


def write_sweep_plots(sweep: Sweep, metrics: Sequence[str], folder: Path) -> list[Path]:
    """Write a PNG for each number, named after it, more pages beside it; returns where.

    Those of an earlier sweep that are not asked for go.
    """
    for stale in set(sweep.metrics) - set(metrics):
        remove_pages(folder, stale, "png")
    return [
        path
        for metric in metrics
        for path in write_pages(plots_of_sweep(sweep, metric), folder, metric, "png")
    ]


def plots_of_sweep(sweep: Sweep, metric: str) -> "list[Figure]":
    """Return the figures of one number of a sweep: more than one if one page has no room for all."""
    return pages_of(_Panels(sweep), [metric])


def plot_over(sweep: Sweep, metric: str, x: str | None, ax: "Axes | None") -> "Axes":
    """Draw one number of a sweep over one key on one pair of axes, and return them."""
    return draw_on(_Panels(sweep, x, one_panel=True), metric, ax)


class _Panels(Panels):
    """A colour is a value of a key, or values of several."""

    def __init__(self, sweep: Sweep, x: str | None = None, *, one_panel: bool = False) -> None:
        """Read the sweep; with `one_panel`, all keys but that of the x axis (`x`, if given) have colours."""
        self._sweep = sweep = sweep if x == DRAW else sweep.shown()
        grid = ranked(sweep, [key for key in sweep.keys if key not in sweep.sampled and key != x])
        xs = [x] if x is not None else list(sweep.sampled) or grid[:1] or [""]
        rest = [key for key in grid if key not in xs]
        self._coloured = rest if one_panel else rest[:1]
        super().__init__(
            sweep,
            x=xs[:1] if one_panel else xs,
            facets=[key for key in rest if key not in self._coloured],
            **({"most_ticks": 0} if sweep.sampled else {}),
        )

    @property
    def says(self) -> str:
        """See `Panels`."""
        return ", ".join([*self._coloured, super().says])

    def name(self, scenario: str, point: Point) -> str:
        """See `Panels`: the values of the keys that have colours, as they are written."""
        values = dict(zip(self._sweep.keys, point, strict=True))
        return ", ".join(self._sweep.written(key, values[key]) for key in self._coloured)

    def draw_panel(self, panel: "Axes", x: str, data: "pd.DataFrame", look: dict[str, Any]) -> None:
        """See `Panels`: lines over numbers, dots where they were sampled, else bars."""
        import seaborn as sns  # noqa: PLC0415 - slow to import

        look |= {"x": x, "y": "value", "ax": panel}
        dots = {"marker": "o", "linestyle": "", "err_style": "bars"}
        if not is_numeric(self._sweep, x):
            sns.barplot(data, err_kws=whisker(), **look)
            return
        if self._sweep.sampled:
            sns.lineplot(data, **dots, **look)
            return
        apart = data[x] == _JUMPS[x][0] if x in _JUMPS else data[x].isna()
        sns.lineplot(data[~apart], marker="o", err_kws=BAND, **look)
        if apart.any():
            sns.lineplot(data[apart], legend=False, **dots, **look)

    def x_label(self, x: str) -> str:
        """See `Panels`: says where a line is broken."""
        if x in _JUMPS and _JUMPS[x][0] in self._sweep.values_of(x):
            return f"{x}\n({_JUMPS[x][1]})"
        return x
