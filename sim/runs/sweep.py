"""A sweep: one scenario at many points, with the same seeds at each."""

from collections.abc import Sequence
from dataclasses import replace

from sim.runs.comparison import Comparison
from sim.runs.run import Run

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
