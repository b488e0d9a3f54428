"""What a run is to a fit: one that was fitted, one with the arrivals of such a run, or new; saturated or not.

Told from the data, not from names; but a file of coefficients names the runs that it was fitted to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sim.hardware.coefficient_file import FittedRun
from sim.measured.formats.requests_csv import RequestsRun

Seen = Literal["fitted", "repeat", "new"]

SATURATED = 2.0
"""How much longer requests wait in the last quarter of a run than in its first if it gets too many."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a run is."""

    seen: Seen
    saturated: bool
    repeats: str | None = None
    """The fitted run whose arrivals it was sent."""


def kind_of(run: RequestsRun, fitted: Sequence[FittedRun]) -> Kind:
    """Return what a run is to a fit to the runs `fitted`."""
    saturated = is_saturated(run)
    if any(run.name == other.run for other in fitted):
        return Kind("fitted", saturated)
    fingerprint = run.arrivals_fingerprint()
    for other in fitted:
        if other.arrivals == fingerprint:
            return Kind("repeat", saturated, other.run)
    return Kind("new", saturated)


def is_saturated(run: RequestsRun) -> bool:
    """Tell whether requests waited ever longer: the backlog of an engine that gets more than it can serve.

    The wait is from when a request was meant to be sent to its first token: a client that limits its requests
    in flight keeps the backlog on its own side. Medians of the run's first and last quarter are compared.
    """
    wait_s = run.send_s - run.arrival_s + run.ttft_s
    quarters = np.array_split(wait_s[~np.isnan(wait_s)], 4)
    if not len(quarters[-1]):
        return False
    return bool(np.median(quarters[-1]) > SATURATED * np.median(quarters[0]))
