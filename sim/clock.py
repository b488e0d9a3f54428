"""The order of events at equal simulated times.

SimPy breaks ties by insertion order, which would let an unrelated detail decide a routing choice. Here the
order is explicit: first what breaks, then what an engine step gives out (tokens, releases, KV events), then
what arrives (arrivals, routing, booking), then the workers' next schedules; within a phase by entity id.
"""

from enum import IntEnum
from heapq import heappush
from typing import Any

import simpy


class Phase(IntEnum):
    """What happens first at one instant. SimPy's own priorities (0 and 1) come before all of these."""

    FAULT = 1
    OUTPUT = 2
    ARRIVAL = 3
    SCHEDULE = 4


class Moment:
    """What SimPy needs of an event that only calls back when its time has come."""

    __slots__ = ("callbacks",)
    _ok = True

    def __init__(self) -> None:
        # A list of callables that take the event, but SimPy leaves None in its place when it calls them.
        self.callbacks: Any = []


def at(env: simpy.Environment, delay_s: float, phase: Phase, entity: int = 0) -> Moment:
    """Return an event that fires `delay_s` seconds from now, in `phase`, ordered by `entity` within it."""
    return at_time(env, env._now + delay_s, phase, entity)


def at_time(env: simpy.Environment, time_s: float, phase: Phase, entity: int = 0) -> Moment:
    """Return an event that fires at exactly `time_s`, where a delay would be off by a rounding error.

    Raises:
        ValueError: the time is past, or not a number.

    """
    if not time_s >= env._now:
        raise ValueError(f"an event at {time_s} s, but it is {env._now} s already")
    moment = Moment()
    # SimPy schedules by delay alone.
    queue: list[Any] = env._queue
    heappush(queue, (time_s, (phase << 32) + entity, next(env._eid), moment))
    return moment


def comes_next(env: simpy.Environment, phase: Phase, entity: int = 0) -> bool:
    """Whether an event made now, for this very instant, would be the next one to happen.

    What is the last thing that an event does can then be done at once.
    """
    queue: list[Any] = env._queue
    if not queue:
        return True
    first = queue[0]
    return (first[0], first[1]) > (env._now, (phase << 32) + entity)
