"""Pictures of a sweep: one for each number, over the swept keys.

On a grid, the key with most numbers is on the x axis, the next has colours, and each combination of the
others a panel of its own. Sampled points have a panel for each key that was sampled. Bands and error bars are
those of a comparison's plots.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.base.whole_file import whole_file
from sim.runs.comparison_rows import Point
from sim.runs.sweep import DRAW, Sweep
from sim.show.pictures.axes import BAND, WHISKER
from sim.show.pictures.panels import Layout, Panels, draw_on, figure_of, is_numeric, ranked
from sim.show.pictures.style import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_JUMPS = {"router.overlap_score_credit": (0.0, "at 0 no index is built")}
"""Values at which a key means something else than just beside them: no line leads there."""
_LAYOUT = Layout(
    inches=(4.8, 3.2),
    head_inches=0.5,
    label_characters=34,
    head_characters=60,
    most_ticks=11,
    most_colours=8,
    legend_columns=8,
)


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
        return figure_of(_Panels(sweep), [metric])


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
            replace(_LAYOUT, most_ticks=0) if sweep.sampled else _LAYOUT,
            x=xs[:1] if one_panel else xs,
            facets=[key for key in rest if key not in self._coloured],
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
            sns.barplot(data, err_kws=WHISKER, **look)
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
