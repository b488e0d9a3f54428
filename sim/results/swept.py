"""A sweep: one scenario at many points, with the same seeds at each."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from sim.results.columns import wide_table
from sim.results.compared import Comparison, Run

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


class Sweep(Comparison):
    """Runs of one scenario at many points: a comparison that has no second scenario."""

    def __init__(self, scenario: str, runs: Sequence[Run], sampled: Sequence[str] = ()) -> None:
        """Arrange the runs of the scenario of this name; `sampled` are the keys that are on no grid."""
        super().__init__([scenario], runs)
        self.sampled = tuple(sampled)

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """A row for each run: scenario, the swept keys, `seed`, `error`, every number by its dotted name.

        Units are those of the JSON summary: seconds, tokens, shares of one. NaN where nothing was measured.
        """
        frame: pd.DataFrame = wide_table(self).to_pandas()
        return frame
