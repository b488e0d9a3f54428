"""What a fit to measured requests looks at: percentiles of the start of each run, simulated against measured.

A window is the first requests of a run; it is simulated from the run's start, so that queues build up as they
did. Requests count that were answered before the last of the window was sent: those behind it, which are not
simulated, could not change them. A residual is the logarithm of simulated to measured percentile, divided by
its tolerance: by how much a good model may miss it.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from sim.base.errors import InputError
from sim.base.words import exactly
from sim.measured.formats.requests_csv import RequestsRun
from sim.scenario.scenario import Scenario
from sim.validation.requests.kinds import is_saturated
from sim.validation.requests.latencies import Latencies, measured, predicted

TOLERANCES = {
    ("ttft_s", 10): 0.01,
    ("ttft_s", 50): 0.01,
    ("ttft_s", 90): 0.015,
    ("ttft_s", 99): 0.03,
    ("tpot_s", 10): 0.01,
    ("tpot_s", 50): 0.01,
    ("tpot_s", 90): 0.01,
    ("tpot_s", 99): 0.015,
    ("e2e_s", 50): 0.01,
    ("e2e_s", 99): 0.015,
}
"""Percentiles that are fitted, and their tolerances: about how far repeated runs are apart."""

SATURATED_TTFT = inf
"""Factor on the tolerances of TTFT in saturated runs. They do not count: behind a limit on requests in flight
those of one step come back together, and who waits behind whom hangs on single milliseconds."""


@dataclass(frozen=True, slots=True)
class Window:
    """The start of a run."""

    run: RequestsRun
    counted: NDArray[np.bool_]
    """Which requests are looked at."""
    measured: NDArray[np.float64]
    """Percentiles in seconds, in the order of `TOLERANCES`."""
    tolerances: NDArray[np.float64]

    def residuals(self, scenario: Scenario) -> NDArray[np.float64]:
        """Return how far a scenario is off, in tolerances, in the order of `TOLERANCES`."""
        simulated = _percentiles(predicted(self.run, scenario).where(self.counted))
        found: NDArray[np.float64] = np.log(simulated / self.measured) / self.tolerances
        return found


def window(run: RequestsRun, n: int) -> Window:
    """Return the window of a run's first `n` requests.

    Raises:
        InputError: too few of them were answered in the window, or with too few tokens, to tell percentiles.

    """
    start = run.first(n)
    counted = start.send_s + start.e2e_s <= start.send_s.max()
    if counted.sum() < 20:
        raise InputError(
            f"run {run.name}: {counted.sum()} of its first {exactly(len(start), 'request')} were answered "
            "before the "
            "last of them was sent; a fit needs 20 or more: take a longer window"
        )
    percentiles = _percentiles(measured(start).where(counted))
    if not (percentiles > 0).all():
        raise InputError(
            f"run {run.name}: a fit needs TTFT, TPOT and E2E above 0; "
            "TPOT needs answers of two tokens or more"
        )
    tolerances = np.array(list(TOLERANCES.values()))
    if is_saturated(run):
        tolerances = tolerances * [SATURATED_TTFT if name == "ttft_s" else 1.0 for name, _ in TOLERANCES]
    return Window(start, counted, percentiles, tolerances)


def _percentiles(latencies: Latencies) -> NDArray[np.float64]:
    """Return those of `TOLERANCES`; nan where there are none."""
    return np.array([latencies.percentile(name, percentile) for name, percentile in TOLERANCES], dtype=float)
