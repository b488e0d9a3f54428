"""When requests leave that have no timestamp: at the earliest, their delay after what they wait for."""

from collections.abc import Iterator
from typing import NamedTuple

from sim.workload.request import Request, Trace


class Place(NamedTuple):
    """Where a request stands in its session."""

    before: int | None
    """Index of the turn before."""
    moment_s: float
    """Its timestamp or, without one, the earliest at which it could leave."""


def placed(trace: Trace) -> Iterator[tuple[Request, Place]]:
    """Yield every request, in the order of the trace, and where it stands; turns never go back in time."""
    latest: dict[str, tuple[int, float]] = {}
    moments_s: dict[int, float] = {}
    for request in trace.requests:
        before, least_s = latest.get(request.session, (None, 0.0))
        least_s = max([least_s, *(moments_s.get(other, 0.0) for other in request.waits_for)])
        moment_s = least_s + (request.delay_s or 0.0)
        if request.timestamp_s is not None:
            moment_s = max(least_s, request.timestamp_s)
        yield request, Place(before, moment_s)
        latest[request.session] = request.index, moment_s
        moments_s[request.index] = moment_s
