"""The order of events at equal simulated times.

SimPy breaks ties by insertion order, which would let an unrelated detail decide a routing choice. Here the
order is explicit: first what an engine step gives out (tokens, releases, KV events), then what arrives
(arrivals, routing, booking), then the workers' next schedules; within a phase by entity id.
"""

from enum import IntEnum
from heapq import heappush

import simpy


class Phase(IntEnum):
    """What happens first at one instant. SimPy's own priorities (0 and 1) come before all of these."""

    OUTPUT = 2
    ARRIVAL = 3
    SCHEDULE = 4


def at(env: simpy.Environment, delay_s: float, phase: Phase, entity: int = 0) -> simpy.Event:
    """Return an event that fires `delay_s` seconds from now, in `phase`, ordered by `entity` within it."""
    return at_time(env, env.now + delay_s, phase, entity)


def at_time(env: simpy.Environment, time_s: float, phase: Phase, entity: int = 0) -> simpy.Event:
    """Return an event that fires at exactly `time_s`, where a delay would be off by a rounding error.

    Raises:
        ValueError: the time is past, or not a number.

    """
    if not time_s >= env.now:
        raise ValueError(f"an event at {time_s} s, but it is {env.now} s already")
    event = simpy.Event(env)
    event._ok = True
    event._value = None
    # SimPy schedules by delay alone.
    heappush(env._queue, (time_s, (phase << 32) + entity, next(env._eid), event))  # type: ignore[misc]
    return event
