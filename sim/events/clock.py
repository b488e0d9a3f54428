"""Simulated time: a SimPy environment that says what comes first at one instant.

SimPy breaks ties by insertion order, which would let an unrelated detail decide a routing choice. Here the
order is explicit: first what breaks, then what an engine step gives out (tokens, releases, KV events), then
who waited at a router, then what arrives (arrivals, routing, booking), then the workers' next schedules;
within a phase by entity id.
"""

from collections.abc import Callable
from enum import IntEnum
from heapq import heappop, heappush
from typing import Any, Protocol

import simpy

from sim.base.errors import InputError

LAST_S = 1e10
"""No simulated time lies beyond; doubles still tell 2 us apart there."""


class Phase(IntEnum):
    """What happens first at one instant. SimPy's own priorities (0 and 1) come before all of these."""

    FAULT = 1
    OUTPUT = 2
    ROUTER = 3
    ARRIVAL = 4
    SCHEDULE = 5


class Onlooker(Protocol):
    """Somebody who looks at the state of things at certain times, and for whom no simulation goes on."""

    @property
    def due_s(self) -> float:
        """When to look next."""

    def look(self, until_s: float) -> None:
        """Look as things stood at each of the times up to `until_s`, when the next event is."""


class _Moment:
    """An event that only calls back when its time has come, and what SimPy needs of one."""

    __slots__ = ("act",)
    _ok = True

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act

    @property
    def callbacks(self) -> Any:
        """What SimPy's own loop calls; it leaves None in place of the list."""
        return [lambda _: self.act()]

    @callbacks.setter
    def callbacks(self, _: Any) -> None:
        pass


class Clock(simpy.Environment):
    """Seconds of simulated time, and what happens when. All that touches SimPy's queue stands here."""

    @property
    def now_s(self) -> float:
        """What time it is."""
        return self._now

    def at(
        self, time_s: float, phase: Phase, entity: int, act: Callable[[], None], *, last: bool = False
    ) -> None:
        """Call `act` at exactly `time_s`, in `phase`, ordered by `entity` within it.

        `last`: the caller does nothing more at this instant that `act` could see, or that could see it. Where
        `act` would be what happens next anyway, it is then called at once.

        Raises:
            ValueError: the time is past, or not a number.
            InputError: the time lies beyond `LAST_S`.

        """
        if last and time_s == self._now and self.comes_next(phase, entity):
            act()
            return
        if time_s > LAST_S:
            raise InputError(
                f"a simulated time of {time_s:g} s is beyond {LAST_S:g} s, some 300 years: "
                "a time, rate or coefficient of the scenario is out of proportion"
            )
        if not time_s >= self._now:
            raise ValueError(f"an event at {time_s} s, but it is {self._now} s already")
        queue: list[Any] = self._queue
        # SimPy's `schedule` takes a delay, which misses the time by a rounding error.
        heappush(queue, (time_s, (phase << 32) + entity, next(self._eid), _Moment(act)))

    def comes_next(self, phase: Phase, entity: int) -> bool:
        """Whether what is arranged now, for this very instant, would be the next thing to happen."""
        queue: list[Any] = self._queue
        if not queue:
            return True
        first = queue[0]
        return (first[0], first[1]) > (self._now, (phase << 32) + entity)

    def run_out(self, onlooker: Onlooker) -> None:
        """Let time run until nothing can happen any more; `onlooker` looks before the events of its times."""
        queue: list[Any] = self._queue
        due_s = onlooker.due_s
        while queue:
            next_s: float = queue[0][0]
            if next_s >= due_s:
                onlooker.look(next_s)
                due_s = onlooker.due_s
            event = queue[0][3]
            if type(event) is not _Moment:
                self.step()
                continue
            heappop(queue)
            self._now = next_s
            act: Callable[[], None] = event.act
            act()
