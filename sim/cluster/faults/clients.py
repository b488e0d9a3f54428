"""Clients that give requests up: after a time-out of theirs, or because a scenario says so.

Dynamo's front end notices that a connection was closed and passes it on; vLLM aborts the request and frees
its blocks ("Request Cancellation", Dynamo 1.5.0). The way there takes no time here.
"""

from collections.abc import Sequence

from sim.base.uniform import uniform
from sim.cluster.faults.toll import Toll
from sim.cluster.frontend import Frontend
from sim.cluster.migration import Migration
from sim.events.clock import Clock, Phase
from sim.scenario.faults import ClientsCancel
from sim.workload.request import Request

CANCELLED = "client_cancelled"
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
        timeout_s: float | None,
        seed: int,
    ) -> None:
        self._clock = clock
        self._frontend = frontend
        self._migration = migration
        self._tolls = [toll for toll in tolls if isinstance(toll.fault, ClientsCancel)]
        self._timeout_s = timeout_s
        self._seed = seed

    def submit(self, request: Request) -> None:
        """A client sends a request now."""
        now_s = self._clock.now_s
        self._frontend.submit(request)
        if self._timeout_s is not None:
            self._give_up(request, self._timeout_s, TIMED_OUT)
        for number, toll in enumerate(self._tolls):
            fault = toll.fault
            assert isinstance(fault, ClientsCancel)
            until_s = float("inf") if fault.for_s is None else fault.at_s + fault.for_s
            if (
                fault.at_s <= now_s < until_s
                and (not fault.sessions or request.session in fault.sessions)
                and uniform(self._seed, f"cancel {number}", request.index) < fault.share
            ):
                self._give_up(request, fault.after_s, CANCELLED, toll)

    def _give_up(self, request: Request, after_s: float, reason: str, toll: Toll | None = None) -> None:
        def act() -> None:
            if self._migration.abandon(request.index, "cancelled", reason) and toll is not None:
                toll.count("cancelled")

        self._clock.at(self._clock.now_s + after_s, Phase.ARRIVAL, request.index, act)
