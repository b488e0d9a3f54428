"""Builds the parts of a scenario, joins them, and lets simulated time run. Holds no rule of its own."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf

import simpy

from sim.checks.watch import Watch, switched_on
from sim.cluster.client import make_client, slots
from sim.cluster.disaggregated import DisaggregatedFrontend
from sim.cluster.faults.links import host_outages, network_outages
from sim.cluster.faults.scene import Scene
from sim.cluster.frontend import FrontDoor, Frontend
from sim.cluster.gpu import Pace
from sim.cluster.kv_transfer import Lease, Pulls
from sim.cluster.lookout import Lookout
from sim.cluster.pool import Pool
from sim.cluster.recorder import Recorder
from sim.cluster.worker import Worker
from sim.engine.connector import OffloadingConnector
from sim.engine.engine import Engine
from sim.engine.hang import Hang, hang_of
from sim.engine.nixl import NixlConnector
from sim.events.agenda import Agenda
from sim.events.clock import run_out
from sim.hardware.capacity import Capacity
from sim.hardware.coefficients import Coefficients
from sim.hardware.mocker_law import Stage
from sim.hardware.step_laws import LawOf, TimedWorker, laws
from sim.hardware.step_time import StepTime
from sim.kv.hybrid import KvCache
from sim.kv.offload import POLICIES
from sim.kv.prefix import PrefixTable
from sim.links.host_link import HostLink
from sim.links.network import Network
from sim.links.placement import place
from sim.links.transfer import Stream
from sim.results.transfers import LinkRow
from sim.router import Policy, Router
from sim.router.pools import Leg, conditional_decode_leg, decode_leg, prefill_leg
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
        pace: Pace | None = None,
        check: bool | None = None,
    ) -> None:
        """Build it. `policy` chooses for the first leg, `decode_policy` for the second of a pair.

        `check`: whether what must always hold is checked while it runs; None: as the environment says.
        """
        self.env = simpy.Environment()
        self.capacity = capacity
        self.scenario = scenario
        self.pulls: Pulls | None = None
        """Transfers between workers; None in an aggregated cluster."""
        self.hangs: dict[int, Hang] = {}
        """Workers, by index, that never end what they have; known when the run is over."""
        self._trace = trace
        self._policies = {"prefill": policy, "decode": decode_policy}
        self._pace = pace
        self._law_of: LawOf = laws(times.origin, times.step) if step_time is None else lambda _: step_time
        self._attention_group = scenario.model.state_groups
        self.recorder = Recorder(
            scenario.workers.gpus,
            self._attention_group,
            capacity.block_tokens,
            scenario.output.tables,
            scenario.output.worker_interval_s,
        )
        self._watch = self._checks() if (switched_on() if check is None else check) else None
        self.workers: list[Worker] = []
        self.scene = Scene(self.env, scenario.faults, scenario.seed)
        self._agenda = Agenda()
        self.frontend = self._disaggregated(times) if scenario.workers.prefill else self._aggregated(times)
        self._lookout = Lookout(
            self.frontend.pools,
            self.recorder.records,
            self.frontend.serving,
            interval_s=scenario.router.active_request_expiry_secs,
            way_s=times.frontend.alpha_out_s,
        )
        send = self.scene.submit(self.frontend, scenario.replay.timeout_s)
        if self._watch is not None:
            send = self._watch.join(self, send)
        self.client = make_client(self.env, trace, scenario.replay, send)
        if self._watch is not None:
            self._watch.client = self.client
        self.recorder.due_s = self.client.due_s

    # -- layouts --------------------------------------------------------------------------------------------

    def _aggregated(self, times: Coefficients) -> Frontend:
        count = self.scenario.workers.count or 0
        router = Router(
            self.scenario.router, self.capacity.block_tokens, count, policy=self._policies["prefill"]
        )
        pool = Pool("aggregated", router)
        frontend = Frontend(self.env, pool, self._prefixes(), self.recorder, self._front_door(times))
        pool.workers = [self._worker(frontend, "aggregated", offloads=True) for _ in range(count)]
        return frontend

    def _disaggregated(self, times: Coefficients) -> DisaggregatedFrontend:
        scenario, joined = self.scenario, self.scenario.disaggregation
        prefill, decode = scenario.workers.prefill or 0, scenario.workers.decode or 0
        placement = place(joined.placement, prefill, decode)
        lease = Lease(joined.lease_s, joined.heartbeat_interval_s, joined.lease_extension_s)
        network = Network(scenario.network(), placement.nodes, network_outages(scenario.faults))
        pulls = Pulls(
            self.env, network, lease, self.capacity.block_bytes, scenario.model.full_attention_layers
        )
        legs = (
            prefill_leg(scenario.router),
            (conditional_decode_leg if joined.conditional else decode_leg)(scenario.router),
        )
        pools = (
            self._pool("prefill", legs[0], prefill, 0),
            self._pool("decode", legs[1], decode, prefill),
        )
        frontend = DisaggregatedFrontend(
            self.env,
            pools[0],
            self._prefixes(),
            self.recorder,
            self._front_door(times),
            decode=pools[1],
            pulls=pulls,
            conditional=joined.conditional,
            max_num_batched_tokens=scenario.engine.max_num_batched_tokens,
            recomputes=joined.kv_load_failure_policy == "recompute",
        )
        pools[0].workers = [
            self._worker(frontend, "prefill", offloads=True, kv_role=joined.prefill_kv_role)
            for _ in range(prefill)
        ]
        pools[1].workers = [
            self._worker(frontend, "decode", kv_role=joined.decode_kv_role, kv_blocks=joined.decode_kv_blocks)
            for _ in range(decode)
        ]
        pulls.workers = self.workers
        pulls.pulled = self.recorder.pulled
        pulls.expired = frontend.expired
        self.pulls = pulls
        return frontend

    def _pool(self, leg: str, routing: Leg, workers: int, first: int) -> Pool:
        router = Router(
            routing.config,
            self.capacity.block_tokens,
            workers,
            policy=self._policies[leg],
            worker_type=routing.worker_type,
        )
        return Pool(leg, router, routing.overrides, first)

    def _checks(self) -> Watch:
        scenario, trace = self.scenario, self._trace
        return Watch(
            self.recorder,
            len(trace.requests),
            slots(trace, scenario.replay),
            scenario.workers.gpus,
            self.capacity.block_bytes,
        )

    # -- parts ----------------------------------------------------------------------------------------------

    def _prefixes(self) -> PrefixTable:
        return PrefixTable(self._trace.chunk_tokens, self.capacity.block_tokens)

    def _front_door(self, times: Coefficients) -> FrontDoor:
        scenario, offload = self.scenario, self.scenario.offload
        return FrontDoor(
            self._agenda,
            times.frontend,
            scenario.frontend,
            scenario.seed,
            scenario.max_model_len,
            self._attention_group,
            host_events=offload is not None and offload.kv_events == "self-describing",
            track_outputs=scenario.router.track_output_blocks,
            migration_limit=scenario.frontend.migration_limit,
            migration_max_tokens=scenario.frontend.migration_max_seq_len or inf,
        )

    def _worker(
        self,
        frontend: Frontend,
        leg: Stage,
        *,
        offloads: bool = False,
        kv_role: KvRole | None = None,
        kv_blocks: int | None = None,
    ) -> Worker:
        scenario, index = self.scenario, len(self.workers)
        kv_blocks = kv_blocks or self.capacity.num_blocks
        make = partial(self._engine, offloads=offloads, kv_role=kv_role, kv_blocks=kv_blocks)
        timed = TimedWorker(
            leg, kv_blocks * self.capacity.block_tokens, scenario.engine.max_num_batched_tokens
        )
        outbox = frontend if self._watch is None else self._watch.outbox(frontend)
        worker = Worker(
            self.env,
            index,
            make(),
            step_time=self.scene.enter(make, self._law_of(timed)),
            link=HostLink(
                scenario.host_link(),
                self.capacity.block_bytes,
                scenario.model.full_attention_layers,
                host_outages(scenario.faults, index),
            ),
            observer=self._watch or self.recorder,
            outbox=self.scene.outbox(index, outbox),
            agenda=self._agenda,
            fast_forward=scenario.engine.fast_forward and not self.scene.sends_one_by_one(index),
            pace=self._pace,
        )
        self.workers.append(worker)
        return worker

    def _engine(self, *, offloads: bool, kv_role: KvRole | None, kv_blocks: int) -> Engine:
        scenario, capacity, offload = self.scenario, self.capacity, self.scenario.offload
        cache = KvCache(kv_blocks, capacity.block_tokens, self._attention_group)
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
        requests = self._trace.requests

        def ended(request: Request) -> None:
            self.client.ended(request)
            if on_progress is not None:
                on_progress(self.env.now, self.recorder.ended, len(requests))

        watch = self._watch
        self.frontend.ended = ended if watch is None else watch.ends(ended)
        self.scene.start(
            self.frontend,
            self.workers,
            self._agenda,
            self.recorder,
            pulls=self.pulls,
            over=lambda: self.recorder.ended == len(requests),
        )
        self.client.start()
        with rare_collections():
            run_out(self.env, self._lookout)
        if watch is not None:
            watch.stopped()
        self.hangs = self._hangs()
        self.recorder.close(self.env.now, requests, {index: hang.waits for index, hang in self.hangs.items()})
        lookups = (worker.engine.scheduler.lookup for worker in self.workers)
        self.recorder.pulls.nothing_left = sum(lookup.nothing_left for lookup in lookups)
        self.recorder.links(self._links(self.recorder.last_end_s))
        if watch is not None:
            watch.closed()

    def _links(self, end_s: float) -> Iterator[LinkRow]:
        """What went over every link."""
        for index, worker in enumerate(self.workers):
            if worker.engine.offload is not None:
                yield _host_row(index, "to_host", worker.link.to_host, end_s)
                yield _host_row(index, "to_gpu", worker.link.to_gpu, end_s)
        if self.pulls is not None:
            for use in self.pulls.network.links(self.env.now):
                yield LinkRow(*use, use.busy_s / end_s if end_s else 0.0)

    def _hangs(self) -> dict[int, Hang]:
        """Return why workers that have requests left never end them, by worker."""
        left, hangs = self.recorder.records, dict[int, Hang]()
        for index, worker in enumerate(self.workers):
            if any(request.request_id in left for request in worker.engine.requests):
                hangs[index] = hang_of(worker.engine)
        return hangs


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python look for circular garbage less often: a run makes many objects and next to no circles."""
    usual = gc.get_threshold()
    gc.set_threshold(100_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _host_row(worker: int, direction: str, stream: Stream, end_s: float) -> LinkRow:
    return LinkRow(
        "pcie",
        worker,
        direction,
        stream.bytes_per_s,
        stream.jobs,
        stream.n_bytes,
        stream.busy_s,
        stream.waited_s,
        stream.utilisation(end_s),
    )
