"""Comparisons and sweeps as a user holds them: runs (`sim.runs`) with tables, pictures and folders."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sim.base.errors import InputError
from sim.base.folder import new_folder
from sim.base.shown import Shown
from sim.results.quantities import USUAL, select, select_or
from sim.runs import comparison, sweep
from sim.runs.columns import summary_frame, wide_table
from sim.runs.rule_effects import effects_frame, is_explained
from sim.runs.saved import write_comparison

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from rich.console import RenderableType


class Comparison(Shown, comparison.Comparison):
    """Runs side by side. The first scenario is the one that the others are compared with.

    Shows the table that `sim compare` prints.
    """

    def __rich__(self) -> "RenderableType":
        """Return the table that `sim compare` prints."""
        from sim.show.text.compared import render_compared  # noqa: PLC0415 - loads rich

        return render_compared(self, select_or((), USUAL, self.metrics))

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """A row for each run: scenario, the swept keys, `seed`, `error`, every number by its dotted name.

        Units are those of the JSON summary: seconds, tokens, shares of one. NaN where nothing was measured.
        """
        frame: pd.DataFrame = wide_table(self).to_pandas()
        return frame

    def summary(self, *metrics: str) -> "pd.DataFrame":
        """Return means over seeds with 95 % intervals, and how far each is from the first scenario.

        If coefficients were drawn, they are medians with the 95 % band of the draws.

        Args:
            metrics: dotted names of numbers or tables of them, the main ones if none are given.

        Returns:
            A row for each number, point and scenario: `metric`, `unit`, the swept keys, `scenario`, then in
            this unit `mean` or `median`, `low`, `high` (NaN for a single run), `difference` to the first
            scenario paired by seed with `difference_low` and `difference_high`, and so for `ratio`.

        Raises:
            InputError: no number has such a name.

        """
        return summary_frame(self, select_or(metrics, USUAL, self.metrics, "metric"))

    def moved_by(self, *metrics: str) -> "pd.DataFrame":
        """Return which rule of vLLM moved numbers from one release to another, and how far.

        Every rule that can act was switched by itself, from the old release on and from the new one back; its
        effect is the mean of the two (`alone`, `last`). What rules only do together is a row of its own, so
        that all rows but "all" add up to that one.

        Args:
            metrics: dotted names of numbers or tables of them, the main ones if none are given.

        Returns:
            A row for each number, point, pair of releases and rule: `metric`, `unit`, the swept keys,
            `scenario`, `from`, `to`, `rule` ("all" and "together" too), then in this unit `moved`, `low` and
            `high` (of the 95 % interval over seeds, NaN for fewer than three), `alone`, `last`.

        Raises:
            InputError: no number has such a name, or it was not compared with `explain_versions=True`.

        """
        if not is_explained(self):
            raise InputError("moved_by: no rule was switched; compare with explain_versions=True")
        return effects_frame(self, select_or(metrics, USUAL, self.metrics, "metric"))

    def plot(self, metric: str, *, ax: "Axes | None" = None) -> "Axes":
        """Draw one number of all scenarios over the points, with 95 % intervals, and return the axes.

        Args:
            metric: its dotted name, such as "ttft_s.p95".
            ax: where to draw; a new figure if not given.

        Raises:
            InputError: no number has this name.

        """
        from sim.show.pictures.comparison import plot_metric  # noqa: PLC0415 - for pictures alone

        (chosen,) = select([metric], self.metrics, "metric")
        return plot_metric(self, chosen, ax)

    def save(self, folder: str | Path, *, replace: bool = False) -> None:
        """Write it to a new folder, as `sim compare --out` does; `sim.load` reads it back.

        Its main numbers are rows and panels of its picture.

        Args:
            folder: is made, with its parents.
            replace: whether earlier results in it make room.

        Raises:
            InputError: the folder cannot be made, or is not empty.

        """
        from sim.show.pictures.comparison import PLOTTED, write_plot  # noqa: PLC0415 - for pictures alone

        with new_folder(Path(folder), replace=replace) as building:
            write_comparison(self, select_or((), USUAL, self.metrics), building)
            write_plot(self, select_or((), PLOTTED, self.metrics), building)


class Sweep(sweep.Sweep, Comparison):
    """Runs of one scenario at many points: a comparison that has no second scenario.

    Shows the table that `sim sweep` prints.
    """

    def __rich__(self) -> "RenderableType":
        """Return the table that `sim sweep` prints."""
        from sim.show.text.sweep import render_sweep  # noqa: PLC0415 - loads rich

        return render_sweep(self, [metric for metric in sweep.SHOWN if metric in self.metrics])

    def plot(self, metric: str, *, x: str | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw one number over a swept key, with 95 % intervals, and return the axes.

        The other keys have colours, a combination of their values each; not so those that were sampled.

        Args:
            metric: its dotted name, such as "ttft_s.p95".
            x: the key on the x axis; the one with most numbers if not given.
            ax: where to draw; a new figure if not given.

        Raises:
            InputError: no number has this name, or no swept key.

        """
        from sim.show.pictures.sweep import plot_over  # noqa: PLC0415 - for pictures alone

        if x is not None and x not in self.keys:
            raise InputError(f"x {x!r}: was not swept; swept are {', '.join(self.keys)}")
        (chosen,) = select([metric], self.metrics, "metric")
        return plot_over(self, chosen, x, ax)


def to_show(found: comparison.Comparison) -> Comparison:
    """Return a comparison or a sweep as a user holds it."""
    if isinstance(found, sweep.Sweep):
        return Sweep(found.scenarios[0], found.runs, found.sampled)
    return Comparison(found.scenarios, [*found.runs, *found.rule_runs])
