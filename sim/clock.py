"""The order of events at equal simulated times.

SimPy breaks ties by insertion order, which would let an unrelated detail decide a routing choice. Here the
order is explicit: first what an engine step gives out (tokens, releases, KV events), then what arrives
(arrivals, routing, booking), then the workers' next schedules; within a phase by entity id.
"""

from enum import IntEnum

import simpy


class Phase(IntEnum):
    """What happens first at one instant. SimPy's own priorities (0 and 1) come before all of these."""

    OUTPUT = 2
    ARRIVAL = 3
    SCHEDULE = 4


def at(env: simpy.Environment, delay_s: float, phase: Phase, entity: int = 0) -> simpy.Event:
    """Return an event that fires `delay_s` seconds from now, in `phase`, ordered by `entity` within it."""
    event = simpy.Event(env)
    event._ok = True
    event._value = None
    env.schedule(event, (phase << 32) + entity, delay_s)  # type: ignore[arg-type]
    return event
