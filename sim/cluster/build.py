"""Builds the parts of a scenario, joins them, and lets simulated time run. Holds no rule of its own.

Client and front door, front door and workers tell each other things: what comes first is given a list that is
filled later, or a method of the cluster, and nothing is set on a part that is built.
"""

from collections.abc import Callable
from functools import partial
from math import inf

from sim.cluster.client import make_client, slots
from sim.cluster.delays import Delays, constant_delays
from sim.cluster.faults.links import host_outages, network_outages
from sim.cluster.faults.scene import Scene
from sim.cluster.front_door import FrontDoor, Listeners, Published
from sim.cluster.frontend import Frontend
from sim.cluster.garbage import rare_collections
from sim.cluster.kv_transfer import Lease, PullListeners, Pulls
from sim.cluster.layout import Policies, lay_out
from sim.cluster.link_rows import link_rows
from sim.cluster.lookout import Lookout
from sim.cluster.migration import Migration, MigrationRules, lease_expired
from sim.cluster.recorder import Recorder
from sim.cluster.stage import Desk
from sim.cluster.transport import Transport
from sim.cluster.watcher import BlockBytes, MakeWatcher
from sim.cluster.worker import Worker
from sim.engine.connector import OffloadingConnector
from sim.engine.engine import Engine
from sim.engine.hang import Hang, hang_of
from sim.engine.nixl import NixlConnector
from sim.events.clock import Clock
from sim.events.lazy_updates import LazyUpdates
from sim.hardware.capacity import Capacity
from sim.hardware.coefficients import Coefficients
from sim.hardware.mocker_law import Stage
from sim.hardware.step_laws import TimedWorker, laws
from sim.hardware.step_time import StepTime
from sim.kv.hybrid import KvCache
from sim.kv.offload import POLICIES
from sim.kv.prefix import PrefixTable
from sim.links.host_link import HostLink
from sim.links.network import Network
from sim.links.placement import place
from sim.links.pull_shape import PullShape, pull_shape
from sim.router import Policy
from sim.scenario.scenario import Scenario
from sim.scenario.sections import KvRole
from sim.workload.request import Request, Trace

Progress = Callable[[float, int, int], None]
"""Called with simulated seconds, requests done, and requests in all."""


class Cluster:
    """One cluster and the client in front of it, ready to `run` once."""

    def __init__(
        self,
        scenario: Scenario,
        trace: Trace,
        capacity: Capacity,
        times: Coefficients,
        *,
        policy: Policy | None = None,
        decode_policy: Policy | None = None,
        step_time: StepTime | None = None,
        delays: Delays | None = None,
        transport: Transport | None = None,
        published: Published | None = None,
        watch: MakeWatcher | None,
    ) -> None:
        """Build it.

        Args:
            scenario: what is built.
            trace: what the client sends.
            capacity: of a worker.
            times: coefficients of the scenario's step time and front door.
            policy: chooses for the first stage; None: as the scenario says.
            decode_policy: chooses for the second stage of a pair.
            step_time: the law of every worker's steps; None: as the scenario says.
            delays: who says when; None: what the scenario says takes its time.
            transport: what transfers between workers go over; None: the scenario's network.
            published: is told of the KV events of every worker's output.
            watch: makes who hears all that the parts tell each other, such as the checks
                (`sim.cluster.checks`).

        """
        self.clock = Clock()
        self.capacity = capacity
        """Of an aggregated or a prefill worker."""
        self.decode_capacity = scenario.decode_capacity() if scenario.workers.decode else capacity
        self.scenario = scenario
        self.hangs: dict[int, Hang] = {}
        """Workers, by index, that never end what they have; known when the run is over."""
        self.workers: list[Worker] = []
        self._trace = trace
        self._delays = delays or constant_delays(scenario.frontend, times.frontend)
        decode_times = times
        if scenario.workers.decode_parallel != scenario.workers.parallel:
            decode_times = scenario.decode_coefficients()
        self._laws = [
            laws(found.origin, found.step) if step_time is None else lambda _: step_time
            for found in (times, decode_times)
        ]
        """Of the workers that compute prompts, and of the decode workers."""
        self._attention_group = scenario.model.state_groups
        self._on_progress: Progress | None = None
        self.client = make_client(self.clock, trace, scenario.replay, self._send)
        self.recorder = Recorder(
            scenario.workers.ranks,
            self._attention_group,
            capacity.block_tokens,
            scenario.output.tables,
            scenario.output.worker_interval_s,
            due_s=self.client.due_s,
        )
        self._watch = watcher = watch and watch(
            self.recorder,
            len(trace.requests),
            slots(trace, scenario.replay),
            scenario.workers.ranks,
            BlockBytes(capacity.host_block_bytes, self._pull_shape().n_bytes),
        )
        self.scene = Scene(self.clock, scenario.faults, scenario.seed)
        self._lazy_updates = LazyUpdates()
        self._prefixes = PrefixTable(trace.chunk_tokens, capacity.block_tokens)
        self.pulls = self._transfers(transport) if scenario.workers.prefill else None
        """Transfers between workers; None in an aggregated cluster."""
        desk = Desk(
            self.clock, self._lazy_updates, self.recorder, scenario.seed, watcher.booked if watcher else None
        )
        stages, bypass = lay_out(
            scenario, self._prefixes, self.workers, Policies(policy, decode_policy), desk
        )
        ended = self._ended if watcher is None else watcher.ends(self._ended)
        self.frontend = Frontend(
            self.clock,
            stages,
            self._prefixes,
            self.recorder,
            door=self._front_door(times),
            delays=self._delays,
            listeners=Listeners(ended, self.scene.unreachable, published),
            bypass=bypass,
            pulls=self.pulls,
        )
        self._outbox = self.frontend if watcher is None else watcher.outbox(self.frontend)
        self._add_workers()
        self.migration = Migration(
            self.clock,
            self.frontend,
            self._prefixes,
            self.recorder,
            MigrationRules(
                scenario.frontend.migration_limit,
                scenario.frontend.migration_max_seq_len or inf,
                scenario.disaggregation.kv_load_failure_policy == "recompute",
            ),
            pulls=self.pulls,
            retried=watcher.retried if watcher else None,
        )
        self._lookout = Lookout(
            self.frontend.pools,
            self.recorder.records,
            interval_s=scenario.router.active_request_expiry_secs,
            way_s=times.frontend.alpha_out_s,
        )
        submit = self.scene.submit(self.frontend, self.migration, scenario.replay.timeout_s)
        self._submit = submit if watcher is None else watcher.join(self, submit)

    # -- parts ----------------------------------------------------------------------------------------------

    def _transfers(self, transport: Transport | None) -> Pulls:
        scenario, joined, watch = self.scenario, self.scenario.disaggregation, self._watch
        if transport is None:
            first, then = scenario.workers.first, scenario.workers.then
            nodes = place(joined.placement, first, then).nodes
            gpus = [first.parallel.gpus_per_rank] * first.ranks + [then.parallel.gpus_per_rank] * then.ranks
            transport = Network(scenario.network(), nodes, network_outages(scenario.faults), gpus)
        shape = self._pull_shape()
        expired, failed = partial(lease_expired, self.recorder), self.scene.pull_failed
        listeners = PullListeners(self.recorder.pulled, expired, failed)
        if watch is not None:
            listeners = PullListeners(watch.pulled, expired, failed, watch.pull_stopped)
        return Pulls(
            self.clock,
            transport,
            Lease(joined.lease_s, joined.heartbeat_interval_s, joined.lease_extension_s),
            block_bytes=shape.n_bytes,
            pieces_per_block=shape.pieces,
            workers=self.workers,
            listeners=listeners,
        )

    def _pull_shape(self) -> PullShape:
        workers, model = self.scenario.workers, self.scenario.model
        return pull_shape(
            workers.parallel,
            workers.decode_parallel,
            block_bytes=self.decode_capacity.block_bytes,
            layers=model.full_attention_layers,
            shared=False,
        )

    def _front_door(self, times: Coefficients) -> FrontDoor:
        scenario, offload = self.scenario, self.scenario.offload
        return FrontDoor(
            times.frontend,
            scenario.max_model_len,
            self._attention_group,
            host_events=offload is not None and offload.kv_events == "self-describing",
            track_outputs=scenario.router.track_output_blocks,
        )

    def _add_workers(self) -> None:
        workers, joined = self.scenario.workers, self.scenario.disaggregation
        if not workers.decode:
            for _ in range(workers.ranks):
                self._add_worker("aggregated", self.capacity, offloads=True)
            return
        for _ in range(workers.first.ranks):
            self._add_worker("prefill", self.capacity, offloads=True, kv_role=joined.prefill_kv_role)
        for _ in range(workers.then.ranks):
            self._add_worker("decode", self.decode_capacity, kv_role=joined.decode_kv_role)

    def _add_worker(
        self,
        stage: Stage,
        capacity: Capacity,
        *,
        offloads: bool = False,
        kv_role: KvRole | None = None,
    ) -> None:
        scenario, index = self.scenario, len(self.workers)
        make = partial(self._engine, capacity, offloads=offloads, kv_role=kv_role)
        timed = TimedWorker(stage, capacity.pool_tokens, scenario.engine.max_num_batched_tokens)
        worker = Worker(
            self.clock,
            index,
            make(),
            step_time=self.scene.enter(make, self._laws[stage == "decode"](timed)),
            link=HostLink(
                scenario.host_link().of_gpus(capacity.host_links),
                capacity.host_block_bytes,
                scenario.model.full_attention_layers,
                host_outages(scenario.faults, index),
            ),
            observer=self._watch or self.recorder,
            outbox=self.scene.outbox(index, self._outbox),
            lazy_updates=self._lazy_updates,
            delays=self._delays,
            fast_forward=scenario.engine.fast_forward and not self.scene.sends_one_by_one(index),
        )
        self.workers.append(worker)

    def _engine(self, capacity: Capacity, *, offloads: bool, kv_role: KvRole | None) -> Engine:
        scenario, offload = self.scenario, self.scenario.offload
        cache = KvCache(capacity.num_blocks, capacity.block_tokens, self._attention_group)
        connector = nixl = None
        if offloads and offload is not None:
            tier = POLICIES[offload.eviction_policy](capacity.host[0].blocks)
            connector = OffloadingConnector(cache, tier, prompt_only=offload.offload_prompt_only)
        if kv_role is not None:
            nixl = NixlConnector(cache, producer=kv_role != "kv_consumer", consumer=kv_role != "kv_producer")
        offload_first = scenario.disaggregation.connector_order[0] == "offload"
        return Engine(
            cache,
            scenario.engine.model_copy(update={"max_model_len": scenario.max_model_len}),
            connector,
            nixl,
            offload_first=offload_first,
            tells_growth=scenario.router.track_output_blocks,
        )

    def run(self, on_progress: Progress | None = None) -> None:
        """Replay the whole trace; what has not ended when nothing can happen any more is unfinished."""
        requests, watch = self._trace.requests, self._watch
        self._on_progress = on_progress
        self.scene.start(
            self.frontend,
            self.migration,
            self.workers,
            self._lazy_updates,
            self.recorder,
            pulls=self.pulls,
            over=lambda: self.recorder.ended == len(requests),
        )
        self.client.start()
        with rare_collections():
            self.clock.run_out(self._lookout)
        if watch is not None:
            watch.stopped()
        self.hangs = self._hangs()
        self.recorder.close(
            self.clock.now_s, requests, {index: hang.waits for index, hang in self.hangs.items()}
        )
        lookups = (worker.engine.scheduler.lookup for worker in self.workers)
        self.recorder.pulls.nothing_left = sum(lookup.nothing_left for lookup in lookups)
        end_s = self.recorder.last_end_s
        self.recorder.links(link_rows(self.workers, self.pulls, self.clock.now_s, end_s))
        if watch is not None:
            watch.closed()

    def _send(self, request: Request) -> None:
        self._submit(request)

    def _ended(self, request: Request) -> None:
        self.client.ended(request)
        if self._on_progress is not None:
            self._on_progress(self.clock.now_s, self.recorder.ended, len(self._trace.requests))

    def _hangs(self) -> dict[int, Hang]:
        """Return why workers that have requests left never end them, by worker."""
        left, hangs = self.recorder.records, dict[int, Hang]()
        for index, worker in enumerate(self.workers):
            if any(request.request_id in left for request in worker.engine.requests):
                hangs[index] = hang_of(worker.engine)
        return hangs
