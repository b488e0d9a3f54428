"""A sweep: one scenario at many points, with the same seeds at each."""

from collections.abc import Sequence
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING

from sim.errors import InputError
from sim.results.compared import Comparison, Run
from sim.results.quantities import names_in, select

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

    def __init__(
        self, scenario: str, runs: Sequence[Run], sampled: Sequence[str] = (), *, seeds_a_draw: int = 0
    ) -> None:
        """Arrange the runs of a scenario.

        Args:
            scenario: its name.
            runs: of it.
            sampled: the keys that are on no grid.
            seeds_a_draw: each run is the mean over so many, and its seed is the number of a draw; 0: neither.

        """
        super().__init__([scenario], runs)
        self.sampled = tuple(sampled)
        self.seeds_a_draw = seeds_a_draw

    def shown(self) -> "Sweep":
        """Return what is shown of it: itself or, with draws, the means of each point and draw."""
        if DRAW not in self.keys:
            return self
        groups: dict[tuple[object, ...], list[Run]] = {}
        for run in self.runs:
            groups.setdefault(self.point(run), []).append(run)
        means = [_mean_run(runs) for runs in groups.values()]
        return Sweep(self.scenarios[0], means, self.sampled, seeds_a_draw=len(self.seeds))

    def __rich__(self) -> "RenderableType":
        """Return the table that `sim sweep` prints."""
        from sim.results.sweep_table import render_sweep  # noqa: PLC0415 - imports this

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
        from sim.results.sweep_plots import plot_over  # noqa: PLC0415 - imports this

        if x is not None and x not in self.keys:
            raise InputError(f"x {x!r}: was not swept; swept are {', '.join(self.keys)}")
        (chosen,) = select([metric], self.metrics, "metric")
        return plot_over(self, chosen, x, ax)


def _mean_run(runs: Sequence[Run]) -> Run:
    """Return the run that has the means of several at one draw."""
    numbers: dict[str, object] = {}
    for name in names_in(run.numbers for run in runs):
        values = [value for run in runs if (value := run.numbers.get(name)) is not None]
        numbers[name] = fsum(values) / len(values) if values else None
    numbers["thin_percentiles"] = list(dict.fromkeys(name for run in runs for name in run.thin_percentiles))
    first = runs[0]
    written = {key: text for key, text in first.written.items() if key != DRAW}
    failed = all(run.summary is None for run in runs)
    draw = int(first.written[DRAW])
    return replace(first, written=written, seed=draw, draw=0, summary=None if failed else numbers)
