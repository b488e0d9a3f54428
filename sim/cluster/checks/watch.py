"""Joins the rules: hears all that the parts of a cluster tell each other, and passes it on unchanged."""

from collections.abc import Sequence
from itertools import chain
from math import fsum

import numpy as np
from numpy.typing import NDArray

from sim.cluster.api_server import QUEUE_LIMITS
from sim.cluster.checks.answers import check_answers
from sim.cluster.checks.blocks import Blocks
from sim.cluster.checks.flight import Flight
from sim.cluster.checks.levels import check_levels
from sim.cluster.checks.links import TierCopies, Transfers
from sim.cluster.checks.queues import WorkerQueues
from sim.cluster.checks.requests import Requests
from sim.cluster.checks.routers import Routers
from sim.cluster.checks.times import Times, check_lives
from sim.cluster.checks.tokens import Tokens
from sim.cluster.checks.turns import Turns, check_phases
from sim.cluster.clients.client import Act
from sim.cluster.frontend import CANNOT_CONNECT, Frontend
from sim.cluster.pool import Pool, pool_of
from sim.cluster.recorder import Recorder
from sim.cluster.replay import Replay
from sim.cluster.request_state import RequestState
from sim.cluster.watcher import BlockBytes, Watched
from sim.engine.active import ActiveRequest
from sim.engine.decode_run import DecodeRun
from sim.engine.engine import Engine
from sim.engine.plan import StepOutput, StepPlan
from sim.kv.events import KvEvent
from sim.links.network import Network
from sim.router import Booking, Decision
from sim.workload.request import Request

SCAN_EVERY = 64
"""How often a worker tells its levels until all its blocks are looked at."""


class Watch:
    """The checks of one run: a `Watcher`, and the `Outbox` of every worker."""

    def __init__(self, recorder: Recorder, replay: Replay, workers: int, block_bytes: BlockBytes) -> None:
        """Build the rules for what a replay sends to so many workers; `join` is to follow."""
        self._replay = replay
        self._count = count = len(replay.due_s)
        self._recorder = recorder
        self._records = recorder.records
        self._requests = Requests(replay)
        self._turns = Turns(replay)
        self._times = Times(workers)
        self._tokens = Tokens(count, recorder.records)
        self._flight = Flight(count)
        self._tier_copies = TierCopies(block_bytes.host)
        self._transfers = Transfers(block_bytes.pulled, block_bytes.host)
        self._blocks = [Blocks(worker, SCAN_EVERY) for worker in range(workers)]
        self._queues = [WorkerQueues(worker) for worker in range(workers)]
        self._dead: set[int] = set()
        """Workers whose engine has died of itself,"""
        self._ever_dead: set[int] = set()
        """of those that were started anew too."""
        self.event_delay_s = 0.0

    def outbox(self, frontend: Frontend) -> "Watch":
        """Return what workers are to send to in place of a front door."""
        self._frontend = frontend
        self.event_delay_s = frontend.event_delay_s
        return self

    def join(self, cluster: Watched, send: Act) -> Act:
        """Listen to the parts of a cluster that was built; return what its client is to call for `send`."""
        self._cluster = cluster
        self._env = cluster.clock
        self._routers = Routers(cluster, self._prefilled)
        self._submit = send
        return self._sent

    def ends(self, ended: Act) -> Act:
        """Return what is to be told of ends in place of `ended`."""
        self._ended = ended
        return self._over

    # -- the client and the front door ----------------------------------------------------------------------

    def _sent(self, request: Request) -> None:
        now_s = self._env.now
        self._times.front_door(now_s)
        if request.index >= self._count:
            self._grow(request.index + 1 - self._count)
        self._requests.sent(request, now_s)
        self._turns.sent(request, now_s)
        self._flight.sent(request.index, now_s)
        self._flight.in_flight(self._requests.in_flight, now_s)
        self._held_back(now_s)
        self._submit(request)

    def _grow(self, more: int) -> None:
        self._count += more
        self._requests.grow(more)
        self._flight.grow(more)
        self._tokens.grow(more)

    def _over(self, request: Request) -> None:
        now_s = self._env.now
        index = request.index
        self._times.front_door(now_s)
        self._requests.over(index, now_s)
        self._turns.over(request, now_s)
        self._flight.over(index, now_s)
        self._flight.in_flight(self._requests.in_flight, now_s)
        self._tokens.over(index)
        self._routers.over(index, now_s)
        self._ended(request)
        self._held_back(now_s)

    def _prefilled(self, index: int) -> bool:
        """Whether the prefill worker of a request has answered."""
        record = self._records.get(index)
        return record is not None and record.prefilled_s is not None

    def _held_back(self, now_s: float) -> None:
        self._requests.held_back(self._replay, now_s)

    def booked(self, record: RequestState, pool: Pool, decision: Decision, booking: Booking) -> None:
        """A request was put on a router's books."""
        now_s = self._env.now
        self._times.front_door(now_s)
        self._routers.booked(record, pool, decision, booking, now_s)

    def retried(self, record: RequestState) -> None:
        """A request is to be tried again."""
        index = record.request.index
        self._tokens.tried_again(index)
        self._flight.tried_again(index)
        self._routers.returned(index)

    def pull_stopped(self, request: int) -> None:
        """A read that was posted comes to nothing."""
        self._transfers.stopped(request, self._env.now)

    def pulled(self, request: int, n_bytes: int, start_s: float, end_s: float) -> None:
        """A transfer has ended."""
        self._transfers.ended(request, n_bytes, start_s, end_s)
        self._recorder.pulled(request, n_bytes, start_s, end_s)

    # -- what workers tell the recorder ---------------------------------------------------------------------

    def planned(self, worker: int, plan: StepPlan, events: list[KvEvent], now_s: float) -> None:
        """See `Observer`."""
        self._times.worker(worker, now_s)
        self._blocks[worker].events(events)
        self._tokens.planned(worker, plan, now_s)
        self._queues[worker].planned(plan, self._records, now_s)
        self._tier_copies.planned(worker, plan)
        self._transfers.planned(plan)
        self._recorder.planned(worker, plan, events, now_s)

    def processed(self, worker: int, output: StepOutput, events: list[KvEvent], now_s: float) -> None:
        """See `Observer`."""
        self._times.worker(worker, now_s)
        self._blocks[worker].events(events)
        self._tokens.processed(worker, output, now_s)
        for request in output.finished:
            self._queues[worker].left(request, None, now_s)
            self._left(request, now_s)
        self._recorder.processed(worker, output, events, now_s)

    def added(self, worker: int, request: ActiveRequest, now_s: float) -> None:
        """See `Observer`."""
        self._times.worker(worker, now_s)
        self._queues[worker].came(request, now_s)
        record = self._records[request.request_id]
        self._flight.came_to_worker(record.request.index, now_s)
        if request.request_id != record.request.index:
            self._flight.tried_again(record.request.index)
        self._recorder.added(worker, request, now_s)

    def aborted(self, worker: int, request: ActiveRequest, now_s: float) -> None:
        """See `Observer`."""
        self._times.worker(worker, now_s)
        self._queues[worker].left(request, self._records[request.request_id], now_s)
        self._left(request, now_s)
        self._recorder.aborted(worker, request, now_s)

    def lost(self, worker: int, requests: Sequence[ActiveRequest], now_s: float) -> None:
        """See `Observer`."""
        self._times.worker(worker, now_s)
        engine, links = self._cluster.workers[worker].engine, self._cluster.workers[worker].links
        if worker not in self._dead:
            self._blocks[worker].scan(engine, now_s)
        self._queues[worker].lost(requests, self._records, now_s)
        for request in requests:
            self._left(request, now_s)
        self._tier_copies.lost(worker, engine, links, now_s)
        self._blocks[worker].lost()
        self._dead.discard(worker)
        self._recorder.lost(worker, requests, now_s)

    def _left(self, request: ActiveRequest, now_s: float) -> None:
        self._flight.left_worker(self._records[request.request_id].request.index, now_s)
        self._tokens.left(request)

    def decoded(self, worker: int, run: DecodeRun, ends_s: NDArray[np.float64]) -> None:
        """See `RunObserver`."""
        self._times.outputs(worker, ends_s)
        self._recorder.decoded(worker, run, ends_s)

    def allocated(self, worker: int, used_blocks: int, now_s: float) -> None:
        """See `RunObserver`."""
        self._times.worker(worker, now_s)
        self._recorder.allocated(worker, used_blocks, now_s)

    def levels(self, worker: int, engine: Engine, now_s: float) -> None:
        """See `Observer`."""
        self._times.worker(worker, now_s)
        self._queues[worker].levels(engine, now_s)
        self._blocks[worker].levels(engine, now_s)
        self._recorder.levels(worker, engine, now_s)

    def kv(self, worker: int, events: list[KvEvent]) -> None:
        """See `RunObserver`."""
        self._blocks[worker].events(events)
        self._recorder.kv(worker, events)

    # -- what workers tell the front door -------------------------------------------------------------------

    def output(self, worker: int, output: StepOutput) -> None:
        """See `Outbox`."""
        self._frontend.output(worker, output)

    def given_up(self, worker: int, request: ActiveRequest, reason: str) -> None:
        """See `Outbox`."""
        now_s = self._env.now
        if worker not in self._dead and reason != CANNOT_CONNECT and reason not in QUEUE_LIMITS:
            self._queues[worker].left(request, self._records[request.request_id], now_s)
        self._left(request, now_s)
        self._frontend.given_up(worker, request, reason)

    def pulls(self, worker: int, plan: StepPlan) -> None:
        """See `Outbox`."""
        for pull in plan.pulls:
            self._transfers.started(worker, pull, self._env.now)
        self._frontend.pulls(worker, plan)

    def died(self, worker: int) -> None:
        """See `Outbox`."""
        self._dead.add(worker)
        self._ever_dead.add(worker)
        self._queues[worker].died(self._env.now)
        self._frontend.died(worker)

    def kv_events(self, worker: int, events: list[KvEvent], output_s: float) -> None:
        """See `EventOutbox`."""
        pool = pool_of(self._frontend.pools, worker)
        if self._frontend.events.heard_by(pool, events):
            self._routers.sent(pool)
        self._frontend.kv_events(worker, events, output_s)

    # -- the end --------------------------------------------------------------------------------------------

    def stopped(self) -> None:
        """Nothing can happen any more, and requests that have not ended are as they stand."""
        now_s = self._env.now
        alive = [worker for worker in range(len(self._blocks)) if worker not in self._dead]
        for worker in alive:
            self._blocks[worker].scan(self._cluster.workers[worker].engine, now_s)
            if not self._records:
                self._blocks[worker].end(self._cluster.workers[worker].engine, now_s)
            self._tier_copies.check(worker, self._cluster.workers[worker], now_s)
        self._routers.stopped(now_s)
        pulls = self._cluster.pulls
        if pulls is not None and isinstance(pulls.network, Network):
            self._transfers.check(pulls.network.links(now_s), now_s)
            if not self._records:
                self._transfers.check_held(pulls.held, now_s)
        for worker in alive:
            self._queues[worker].check(self._records, now_s)

    def closed(self) -> None:
        """The recorder has closed its books: look at its tables."""
        now_s, recorder = self._env.now, self._recorder
        table = recorder.rows.tables["requests"]
        self._requests.check_rows(table, now_s)
        check_lives(table)
        joined = 0 if recorder.streams is None else recorder.streams.joined
        self._tokens.check_rows(table, recorder.itl_s.n + recorder.left_out_itl_s.n + joined, now_s)
        self._turns.closed(self._requests.in_flight)
        check_phases(table, self._replay, now_s)
        check_answers(table, self._cluster.answers, now_s)
        queues = [(queues.waiting.area(now_s), queues.running.area(now_s)) for queues in self._queues]
        self._flight.check_rows(table, fsum(chain.from_iterable(queues)), now_s)
        levels = recorder.rows.tables.get("workers")
        if levels is not None and not self._cluster.scenario.output.worker_interval_s:
            used = [gauge.area(now_s) for gauge in recorder.pool]
            check_levels(levels, queues, used, self._ever_dead, now_s)
