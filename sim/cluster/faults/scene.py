"""What a cluster with faults is built of where one without is not, and the start of its faults."""

from collections.abc import Callable, Sequence

from sim.cluster.faults.clients import ImpatientClients
from sim.cluster.faults.events import EventFaults, concerns_events
from sim.cluster.faults.links import network_outages, tier_outages
from sim.cluster.faults.process import FaultProcess, Parts
from sim.cluster.faults.slow import SlowLaw, is_slowed
from sim.cluster.faults.toll import Toll
from sim.cluster.frontend import Frontend
from sim.cluster.kv_transfer import Pulls
from sim.cluster.migration import Migration
from sim.cluster.outbox import Outbox
from sim.cluster.recorder import Recorder
from sim.cluster.worker import Worker
from sim.engine.active import ActiveRequest
from sim.engine.engine import Engine
from sim.events.clock import Clock
from sim.events.lazy_updates import LazyUpdates
from sim.hardware.step_time import StepTime
from sim.links.network import Network
from sim.links.transfer import Outage
from sim.scenario.faults import Fault


class Scene:
    """The faults of one run, from the building of its cluster on; workers are named in their order."""

    def __init__(self, clock: Clock, faults: Sequence[Fault], seed: int) -> None:
        self.tolls = [Toll(fault) for fault in faults]
        """What each fault costs, in the order of the scenario."""
        self.begun_s = 0.0
        """When the time of faults began: the measured part of a replay."""
        self._clock = clock
        self._faults = faults
        self._seed = seed
        self._engines: list[Callable[[], Engine]] = []
        self._laws: list[SlowLaw | None] = []
        self._events: EventFaults | None = None
        self._clients: ImpatientClients | None = None
        self._outages: list[tuple[int, str, list[Outage]]] = []
        """Of each worker and kind of link; empty until the time of faults begins."""
        self._process: FaultProcess | None = None

    def enter(self, make: Callable[[], Engine], law: StepTime) -> StepTime:
        """Note how the next worker's engine is made; return the law that its steps follow."""
        slow = SlowLaw(law) if is_slowed(self._faults, len(self._laws)) else None
        self._engines.append(make)
        self._laws.append(slow)
        return slow or law

    def sends_one_by_one(self, worker: int) -> bool:
        """Whether outputs of a worker have to be sent one by one, so that none is fast-forwarded."""
        return concerns_events(self._faults, worker)

    def outbox(self, worker: int, outbox: Outbox) -> Outbox:
        """Return where a worker sends what others must know, on its way to `outbox`."""
        return self._event_faults(outbox) if self.sends_one_by_one(worker) else outbox

    def outages(self, worker: int, link: str) -> list[Outage]:
        """Return when a worker's links of a kind are out: known when the time of faults begins."""
        self._outages.append((worker, link, []))
        return self._outages[-1][2]

    def clients(self, frontend: Frontend, migration: Migration) -> ImpatientClients:
        """Return what a client sends requests with."""
        self._clients = ImpatientClients(self._clock, frontend, migration, self.tolls, seed=self._seed)
        return self._clients

    def start(
        self,
        frontend: Frontend,
        migration: Migration,
        workers: Sequence[Worker],
        lazy_updates: LazyUpdates,
        recorder: Recorder,
        *,
        pulls: Pulls | None,
        over: Callable[[], bool],
    ) -> None:
        """Arrange the faults. Their time 0 is now; `over` says whether every request has ended."""
        self.begun_s = begun_s = self._clock.now_s
        if not self._faults:
            return
        events = self._event_faults(frontend)
        events.begun_s = begun_s
        if self._clients is not None:
            self._clients.begun_s = begun_s
        for worker, link, periods in self._outages:
            periods.extend(tier_outages(self._faults, worker, link, begun_s))
        if pulls is not None and isinstance(pulls.network, Network):
            pulls.network.take_out(network_outages(self._faults, begun_s))
        engines, laws = self._engines, self._laws
        parts = Parts(
            frontend, migration, workers, engines, laws, events, lazy_updates, recorder, pulls, over
        )
        self._process = FaultProcess(self._clock, self.tolls, parts)
        self._process.start()

    def unreachable(self, worker: int, request: ActiveRequest) -> None:
        """A request was sent to a worker that is gone."""
        assert self._process is not None
        self._process.unreachable(worker, request)

    def pull_failed(self, request: int, target: int) -> None:
        """A decode worker waits for blocks that cannot be read any more."""
        assert self._process is not None
        self._process.pull_failed(request, target)

    def _event_faults(self, outbox: Outbox) -> EventFaults:
        """Return what stands between workers and the front door; one for all."""
        if self._events is None:
            self._events = EventFaults(outbox, self.tolls, self._seed)
        return self._events
