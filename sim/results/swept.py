"""A sweep: one scenario at many points, with the same seeds at each."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import fsum
from typing import TYPE_CHECKING

from sim.results.columns import wide_table
from sim.results.compared import Comparison, Run
from sim.results.quantities import names_in

if TYPE_CHECKING:
    import pandas as pd

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

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """A row for each run: scenario, the swept keys, `seed`, `error`, every number by its dotted name.

        Units are those of the JSON summary: seconds, tokens, shares of one. NaN where nothing was measured.
        """
        frame: pd.DataFrame = wide_table(self).to_pandas()
        return frame


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
    return replace(first, written=written, seed=int(first.written[DRAW]), summary=None if failed else numbers)
