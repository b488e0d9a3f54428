"""The way from a router's choice to the queue of the engine that was chosen."""

from collections.abc import Sequence

from sim.cluster.delays import Delays
from sim.cluster.hosts import Hosts
from sim.cluster.kv_transfer import Pulls
from sim.cluster.pool import Pool, pool_of
from sim.cluster.request_state import RequestState, Visit
from sim.cluster.stage import Stage
from sim.engine.active import ActiveRequest
from sim.events.clock import Clock, Phase


class Dispatch:
    """Sends requests to workers, each through the process in front of its engine.

    Args:
        clock: of the simulation.
        delays: who says how long the way takes.
        pools: of all stages.
        hosts: the threads that prompts keep busy; None: they take no time.
        pulls: between the pools; None: there are none.
    """

    __slots__ = ("_clock", "_delays", "_hosts", "_pools", "_pulls")

    def __init__(
        self, clock: Clock, delays: Delays, pools: Sequence[Pool], *, hosts: Hosts | None, pulls: Pulls | None
    ) -> None:
        self._clock = clock
        self._delays = delays
        self._pools = pools
        self._hosts = hosts
        self._pulls = pulls

    def send(self, record: RequestState, stage: Stage, visit: Visit) -> None:
        """Send a request on its way now; one that is over before it is there, or tried again, is dropped."""
        request_id = record.request_id

        def arrive() -> None:
            if not record.over and record.request_id == request_id:
                self._hand_over(record, stage, visit, arrival.place)

        now_s = self._clock.now_s
        arrival = self._delays.dispatched(record.request.index, now_s, decode=stage.decode)
        self._clock.at(max(now_s, arrival.time_s), Phase.ARRIVAL, arrival.place, arrive, last=True)

    def _hand_over(self, record: RequestState, stage: Stage, visit: Visit, place: int) -> None:
        """A request has come to the process in front of an engine."""
        if self._hosts is None:
            self._queue(record, stage, visit)
            return
        request_id = record.request_id

        def queue() -> None:
            if not record.over and record.request_id == request_id:
                self._queue(record, stage, visit)

        relay = self._hosts.relays[visit.pool.members[visit.rank]]
        handed_s = relay.take(record.prompt_tokens, self._clock.now_s)
        self._clock.at(handed_s, Phase.ARRIVAL, place, queue, last=True)

    def _queue(self, record: RequestState, stage: Stage, visit: Visit) -> None:
        """A request has come to an engine."""
        now_s = self._clock.now_s
        active = visit.active = stage.ask(record)
        if record.prefilled_s is None:
            record.active = active
            if record.queued_s is None:
                record.queued_s = now_s
        else:
            record.decode, record.decode_queued_s = active, now_s
            self._offer(record, active)
        visit.worker.add(active)

    def _offer(self, record: RequestState, active: ActiveRequest) -> None:
        """Let a decode worker know what a prefill worker keeps for it, if that is still there."""
        assert self._pulls is not None
        assert record.active is not None
        assert record.worker is not None
        pool = pool_of(self._pools, record.worker)
        nixl = pool.worker(pool.rank(record.worker)).engine.nixl
        assert nixl is not None
        if self._pulls.awaited(record.request_id):
            active.remote = nixl.offer(record.active)
