"""Clients that give requests up: after a time-out of theirs, or because a scenario or the trace says so.

Dynamo's front end notices that a connection was closed and passes it on; vLLM aborts the request and frees
its blocks ("Request Cancellation", Dynamo 1.5.0). The way there takes no time here.
"""

from collections.abc import Sequence
from math import inf

from sim.base.uniform import uniform
from sim.cluster.faults.toll import Toll
from sim.cluster.frontend import Frontend
from sim.cluster.migration import Migration
from sim.events.clock import Clock, Phase
from sim.scenario.faults import ClientsCancel
from sim.workload.request import Request

CANCELLED = "client_cancelled"
IN_TRACE = "cancelled_in_trace"
CUT_AT_END = "cut_at_end"
TIMED_OUT = "client_timeout"


class ImpatientClients:
    """Sends requests, and gives up some of those that have not ended in time."""

    def __init__(
        self,
        clock: Clock,
        frontend: Frontend,
        migration: Migration,
        tolls: Sequence[Toll],
        *,
        seed: int,
    ) -> None:
        self.timeout_s: float | None = None
        """How long clients wait; None: as long as it takes."""
        self.begun_s = inf
        """When the time of faults began; infinity: it has not."""
        self.gave_up = False
        """Whether some would not wait as long as it takes."""
        self._clock = clock
        self._frontend = frontend
        self._migration = migration
        self._tolls = [toll for toll in tolls if isinstance(toll.fault, ClientsCancel)]
        self._seed = seed

    def submit(self, request: Request) -> None:
        """A client sends a request now."""
        now_s = self._clock.now_s
        self._frontend.submit(request)
        if self.timeout_s is not None:
            self._give_up(request, self.timeout_s, TIMED_OUT)
        if request.cancel_after_s is not None:
            self._give_up(request, request.cancel_after_s, IN_TRACE)
        for number, toll in enumerate(self._tolls):
            fault = toll.fault
            assert isinstance(fault, ClientsCancel)
            until_s = float("inf") if fault.for_s is None else fault.at_s + fault.for_s
            if (
                fault.at_s <= now_s - self.begun_s < until_s
                and (not fault.sessions or request.session in fault.sessions)
                and uniform(self._seed, f"cancel {number}", request.index) < fault.share
            ):
                self._give_up(request, fault.after_s, CANCELLED, toll)

    def cut(self, index: int) -> None:
        """The time of the run is over, and nobody waits for this request any longer."""
        self.gave_up = True
        self._migration.abandon(index, "cancelled", CUT_AT_END)

    def _give_up(self, request: Request, after_s: float, reason: str, toll: Toll | None = None) -> None:
        self.gave_up = True

        def act() -> None:
            if self._migration.abandon(request.index, "cancelled", reason) and toll is not None:
                toll.count("cancelled")

        self._clock.at(self._clock.now_s + after_s, Phase.ARRIVAL, request.index, act)
