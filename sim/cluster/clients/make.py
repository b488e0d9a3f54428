"""The client that a scenario asks for."""

from array import array
from math import inf, nan

from sim.cluster.clients.client import Act, Client
from sim.cluster.clients.timed import Timed
from sim.cluster.clients.turns import TurnDependent
from sim.events.clock import Clock
from sim.workload.request import Trace
from sim.workload.settings import ReplaySettings


def make_client(
    clock: Clock, trace: Trace, settings: ReplaySettings, send: Act, due_s: "array[float] | None" = None
) -> Client:
    """Return the client that the settings ask for.

    When each request wanted to leave goes into `due_s`, by its index; nan until then.

    Raises:
        InputError: a request that has to leave at its timestamp has none, or it waits for one that cannot
            end before it.

    """
    if due_s is None:
        due_s = array("d", [nan]) * len(trace.requests)
    if settings.client == "turn-dependent":
        return TurnDependent(clock, trace, settings, send, due_s)
    return Timed(clock, trace, settings.speedup, send, slots(trace, settings), due_s)


def slots(trace: Trace, settings: ReplaySettings) -> float:
    """Return how many requests the client lets be in flight at once; infinity if it sets no limit."""
    if settings.client != "max-concurrency":
        return inf
    asked = settings.max_concurrency
    return float(len(trace.sessions) if asked == "sessions" else asked)
