"""The clients that look at the clock only: open loop, and the same behind a limit on requests in flight."""

from array import array
from collections import deque
from collections.abc import Sequence

from sim.cluster.clients.client import Act
from sim.cluster.clients.schedule import Schedule, later
from sim.events.clock import Clock
from sim.workload.request import Request, Trace


class Timed:
    """Every request leaves at its timestamp, whatever became of the turn before; at most `limit` in flight.

    `open-loop` has no limit. `max-concurrency` is the semaphore of vLLM 0.28.0's client: a request that is
    due takes a slot or waits for one, in the order in which requests were due, whatever their session. When
    each request wanted to leave goes into `due_s`, by its index.
    """

    def __init__(
        self, clock: Clock, trace: Trace, speedup: float, send: Act, *, limit: float, due_s: "array[float]"
    ) -> None:
        self._clock = clock
        self._requests = trace.requests
        self._due_s = due_s
        self._send = send
        self._free_slots = limit
        self._waiting: deque[Request] = deque()
        self._n_waits = 0
        """Requests that wait for others in the trace, which does not hold them back here."""
        self._schedule = Schedule(clock, trace, speedup, self._due)
        for request in trace.requests:
            self._schedule.add(request)
            self._n_waits += bool(request.waits_for)

    @property
    def waiting(self) -> int:
        """See `Client`."""
        return len(self._waiting)

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
        if not self._n_waits:
            return []
        return [
            "requests that wait for others in the trace, sent at their timestamps all the same, as only "
            f'replay.client = "turn-dependent" waits: {self._n_waits:,}'
        ]

    def start(self) -> None:
        """See `Client`."""
        self._schedule.start()

    def ended(self, request: Request) -> None:
        """See `Client`. The slot goes to the first that waits."""
        if self._waiting:
            later(self._clock, 0.0, self._waiting.popleft(), self._send)
        else:
            self._free_slots += 1

    def _due(self, request: Request) -> None:
        self._due_s[request.index] = self._clock.now_s
        if self._free_slots:
            self._free_slots -= 1
            self._send(request)
        else:
            self._waiting.append(request)
