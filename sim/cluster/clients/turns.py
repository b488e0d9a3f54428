"""The client that waits for answers: turns, sub-agents, background agents."""

from array import array
from collections.abc import Sequence

from sim.cluster.clients.client import Act
from sim.cluster.clients.schedule import Schedule, later
from sim.cluster.clients.think import Think
from sim.events.clock import Clock
from sim.workload.request import Request, Trace
from sim.workload.settings import ReplaySettings
from sim.workload.wait_graph import Waits


class TurnDependent:
    """A session's first turn leaves at its timestamp, each other one its think time after the previous ended.

    A request that names others waits for those: see `sim.workload.wait_graph`. Its think time begins when the
    last has ended, however it ended: a session goes on after a turn that was rejected.

    A turn without a recorded think time leaves at its timestamp, or when the previous one ended if that is
    later: the gap between two timestamps holds the recorded service and is no think time. Where the longest
    think time cuts such a wait, later timestamps of its session come earlier by as much. When each request
    left goes into `due_s`, by its index.

    Raises:
        InputError: a request waits for what is not there or for itself, or one that has to leave at its
            timestamp has none.

    """

    def __init__(
        self, clock: Clock, trace: Trace, settings: ReplaySettings, send: Act, due_s: "array[float]"
    ) -> None:
        self._due_s = due_s
        self._clock = clock
        self._send = send
        self._requests = trace.requests
        self._first = trace.first_index
        self._think = Think(settings)
        self._earlier_s: dict[str, float] = {}
        """By how much timestamps of a session come earlier."""
        self._schedule = Schedule(clock, trace, settings.speedup, self._leave)
        self._waits = Waits(trace)
        self._left = self._waits.counts()
        """How many others each request still waits for."""
        for request in trace.requests:
            if not self._left[request.index - self._first]:
                self._schedule.add(request)

    @property
    def waiting(self) -> int:
        """See `Client`: nobody waits for a slot."""
        return 0

    @property
    def total(self) -> int:
        """See `Client`: all."""
        return len(self._requests)

    @property
    def unsent(self) -> Sequence[Request]:
        """See `Client`: all."""
        return self._requests

    @property
    def notes(self) -> list[str]:
        """See `Client`."""
        return self._think.notes

    def start(self) -> None:
        """See `Client`."""
        self._schedule.start()

    def ended(self, request: Request) -> None:
        """See `Client`."""
        for index in self._waits.after(request.index):
            place = index - self._first
            self._left[place] -= 1
            if not self._left[place]:
                following = self._requests[place]
                later(self._clock, self._idle_s(following), following, self._leave)

    def _idle_s(self, request: Request) -> float:
        if request.delay_s is not None:
            return self._think.of(request.delay_s)
        if request.timestamp_s is None:
            return 0.0
        if not self._think.cuts:
            return self._schedule.seconds_until(request.timestamp_s)
        earlier_s = self._earlier_s.get(request.session, 0.0)
        idle_s = self._schedule.seconds_until(request.timestamp_s, earlier_s)
        cut_s = self._think.cut(idle_s)
        if cut_s < idle_s:
            self._earlier_s[request.session] = earlier_s + (idle_s - cut_s)
        return cut_s

    def _leave(self, request: Request) -> None:
        self._due_s[request.index] = self._clock.now_s
        self._send(request)
