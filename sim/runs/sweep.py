"""A sweep: one scenario at many points, with the same seeds at each."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sim.base.errors import InputError
from sim.results.quantities import select
from sim.runs.comparison import Comparison
from sim.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

SHOWN = (
    "ttft_s.p50",
    "ttft_s.p95",
    "itl_s.p99",
    "prefill.recomputation",
    "workers_per_session.mean",
)
"""The numbers that a sweep shows unless asked for others."""

DRAW = "timing.draw"
"""The key whose values are draws of what is not known exactly: not a setting to choose, but a doubt."""


class Sweep(Comparison):
    """Runs of one scenario at many points: a comparison that has no second scenario."""

    def __init__(self, scenario: str, runs: Sequence[Run], sampled: Sequence[str] = ()) -> None:
        """Arrange the runs of a scenario; `sampled` are the keys that are on no grid."""
        super().__init__([scenario], runs)
        self.sampled = tuple(sampled)

    def shown(self) -> "Sweep":
        """Return what is shown of it: itself or, with draws, points that have those in place of a key."""
        runs = [
            replace(run, written={key: text for key, text in run.written.items() if key != DRAW})
            for run in self.runs
        ]
        return Sweep(self.scenarios[0], runs, self.sampled)

    def __rich__(self) -> "RenderableType":
        """Return the table that `sim sweep` prints."""
        from sim.show.text.sweep import render_sweep  # noqa: PLC0415 - imports this

        return render_sweep(self, [metric for metric in SHOWN if metric in self.metrics])

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
        from sim.show.pictures.sweep import plot_over  # noqa: PLC0415 - imports this

        if x is not None and x not in self.keys:
            raise InputError(f"x {x!r}: was not swept; swept are {', '.join(self.keys)}")
        (chosen,) = select([metric], self.metrics, "metric")
        return plot_over(self, chosen, x, ax)
