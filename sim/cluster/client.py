"""The three ways to replay a trace: what makes each request leave.

A client is callbacks on events, one event a request. Every request is sent in the arrival phase of its
instant, at equal times in trace order.
"""

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from math import inf, nan, nextafter
from typing import Protocol

from sim.base.bounds import LONGEST_S
from sim.base.errors import InputError
from sim.events.clock import Clock, Phase
from sim.workload.request import Request, Trace
from sim.workload.settings import ReplaySettings

Act = Callable[[Request], None]

NONE = -1


class Client(Protocol):
    """Sends every request of a trace once; has to be told when one has ended."""

    @property
    def due_s(self) -> Sequence[float]:
        """When each request wanted to leave, by its index; nan until then."""

    @property
    def waiting(self) -> int:
        """Requests that are due and wait for one of a limited number of slots."""

    def start(self) -> None:
        """Schedule what waits for no answer. Time 0 of the trace is now."""

    def ended(self, request: Request) -> None:
        """Note that a request was answered, rejected, or failed."""


def make_client(clock: Clock, trace: Trace, settings: ReplaySettings, send: Act) -> Client:
    """Return the client that the settings ask for.

    Raises:
        InputError: a request that has to leave at its timestamp has none.

    """
    if settings.client == "turn-dependent":
        return TurnDependent(clock, trace, settings.speedup, send)
    return Timed(clock, trace, settings.speedup, send, slots(trace, settings))


def slots(trace: Trace, settings: ReplaySettings) -> float:
    """Return how many requests the client lets be in flight at once; infinity if it sets no limit."""
    if settings.client != "max-concurrency":
        return inf
    asked = settings.max_concurrency
    return float(len(trace.sessions) if asked == "sessions" else asked)


class Timed:
    """Every request leaves at its timestamp, whatever became of the turn before; at most `limit` in flight.

    `open-loop` has no limit. `max-concurrency` is the semaphore of vLLM 0.28.0's client: a request that is
    due takes a slot or waits for one, in the order in which requests were due, whatever their session.
    """

    def __init__(self, clock: Clock, trace: Trace, speedup: float, send: Act, limit: float) -> None:
        self.due_s = array("d", [nan]) * len(trace.requests)
        self._clock = clock
        self._send = send
        self._free_slots = limit
        self._waiting: deque[Request] = deque()
        self._schedule = _Schedule(clock, trace, speedup, self._due)
        for request in trace.requests:
            self._schedule.add(request)

    @property
    def waiting(self) -> int:
        """See `Client`."""
        return len(self._waiting)

    def start(self) -> None:
        """See `Client`."""
        self._schedule.start()

    def ended(self, request: Request) -> None:
        """See `Client`. The slot goes to the first that waits."""
        if self._waiting:
            _later(self._clock, 0.0, self._waiting.popleft(), self._send)
        else:
            self._free_slots += 1

    def _due(self, request: Request) -> None:
        self.due_s[request.index] = self._clock.now_s
        if self._free_slots:
            self._free_slots -= 1
            self._send(request)
        else:
            self._waiting.append(request)


class TurnDependent:
    """A session's first turn leaves at its timestamp, each other one its think time after the previous ended.

    A turn without a recorded think time leaves at its timestamp, or when the previous one ended if that is
    later: the gap between two timestamps holds the recorded service and is no think time. A session goes on
    after a turn that was rejected.
    """

    def __init__(self, clock: Clock, trace: Trace, speedup: float, send: Act) -> None:
        self.due_s = array("d", [nan]) * len(trace.requests)
        self._clock = clock
        self._send = send
        self._requests = trace.requests
        self._schedule = _Schedule(clock, trace, speedup, self._leave)
        self._following = array("q", [NONE]) * len(trace.requests)
        """The next turn of each request's session, by index."""
        latest: dict[str, int] = {}
        for request in trace.requests:
            before = latest.get(request.session)
            if before is None:
                self._schedule.add(request)
            else:
                self._following[before] = request.index
            latest[request.session] = request.index

    @property
    def waiting(self) -> int:
        """See `Client`: nobody waits for a slot."""
        return 0

    def start(self) -> None:
        """See `Client`."""
        self._schedule.start()

    def ended(self, request: Request) -> None:
        """See `Client`."""
        index = self._following[request.index]
        if index == NONE:
            return
        following = self._requests[index]
        if following.delay_s is not None:
            delay_s = following.delay_s
        elif following.timestamp_s is not None:
            delay_s = self._schedule.seconds_until(following.timestamp_s)
        else:
            delay_s = 0.0
        _later(self._clock, delay_s, following, self._leave)

    def _leave(self, request: Request) -> None:
        self.due_s[request.index] = self._clock.now_s
        self._send(request)


class _Schedule:
    """Calls `act` for each request at its timestamp; they are added in that order, before the start."""

    def __init__(self, clock: Clock, trace: Trace, speedup: float, act: Act) -> None:
        self._clock = clock
        self._trace = trace
        self._requests = trace.requests
        self._indices = array("q")
        self._timestamps_s = array("d")
        self._speedup = speedup
        self._act = act
        self._start_s = 0.0
        self._next = 0

    def add(self, request: Request) -> None:
        if request.timestamp_s is None:
            raise InputError(
                f"{self._trace.place(request.index)}request {request.index} (session {request.session}, "
                f"turn {request.turn}) has no timestamp "
                'to leave at; replay.client = "turn-dependent" needs one only for the first turn of a session'
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
        self._start_s = self._clock.now_s
        self._await_next()

    def seconds_until(self, timestamp_s: float) -> float:
        """Return the time from now to a timestamp, 0 if it has passed.

        Waiting so long never ends before it: else requests of one timestamp leave a rounding error apart.
        """
        due_s = self._start_s + timestamp_s / self._speedup
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
        self._act(self._requests[index])


def _later(clock: Clock, delay_s: float, request: Request, act: Act) -> None:
    """Call `act` with the request after a delay, in the arrival phase, at equal times in trace order."""
    clock.at(clock.now_s + delay_s, Phase.ARRIVAL, request.index, lambda: act(request))
