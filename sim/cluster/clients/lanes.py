"""The client that keeps a number of sessions busy for a time."""

from array import array
from collections.abc import Callable, Sequence
from math import inf, nan

from sim.base.words import exactly
from sim.cluster.clients.client import Act
from sim.cluster.clients.schedule import later
from sim.cluster.clients.think import Think
from sim.events.clock import Clock, Phase
from sim.workload.groups import session_groups
from sim.workload.recycled import Recycled
from sim.workload.request import Request, Trace
from sim.workload.settings import ReplaySettings
from sim.workload.wait_graph import Waits

Cut = Callable[[int], object]
"""Gives up a request, by index."""
Anew = Callable[[int, int, Sequence[int]], None]
"""Is told of requests that begin anew: the index of the trace's first one, by how much theirs are more, and
their places."""


class _Taken:
    """A session and its sub-agents in a lane: `places` are their requests, sent `times` before."""

    __slots__ = ("begun_s", "earlier_s", "first_s", "left", "number", "places", "times", "waiting")

    def __init__(self, number: int, places: Sequence[int], times: int, begun_s: float) -> None:
        self.number = number
        self.places = places
        self.times = times
        self.begun_s = begun_s
        self.first_s = 0.0
        """Its earliest timestamp, divided by the speed-up: timestamps count from there."""
        self.earlier_s = 0.0
        """By how much timestamps come earlier, pauses before them having been cut."""
        self.left = len(places)
        """Requests that have not ended."""
        self.waiting: dict[int, int] = {}
        """For how many others each that was not sent still waits, by place."""


class Lanes:
    """Each lane plays a session with its sub-agents, then the next one of the trace, in order.

    A session leaves when its lane takes it, later turns as in `TurnDependent`, timestamps counted from the
    first of the session. With a duration, a trace that is used up begins anew (`sim.workload.recycled`), no
    request is sent when the time is over, and `cut` gives up what is in flight then, if the settings say so.
    """

    def __init__(
        self,
        clock: Clock,
        trace: Trace,
        settings: ReplaySettings,
        send: Act,
        *,
        due_s: "array[float]",
        recycled_from: int,
        cut: Cut | None,
        anew: Anew | None,
    ) -> None:
        assert settings.lanes is not None
        self._clock = clock
        self._trace = trace
        self._first = trace.first_index
        self._send = send
        self._due_s = due_s
        self._lanes = settings.lanes
        self._gap_s = settings.lane_gap_s
        self._to_start = 0
        """Lanes that have yet to take their first session."""
        self._duration_s = inf if settings.duration_s is None else settings.duration_s
        self._cut = cut if settings.at_end == "cut" else None
        self._anew = anew
        self._speedup = settings.speedup
        self._think = Think(settings)
        self._waits = Waits(trace)
        self._groups = session_groups(trace)
        self._recycled = Recycled(trace, recycled_from)
        self._next, self._times = 0, 0
        self._n_taken = 0
        self._instant: set[int] = set()
        """Groups of which one began and ended at this instant; if all did, they would so for ever."""
        self._instant_s = -1.0
        self._end_s = inf
        self._over = False
        self._in_flight: dict[int, tuple[_Taken, int]] = {}
        """By index: to which a request belongs, and its place in the trace."""
        self._taken: dict[int, _Taken] = {}
        """Those in lanes, by the order of taking."""
        self._n_sent = 0
        self._n_to_send = 0

    @property
    def waiting(self) -> int:
        """See `Client`: nobody waits for a slot."""
        return 0

    @property
    def total(self) -> int:
        """See `Client`: those of sessions taken; all of the trace, if it is played once."""
        if self._duration_s == inf:
            return len(self._trace.requests)
        return self._n_sent if self._over else self._n_to_send + self._to_start

    @property
    def unsent(self) -> Sequence[Request]:
        """See `Client`: without a duration all, else those of sessions in lanes unless time is over."""
        if self._duration_s == inf:
            return self._trace.requests
        if self._over:
            return ()
        return [
            self._recycled.request(place, taken.times)
            for taken in self._taken.values()
            for place in taken.waiting
        ]

    @property
    def notes(self) -> list[str]:
        """See `Client`."""
        n, groups = self._n_taken, len(self._groups)
        says = f"{exactly(self._lanes, 'lane')} took {exactly(n, 'session')}"
        says += " (a session with its sub-agents counts once)" if groups < len(self._trace.sessions) else ""
        if n > groups:
            again = n - groups
            says += (
                f"; the trace has {groups:,}: {again:,} of them began anew, with other content but for what "
                "two sessions share"
            )
        return [says, *self._think.notes]

    def start(self) -> None:
        """See `Client`."""
        self._end_s = self._clock.now_s + self._duration_s
        if self._end_s < inf:
            self._clock.at(self._end_s, Phase.ARRIVAL, 0, self._close)
        if not self._gap_s:
            for _ in range(self._lanes):
                self._take()
            return
        self._to_start = self._lanes
        for lane in range(self._lanes):
            begins_s = self._clock.now_s + self._gap_s * lane
            self._clock.at(begins_s, Phase.ARRIVAL, lane, self._start)

    def _start(self) -> None:
        """Let the next lane begin."""
        self._to_start -= 1
        self._take()

    def ended(self, request: Request) -> None:
        """See `Client`. A lane whose session has ended takes the next one."""
        taken, place = self._in_flight.pop(request.index)
        taken.left -= 1
        for after in self._waits.after(place + self._first):
            follows = after - self._first
            taken.waiting[follows] -= 1
            if not taken.waiting[follows]:
                self._after(self._idle_s(taken, follows), taken, follows)
        if not taken.left:
            del self._taken[taken.number]
            self._note_instant(taken)
            self._take()

    def _note_instant(self, taken: _Taken) -> None:
        now_s = self._clock.now_s
        if now_s > self._instant_s:
            self._instant.clear()
            self._instant_s = now_s
        if taken.begun_s == now_s:
            self._instant.add(taken.number % len(self._groups))

    def _all_at_this_instant(self) -> bool:
        """Whether every group began and ended at this very instant."""
        return self._clock.now_s == self._instant_s and len(self._instant) == len(self._groups)

    def _take(self) -> None:
        """Let a lane begin with the next session, if there is one."""
        if self._over or self._clock.now_s >= self._end_s:
            return
        if self._next == len(self._groups):
            if self._duration_s == inf or self._all_at_this_instant():
                return
            self._next, self._times = 0, self._times + 1
        taken = _Taken(self._n_taken, self._groups[self._next], self._times, self._clock.now_s)
        if self._times and self._anew is not None:
            self._anew(self._first, self._recycled.shift(self._times), taken.places)
        self._taken[self._n_taken] = taken
        self._next += 1
        self._n_taken += 1
        self._n_to_send += len(taken.places)
        stamps = [self._trace.requests[place].timestamp_s for place in taken.places]
        taken.first_s = min((stamp for stamp in stamps if stamp is not None), default=0.0) / self._speedup
        taken.waiting = {place: self._waits.count(place + self._first) for place in taken.places}
        for place, stamp in zip(taken.places, stamps, strict=True):
            if not taken.waiting[place]:
                idle_s = 0.0 if stamp is None else stamp / self._speedup - taken.first_s
                self._after(idle_s, taken, place)

    def _idle_s(self, taken: _Taken, place: int) -> float:
        request = self._trace.requests[place]
        if request.delay_s is not None:
            return self._think.of(request.delay_s)
        if request.timestamp_s is None:
            return 0.0
        due_s = taken.begun_s + (request.timestamp_s / self._speedup - taken.first_s) - taken.earlier_s
        idle_s = max(0.0, due_s - self._clock.now_s)
        cut_s = self._think.cut(idle_s)
        taken.earlier_s += idle_s - cut_s
        return cut_s

    def _after(self, idle_s: float, taken: _Taken, place: int) -> None:
        """Let a request leave after a time, unless nothing is sent any more by then."""
        if self._clock.now_s + idle_s < self._end_s:
            request = self._recycled.request(place, taken.times)
            later(self._clock, idle_s, request, lambda request: self._leave(request, taken, place))

    def _leave(self, request: Request, taken: _Taken, place: int) -> None:
        del taken.waiting[place]
        self._in_flight[request.index] = taken, place
        self._n_sent += 1
        if request.index >= len(self._due_s):
            self._due_s.extend([nan] * (request.index + 1 - len(self._due_s)))
        self._due_s[request.index] = self._clock.now_s
        self._send(request)

    def _close(self) -> None:
        """Time is over."""
        self._over = True
        if self._cut is not None:
            for index in sorted(self._in_flight):
                self._cut(index)
