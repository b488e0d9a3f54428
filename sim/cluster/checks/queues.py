"""Little's law, exactly: a queue's length, integrated over time, is what its members waited together.

Lengths are those that workers tell while they run. Waits come from the times in the records of requests and
from the plans that let them run. These are the queues of workers, of those that wait and of those that run;
`sim.cluster.checks.flight` has those that are elsewhere.
"""

from collections.abc import Sequence
from typing import NoReturn

from sim.base.errors import InvariantError
from sim.cluster.request_state import RequestState
from sim.engine.active import ActiveRequest
from sim.engine.engine import Engine
from sim.engine.plan import StepPlan
from sim.results.gauge import Gauge

RULE = "Little's law"
ROUNDING = 1e-9


class WorkerQueues:
    """The queues of one worker: who waits and who runs. A request that is preempted waits again."""

    def __init__(self, worker: int) -> None:
        self._worker = worker
        self.waiting = Gauge()
        self.running = Gauge()
        self.waited_s = 0.0
        """Of those that wait no longer, summed."""
        self.ran_s = 0.0
        self._waiting: dict[int, float] = {}
        """Since when requests wait that never ran here, by what the engine calls them."""
        self._running: dict[int, float] = {}
        """Since when requests run."""
        self._again: dict[int, float] = {}
        """Since when preempted requests wait."""

    def levels(self, engine: Engine, now_s: float) -> None:
        """The worker tells how many there are from now on."""
        self.waiting.set(engine.waiting, now_s)
        self.running.set(len(engine.scheduler.running), now_s)

    def came(self, request: ActiveRequest, now_s: float) -> None:
        """A request came to the queue."""
        self._waiting[request.request_id] = now_s

    def planned(self, plan: StepPlan, records: dict[int, RequestState], now_s: float) -> None:
        """A step preempts some and lets others run: those stand at the end of its list."""
        for request in plan.preempted:
            since_s = self._running.pop(request.request_id, None)
            if since_s is None:
                self._fail("preempted, but did not run", request, now_s)
            self.ran_s += now_s - since_s
            self._again[request.request_id] = now_s
        for request, _ in reversed(plan.scheduled):
            index = request.request_id
            if index in self._running:
                break
            since_s = self._again.pop(index, None)
            if since_s is None:
                since_s = self._queued_s(request, records[index], now_s)
                del self._waiting[index]
            self.waited_s += now_s - since_s
            self._running[index] = now_s

    def left(self, request: ActiveRequest, record: RequestState | None, now_s: float) -> None:
        """A request leaves, with its last token or, if its record is given, without."""
        index = request.request_id
        since_s = self._running.pop(index, None)
        if since_s is not None:
            self.ran_s += now_s - since_s
            return
        since_s = self._again.pop(index, None)
        if since_s is None:
            if record is None:
                self._fail("has its last token, but never ran", request, now_s)
            since_s = self._queued_s(request, record, now_s)
            del self._waiting[index]
        self.waited_s += now_s - since_s

    def died(self, now_s: float) -> None:
        """The engine is no more: it was told of each request that it left."""
        self.waiting.set(0, now_s)
        self.running.set(0, now_s)

    def lost(self, requests: Sequence[ActiveRequest], records: dict[int, RequestState], now_s: float) -> None:
        """The process ends, and serves these requests; nobody else was here."""
        for request in requests:
            self.left(request, records[request.request_id], now_s)
        for index in (*self._waiting, *self._running, *self._again):
            raise InvariantError(
                RULE, "was here, but is not lost", request=index, worker=self._worker, now_s=now_s
            )

    def check(self, records: dict[int, RequestState], now_s: float) -> None:
        """Compare when nothing can happen any more; some may wait for ever."""
        waited_s = self.waited_s
        for since_s in self._again.values():
            waited_s += now_s - since_s
        for index in self._waiting:
            record = records[index]
            active = record.decode if record.decode is not None else record.active
            assert active is not None
            waited_s += now_s - self._queued_s(active, record, now_s)
        ran_s = self.ran_s
        for since_s in self._running.values():
            ran_s += now_s - since_s
        compare("waiting", self.waiting.area(now_s), waited_s, now_s, self._worker)
        compare("running", self.running.area(now_s), ran_s, now_s, self._worker)

    def _queued_s(self, request: ActiveRequest, record: RequestState, now_s: float) -> float:
        """Return since when a request waits that never ran: as its record says, if that is of this try."""
        queued_s = self._waiting.get(request.request_id)
        if request.request_id == record.request.index and queued_s is not None:
            queued_s = record.decode_queued_s if request is record.decode else record.queued_s
        if queued_s is None:
            self._fail("never came to the queue that it leaves", request, now_s)
        return queued_s

    def _fail(self, detail: str, request: ActiveRequest, now_s: float) -> NoReturn:
        raise InvariantError(RULE, detail, request=request.request_id, worker=self._worker, now_s=now_s)


def compare(queue: str, length_s: float, waited_s: float, now_s: float, worker: int | None = None) -> None:
    """Compare the integral of a queue's length with what its members waited, both in request seconds."""
    if not abs(length_s - waited_s) <= ROUNDING * (length_s + waited_s + now_s):
        detail = (
            f"{queue}: {length_s:.9g} request seconds by its length, {waited_s:.9g} by its members' times"
        )
        raise InvariantError(RULE, detail, worker=worker, now_s=now_s)
