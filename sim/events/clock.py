"""The order of events at equal simulated times.

SimPy breaks ties by insertion order, which would let an unrelated detail decide a routing choice. Here the
order is explicit: first what breaks, then what an engine step gives out (tokens, releases, KV events), then
what arrives (arrivals, routing, booking), then the workers' next schedules; within a phase by entity id.
"""

from enum import IntEnum
from heapq import heappush
from typing import Any, Protocol

import simpy

from sim.base.errors import InputError

LAST_S = 1e10
"""No simulated time lies beyond; doubles still tell 2 us apart there."""


class Phase(IntEnum):
    """What happens first at one instant. SimPy's own priorities (0 and 1) come before all of these."""

    FAULT = 1
    OUTPUT = 2
    ARRIVAL = 3
    SCHEDULE = 4


class Onlooker(Protocol):
    """Somebody who looks at the state of things at certain times, and for whom no simulation goes on."""

    @property
    def due_s(self) -> float:
        """When to look next."""

    def look(self, until_s: float) -> None:
        """Look as things stood at each of the times up to `until_s`, when the next event is."""


def run_out(env: simpy.Environment, onlooker: Onlooker) -> None:
    """Let time run until nothing can happen any more; `onlooker` looks before the events of its times."""
    queue: list[Any] = env._queue
    due_s = onlooker.due_s
    while queue:
        next_s: float = queue[0][0]
        if next_s >= due_s:
            onlooker.look(next_s)
            due_s = onlooker.due_s
        env.step()


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
        InputError: the time lies beyond `LAST_S`.

    """
    if time_s > LAST_S:
        raise InputError(
            f"a simulated time of {time_s:g} s is beyond {LAST_S:g} s, some 300 years: "
            "a time, rate or coefficient of the scenario is out of proportion"
        )
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
