"""Lets faults happen at their times: calls on the parts of a cluster, and counts what each one cost."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from sim.cluster.faults.events import EventFaults
from sim.cluster.faults.slow import SlowLaw
from sim.cluster.faults.toll import Toll
from sim.cluster.frontend import CANNOT_CONNECT, Frontend
from sim.cluster.kv_transfer import Pulls
from sim.cluster.migration import Migration
from sim.cluster.recorder import Recorder
from sim.cluster.tiers import HOST
from sim.cluster.worker import Worker
from sim.engine.active import ActiveRequest
from sim.engine.engine import Engine
from sim.events.clock import Clock, Phase
from sim.events.lazy_updates import LazyUpdates
from sim.scenario.faults import Fault, FrontendRestarts, SlowGpu, WorkerDies, WorkerDrains

WORKER_DIED = "worker_died"
DRAIN_TIMEOUT = "drain_timeout"
FRONTEND_RESTARTED = "frontend_restarted"

LOOK_S = 0.1
"""How often it is looked whether a worker that is drained has nothing left."""


class Parts(NamedTuple):
    """The parts of a cluster that can break."""

    frontend: Frontend
    migration: Migration
    workers: Sequence[Worker]
    engines: Sequence[Callable[[], Engine]]
    """Make a new engine for each worker."""
    laws: Sequence[SlowLaw | None]
    """Of each worker that is to be slow at some time."""
    events: EventFaults
    lazy_updates: LazyUpdates
    recorder: Recorder
    pulls: Pulls | None
    over: Callable[[], bool]
    """Whether every request of the trace has ended: what breaks later breaks nothing of this run."""


class FaultProcess:
    """The faults of one run."""

    def __init__(self, clock: Clock, tolls: Sequence[Toll], parts: Parts) -> None:
        self.tolls = tolls
        self._clock = clock
        self._begun_s = clock.now_s
        self._parts = parts
        self._deaths: dict[int, Toll] = {}
        """Of each worker that is gone or came back, the newest."""
        self._hanging: dict[int, list[ActiveRequest]] = {}
        """Requests of workers that do not answer, which nobody knows yet."""

    def start(self) -> None:
        """Arrange everything. Time 0 is now."""
        for toll in self.tolls:
            self._at(toll.fault.at_s, partial(self._begin, toll, toll.fault))

    @property
    def _now_s(self) -> float:
        """What time it is for faults, which count from their beginning."""
        return self._clock.now_s - self._begun_s

    def _at(self, time_s: float, act: Callable[[], None]) -> None:
        self._clock.at(max(self._begun_s + time_s, self._clock.now_s), Phase.FAULT, 0, act)

    def _begin(self, toll: Toll, fault: Fault) -> None:
        if self._parts.over():
            return
        toll.began = True
        if isinstance(fault, WorkerDies):
            self._die(toll, fault)
        elif isinstance(fault, WorkerDrains):
            self._drain(toll, fault)
        elif isinstance(fault, SlowGpu):
            self._slow(fault, fault.factor)
            self._at(fault.at_s + fault.for_s, partial(self._slow, fault, 1.0))
        elif isinstance(fault, FrontendRestarts):
            self._restart(toll, fault)
        for_s = getattr(fault, "for_s", None)
        if for_s is not None:
            toll.until_s = fault.at_s + for_s

    # -- workers that go ------------------------------------------------------------------------------------

    def _die(self, toll: Toll, fault: WorkerDies) -> None:
        worker = fault.worker
        requests = self._kill(worker, toll)
        if fault.connections == "hang":
            self._hanging[worker] = requests
        elif requests:
            self._leave_out(worker)
            self._interrupt(requests, toll, WORKER_DIED)
        known_s = fault.at_s + fault.detected_after_s
        if fault.back_after_s is not None:
            back_s = fault.at_s + fault.back_after_s
            known_s = min(known_s, back_s)
        self._at(known_s, partial(self._remove, toll, worker))
        if fault.back_after_s is not None:  # at one instant it comes back after it was removed
            self._at(back_s, partial(self._come_back, toll, worker))

    def _kill(self, worker: int, toll: Toll) -> list[ActiveRequest]:
        """End the process of a worker; return the requests that it served."""
        parts, engine = self._parts, self._parts.workers[worker].engine
        parts.workers[worker].interrupt()
        toll.lost_blocks += engine.cache.pool.filled_blocks
        if engine.offload is not None:
            tiers = engine.offload.tiers
            toll.lost_cpu_blocks += sum(tier.used_blocks for tier in tiers if tier.name == HOST)
        pool, rank = self._parts.frontend.place(worker)
        self._deaths[worker] = toll
        requests = parts.workers[worker].die(parts.engines[worker](), CANNOT_CONNECT)
        # What is on its way by then arrives; a worker that fast-forwards has sent more than that.
        pool.drop(rank, self._clock.now_s + parts.frontend.event_delay_s)
        toll.lost_tokens += sum(request.computed for request in requests)
        parts.events.forget(worker)
        if parts.pulls is not None:
            parts.pulls.source_gone(worker)
            for request in requests:
                parts.pulls.target_gone(request.request_id)
        return requests

    def _remove(self, toll: Toll, worker: int) -> None:
        """The router learns that a worker is gone."""
        self._leave_out(worker)
        pool, rank = self._parts.frontend.place(worker)
        pool.forget(rank)
        self._interrupt(self._hanging.pop(worker, []), toll, WORKER_DIED)

    def _come_back(self, toll: Toll, worker: int) -> None:
        pool, rank = self._parts.frontend.place(worker)
        self._parts.workers[worker].come_back()
        pool.let_in(rank)
        toll.until_s = self._now_s

    def unreachable(self, worker: int, request: ActiveRequest) -> None:
        """A request was sent to a worker that is gone."""
        toll = self._deaths[worker]
        if self._parts.pulls is not None:
            self._parts.pulls.target_gone(request.request_id, reached=False)
        fault, now_s = toll.fault, self._now_s
        if isinstance(fault, WorkerDies) and fault.connections == "hang":
            known_s = fault.at_s + fault.detected_after_s
            fails_s = max(now_s, min(known_s, now_s + fault.connect_timeout_s))
            self._at(fails_s, partial(self._not_reached, toll, worker, request))
        else:
            self._not_reached(toll, worker, request)

    def _not_reached(self, toll: Toll, worker: int, request: ActiveRequest) -> None:
        if toll.until_s is None:
            self._leave_out(worker)
        self._interrupt([request], toll, CANNOT_CONNECT)

    def _interrupt(self, requests: Sequence[ActiveRequest], toll: Toll, reason: str) -> None:
        for request in requests:
            toll.count(self._parts.migration.interrupted(request, reason))

    def pull_failed(self, request: int, target: int) -> None:
        """A decode worker waits for blocks that cannot be read any more."""
        record = self._parts.recorder.records.get(request)
        source = record.worker if record is not None else None
        outcome = self._parts.migration.pull_failed(request, target)
        if source is not None and source in self._deaths:
            self._deaths[source].count(outcome)

    # -- workers that are drained ---------------------------------------------------------------------------

    def _drain(self, toll: Toll, fault: WorkerDrains) -> None:
        self._leave_out(fault.worker)
        looks_s = fault.at_s + min(fault.grace_s, fault.timeout_s)
        self._at(looks_s, partial(self._look, toll, fault, 1, looks_s))

    def _look(self, toll: Toll, fault: WorkerDrains, times: int, due_s: float) -> None:
        """Let a worker go that has nothing left, or for which time is up.

        `due_s` is when it is looked, as it was computed: after a warm start the clock may be off by a bit.
        """
        worker, now_s = fault.worker, self._now_s
        idle = self._parts.workers[worker].engine.idle
        if not idle and due_s < fault.at_s + fault.timeout_s:
            looks_s = fault.at_s + min(fault.timeout_s, fault.grace_s + times * LOOK_S)
            self._at(looks_s, partial(self._look, toll, fault, times + 1, looks_s))
            return
        requests = self._kill(worker, toll)
        pool, rank = self._parts.frontend.place(worker)
        pool.forget(rank)
        self._interrupt(requests, toll, DRAIN_TIMEOUT)
        if fault.back_after_s is not None:
            self._at(now_s + fault.back_after_s, partial(self._come_back, toll, worker))

    # -- slow workers, front ends ---------------------------------------------------------------------------

    def _slow(self, fault: SlowGpu, factor: float) -> None:
        for index, (worker, law) in enumerate(zip(self._parts.workers, self._parts.laws, strict=True)):
            if law is not None and fault.worker in (None, index):
                worker.interrupt()
                law.factor = factor

    def _restart(self, toll: Toll, fault: FrontendRestarts) -> None:
        parts, front_ends = self._parts, self._meant(fault)
        for front_end in front_ends:
            parts.frontend.balancer.close(front_end)
            for pool in parts.frontend.pools:  # it tells no other of the ends of what it had
                pool.replicas[front_end].forget_bookings()
        for pool in parts.frontend.pools:  # of several front ends the others know where sessions are bound
            if pool.gate is not None and len(front_ends) == len(pool.replicas):
                pool.gate.start_anew()
        if fault.in_flight == "fail":
            for worker in parts.workers:
                worker.interrupt()  # what breaks comes before the outputs of an instant
            records = [*dict.fromkeys(parts.recorder.records.values())]
            for index in [record.request.index for record in records if record.front_end in front_ends]:
                if parts.migration.abandon(index, "failed", FRONTEND_RESTARTED):
                    toll.count("failed")
        self._at(fault.at_s + fault.down_s, partial(self._reopen, toll, fault))

    def _reopen(self, toll: Toll, fault: FrontendRestarts) -> None:
        parts, now_s, front_ends = self._parts, self._clock.now_s, self._meant(fault)
        for front_end in front_ends:
            parts.frontend.balancer.reopen(front_end)
        sent_s = now_s + parts.frontend.event_delay_s
        parts.lazy_updates.settle(now_s, -1)
        for pool in parts.frontend.pools:
            for replica in (pool.replicas[front_end] for front_end in front_ends):
                replica.undelivered.open(sent_s, -1)  # what was sent before now
                if fault.index == "lost":
                    replica.clear(range(len(pool.members)))
                else:
                    replica.recover(range(len(pool.members)))
        if fault.index == "recovered":
            for worker in range(len(parts.workers)):
                parts.events.ask(worker, now_s)
        toll.until_s = self._now_s

    def _meant(self, fault: FrontendRestarts) -> Sequence[int]:
        front_ends = self._parts.frontend.balancer.front_ends
        return front_ends if fault.front_end is None else [fault.front_end]

    def _leave_out(self, worker: int) -> None:
        pool, rank = self._parts.frontend.place(worker)
        pool.leave_out(rank)
