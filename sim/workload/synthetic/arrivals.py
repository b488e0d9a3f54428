"""When requests of an open loop come."""

from itertools import accumulate
from math import log1p
from typing import Literal

from sim.workload.synthetic.draws import Draws

Arrivals = Literal["poisson", "scaled-poisson", "even"]
"""Gaps between requests: exponential; the same, scaled so that the last of n comes after n / rate, as vLLM's
bench client does (0.14.1 to 0.28.0, `get_request`); or all equal."""


def arrivals(
    draws: Draws, n: int, rate_per_s: float, how: Arrivals, *, first: int = 0, purpose: str = "gap"
) -> list[float]:
    """Return the times of `n` requests from 0 on, the first after a gap; `first` is the number of that."""
    if how == "even":
        return [number / rate_per_s for number in range(1, n + 1)]
    gaps = (-log1p(-draws.uniform(purpose, first + number)) / rate_per_s for number in range(n))
    times = list(accumulate(gaps))
    if how == "scaled-poisson" and times and times[-1] > 0:
        return [time * (n / rate_per_s / times[-1]) for time in times]
    return times
