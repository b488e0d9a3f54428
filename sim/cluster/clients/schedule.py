"""Calls for requests at their timestamps, and after delays."""

from array import array
from collections.abc import Callable
from math import inf, nextafter

from sim.base.bounds import LONGEST_S
from sim.base.errors import InputError
from sim.cluster.clients.client import Act
from sim.events.clock import Clock, Phase
from sim.workload.request import Request, Trace


class Schedule:
    """Calls `act` for each request at its timestamp; they are added in that order, before the start."""

    def __init__(self, clock: Clock, trace: Trace, speedup: float, act: Act) -> None:
        self._clock = clock
        self._trace = trace
        self._requests = trace.requests
        self._first = trace.first_index
        self._indices = array("q")
        self._timestamps_s = array("d")
        self._speedup = speedup
        self._act = act
        self._start_s = 0.0
        self._next = 0

    def add(self, request: Request) -> None:
        """Let a request leave at its timestamp.

        Raises:
            InputError: it has none, or that is too far away.

        """
        if request.timestamp_s is None:
            raise InputError(
                f"{self._trace.place(request.index)}request {request.index} (session {request.session}, "
                f"turn {request.turn}) has no timestamp "
                "to leave at; with replay.client=turn-dependent later turns leave when the one before is "
                "answered, and only the first of a session needs one"
            )
        leaves_s = request.timestamp_s / self._speedup
        if leaves_s > LONGEST_S:
            raise InputError(
                f"{self._trace.place(request.index)}request {request.index} (session {request.session}, "
                f"turn {request.turn}) would leave after "
                f"{leaves_s:g} s, by its timestamp and replay.speedup = {self._speedup:g}; "
                f"at most {LONGEST_S:g} s"
            )
        self._indices.append(request.index)
        self._timestamps_s.append(request.timestamp_s)

    def start(self) -> None:
        """Time 0 of the trace is now."""
        self._start_s = self._clock.now_s
        self._await_next()

    def seconds_until(self, timestamp_s: float, earlier_s: float = 0.0) -> float:
        """Return the time from now to a timestamp, or to `earlier_s` before it; 0 if that has passed.

        Waiting so long never ends before it: else requests of one timestamp leave a rounding error apart.
        """
        due_s = self._start_s + timestamp_s / self._speedup - earlier_s
        delay_s = max(due_s - self._clock.now_s, 0.0)
        return delay_s if self._clock.now_s + delay_s >= due_s else nextafter(delay_s, inf)

    def _await_next(self) -> None:
        if self._next < len(self._indices):
            delay_s = self.seconds_until(self._timestamps_s[self._next])
            time_s = self._clock.now_s + delay_s
            self._clock.at(time_s, Phase.ARRIVAL, self._indices[self._next], self._fire)

    def _fire(self) -> None:
        index = self._indices[self._next]
        self._next += 1
        self._await_next()
        self._act(self._requests[index - self._first])


def later(clock: Clock, delay_s: float, request: Request, act: Callable[[Request], None]) -> None:
    """Call `act` with the request after a delay, in the arrival phase, at equal times in trace order."""
    clock.at(clock.now_s + delay_s, Phase.ARRIVAL, request.index, lambda: act(request))
