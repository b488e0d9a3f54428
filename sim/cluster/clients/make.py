"""The client that a scenario asks for."""

from array import array
from math import inf, nan

from sim.cluster.clients.client import Act, Client
from sim.cluster.clients.lanes import Anew, Cut, Lanes
from sim.cluster.clients.timed import Timed
from sim.cluster.clients.turns import TurnDependent
from sim.events.clock import Clock
from sim.workload.request import Trace
from sim.workload.settings import ReplaySettings


def make_client(
    clock: Clock,
    trace: Trace,
    settings: ReplaySettings,
    send: Act,
    due_s: "array[float] | None" = None,
    *,
    recycled_from: int | None = None,
    cut: Cut | None = None,
    anew: Anew | None = None,
) -> Client:
    """Return the client that the settings ask for.

    Args:
        clock: of the simulation.
        trace: what it sends.
        settings: when.
        send: sends a request.
        due_s: takes when each request wanted to leave, by its index; nan until then.
        recycled_from: the index of the first request that is sent when a trace begins anew; unset: the next.
        cut: gives up a request in flight, by index.
        anew: is told of requests that begin anew.

    Raises:
        InputError: a request that has to leave at its timestamp has none, or it waits for one that cannot
            end before it.

    """
    count = len(trace.requests)
    if due_s is None:
        due_s = array("d", [nan]) * count
    if settings.lanes is not None:
        first = trace.first_index + count if recycled_from is None else recycled_from
        return Lanes(clock, trace, settings, send, due_s=due_s, recycled_from=first, cut=cut, anew=anew)
    if settings.client == "turn-dependent":
        return TurnDependent(clock, trace, settings, send, due_s)
    return Timed(clock, trace, settings.speedup, send, limit=slots(trace, settings), due_s=due_s)


def slots(trace: Trace, settings: ReplaySettings) -> float:
    """Return how many requests the client lets be in flight at once; infinity if it sets no limit."""
    if settings.client != "max-concurrency":
        return inf
    asked = settings.max_concurrency
    return float(len(trace.sessions) if asked == "sessions" else asked)
