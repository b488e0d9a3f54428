"""Builds the parts of a scenario, joins them, and lets simulated time run. Holds no rule of its own.

Client and front door, front door and workers tell each other things: what comes first is given a list that is
filled later, or a method of the cluster, and nothing is set on a part that is built.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf

from sim.cluster.balancer import Balancer
from sim.cluster.clients.client import Client
from sim.cluster.clients.retries import Retries
from sim.cluster.delays import Delays, constant_delays
from sim.cluster.engine_loop import EngineLoop, engine_loop
from sim.cluster.faults.scene import Scene
from sim.cluster.front_door import FrontDoor, Listeners, Published
from sim.cluster.frontend import Frontend
from sim.cluster.garbage import rare_collections
from sim.cluster.growth import growth_is_seen
from sim.cluster.hosts import hosts_of
from sim.cluster.kv_transfer import Lease, PullListeners, Pulls
from sim.cluster.layout import Policies, Site, lay_out
from sim.cluster.link_rows import link_rows, rows_since
from sim.cluster.lookout import Lookout
from sim.cluster.migration import Migration, MigrationRules, lease_expired
from sim.cluster.prefill_estimate import prefill_estimate
from sim.cluster.prompts import Prompts
from sim.cluster.recorder import Recorder
from sim.cluster.regrets import Regrets
from sim.cluster.replay import Part, Replay
from sim.cluster.reports import Reports, are_read
from sim.cluster.request_state import RequestState
from sim.cluster.returns import Returns
from sim.cluster.stage import Desk
from sim.cluster.streams import Streams
from sim.cluster.tiers import router_tiers, tiers_of
from sim.cluster.transport import Transport, network_of, pull_shape_of
from sim.cluster.true_caches import TrueCaches
from sim.cluster.watcher import BlockBytes, MakeWatcher
from sim.cluster.worker import Worker
from sim.cluster.worker_kinds import Capacities, WorkerKind, make_engine, worker_kinds
from sim.engine.hang import Hang, hang_of
from sim.events.clock import Clock
from sim.events.lazy_updates import LazyUpdates
from sim.hardware.capacity import Capacity
from sim.hardware.coefficients import Coefficients
from sim.hardware.step_time import StepTime
from sim.kv.group_spec import GroupSpec, full_group, hash_tokens
from sim.kv.prefix import PrefixTable
from sim.links.tier import Tier
from sim.links.tier_links import TierLinks
from sim.results.tags import mark_tags
from sim.results.transfers import LinkRow, PullCounts
from sim.router import Policy
from sim.router.policies import POLICIES
from sim.scenario.scenario import Scenario
from sim.workload.request import Answer, Request, Trace

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
        tiers: Sequence[Tier] | None = None,
        groups: Sequence[GroupSpec] | None = None,
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
            tiers: below GPU memory of every worker that offloads, in the order in which they are asked; None:
                as the scenario says.
            groups: the cache groups of every engine, a block of full attention as large as `capacity` has it;
                None: the model's.
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
        self.tiers = tiers_of(scenario, capacity) if tiers is None else tuple(tiers)
        self.hangs: dict[int, Hang] = {}
        """Workers, by index, that never end what they have; known when the run is over."""
        self.workers: list[Worker] = []
        self._trace = trace
        self._delays = delays or constant_delays(scenario.frontend, times.frontend)
        self._times, self._hosts = times, hosts_of(scenario, times)
        self._groups = tuple(groups or capacity.engine.layout.specs)
        full = full_group(self._groups)
        self._on_progress: Progress | None = None
        self._links_before: Sequence[LinkRow] | None = None
        """What had gone over links when the measured part began, after a warm start."""
        self.replay = Replay(
            self.clock, trace, scenario.replay, self._send, self._cut, expect_answers=self._expect_answers
        )
        self._lazy_updates = LazyUpdates()
        caches = TrueCaches(self.clock, self._lazy_updates, self.workers)
        self.recorder = Recorder(
            scenario.workers.ranks,
            len(self._groups) - 1 if full is None else full,
            capacity.block_tokens,
            scenario.output.tables,
            scenario.output.worker_interval_s,
            sparse=any(group.kind != "full" for group in self._groups),
            tiers=[tier.name for tier in self.tiers],
            due_s=self.replay.due_s,
            left_out=self.replay.left_out.phases,
            router_queue=scenario.router.has_queue,
            front_ends=scenario.frontend.replicas,
            regrets=Regrets(caches, capacity.block_tokens) if scenario.output.regret else None,
            streams=None if self._hosts is None else Streams(self._hosts),
        )
        self._watch = watcher = watch and watch(
            self.recorder,
            self.replay,
            scenario.workers.ranks,
            BlockBytes(capacity.host_block_bytes, pull_shape_of(scenario, self.decode_capacity).n_bytes),
        )
        self.scene = Scene(self.clock, scenario.faults, scenario.seed)
        self._prefixes = PrefixTable(trace.chunk_tokens, hash_tokens(self._groups))
        self.answers = self.replay.answers
        """Which prompts hold the answer to which earlier request; none where all are fresh."""
        self._tells_growth = growth_is_seen(scenario, trace, self.answers, times.frontend)
        self.pulls = self._transfers(transport) if scenario.workers.prefill else None
        """Transfers between workers; None in an aggregated cluster."""
        self._pins: dict[int, int] = {}
        """Workers that warm-up requests are to go to, by index."""
        self.returns = self._returns()
        """KV that flows back to prefill workers; None: none does."""
        self.reports = self._make_reports()
        desk = Desk(
            self.clock,
            self._lazy_updates,
            self.recorder,
            scenario.seed,
            watcher.booked if watcher else None,
            self._pins,
            self.reports,
            caches,
        )
        capacities = Capacities(capacity, self.decode_capacity)
        kinds = worker_kinds(
            scenario,
            capacities,
            times,
            self._groups,
            self.tiers if self.returns is None else (*self.tiers, self.returns.tier()),
            decode_tiers=() if self.returns is None else tiers_of(scenario, self.decode_capacity),
            step_time=step_time,
        )
        site = Site(
            scenario,
            self._prefixes,
            self.workers,
            desk,
            router_tiers(self.tiers),
            capacities,
            prefill_estimate(kinds[0]),
        )
        stages, bypass = lay_out(site, Policies(policy, decode_policy))
        ended = self._ended if watcher is None else watcher.ends(self._ended)
        self._prompts = self._make_prompts()
        self.frontend = Frontend(
            self.clock,
            stages,
            self._prompts,
            self.recorder,
            door=self._front_door(times),
            delays=self._delays,
            listeners=Listeners(
                ended,
                self.scene.unreachable,
                published,
                self._turned_away if scenario.replay.retries else None,
            ),
            bypass=bypass,
            pulls=self.pulls,
            balancer=Balancer(scenario.frontend.replicas, scenario.frontend.load_balancing, scenario.seed),
        )
        self._outbox = self.frontend if watcher is None else watcher.outbox(self.frontend)
        for kind in kinds:
            for _ in range(kind.ranks):
                self._add_worker(kind)
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
        self._retries = Retries(
            self.clock,
            scenario.replay,
            scenario.seed,
            again=self.migration.send_again,
            noted=self.recorder.sent_again,
        )
        self._lookout = Lookout(
            self.frontend.pools,
            self.recorder.records,
            interval_s=scenario.router.active_request_expiry_secs,
            way_s=times.frontend.alpha_out_s,
        )
        self._clients = self.scene.clients(self.frontend, self.migration)
        submit = self._clients.submit
        self._submit = submit if watcher is None else watcher.join(self, submit)

    # -- parts ----------------------------------------------------------------------------------------------

    def _transfers(self, transport: Transport | None) -> Pulls:
        scenario, joined, watch = self.scenario, self.scenario.disaggregation, self._watch
        if transport is None:
            transport = network_of(scenario)
        shape = pull_shape_of(scenario, self.decode_capacity)
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
            post_s_per_descriptor=self._times.hosts.post_s_per_descriptor,
            workers=self.workers,
            listeners=listeners,
        )

    def _make_reports(self) -> Reports | None:
        """Return what workers say of themselves, if anybody reads it."""
        router = self.scenario.router
        if not are_read(router):
            return None
        return Reports(
            self.clock,
            self.workers,
            self._lazy_updates,
            interval_s=router.report_interval_s or POLICIES[router.policy].report_interval_s,
            delay_s=router.report_delay_s,
            observer=self._watch or self.recorder,
        )

    def _make_prompts(self) -> Prompts:
        scale = self.capacity.block_tokens // hash_tokens(self._groups)
        return Prompts(self._prefixes, self.answers, scale)

    def _returns(self) -> Returns | None:
        scenario, capacity = self.scenario, self.decode_capacity
        if self.pulls is None or scenario.disaggregation.return_kv is None:
            return None
        return Returns(
            self.clock,
            self.pulls.wires,
            self.workers,
            scenario.workers.first.ranks,
            block_bytes=capacity.host_block_bytes,
            block_tokens=capacity.block_tokens,
            attention_group=full_group(self._groups),
        )

    def _front_door(self, times: Coefficients) -> FrontDoor:
        scenario = self.scenario
        return FrontDoor(
            times.frontend,
            scenario.max_model_len,
            full_group(self._groups),
            track_outputs=scenario.router.hears_growth,
            hosts=self._hosts,
        )

    def _add_worker(self, kind: WorkerKind) -> None:
        scenario, index, tiers = self.scenario, len(self.workers), kind.tiers
        make = partial(make_engine, scenario, kind, tells_growth=self._tells_growth)
        worker = Worker(
            self.clock,
            index,
            make(),
            step_time=self.scene.enter(make, kind.step_time),
            links=TierLinks(
                tiers,
                kind.capacity.host_block_bytes,
                {tier.link: self.scene.outages(index, tier.link) for tier in tiers},
                self.returns.fetch(index) if self.returns is not None else lambda _: None,
            ),
            observer=self.reports or self._watch or self.recorder,
            outbox=self.scene.outbox(index, self._outbox),
            lazy_updates=self._lazy_updates,
            delays=self._delays,
            fast_forward=scenario.engine.fast_forward and not self._sends_one_by_one(index),
            loop=self._engine_loop(),
        )
        self.workers.append(worker)

    def _engine_loop(self) -> EngineLoop | None:
        pieces = 0
        if self.pulls is not None:
            pieces = pull_shape_of(self.scenario, self.decode_capacity).pieces
        return engine_loop(self._times.hosts, pieces)

    def _sends_one_by_one(self, worker: int) -> bool:
        """Whether KV events of each output of a worker have a fate of their own, so that none is skipped."""
        return self.scenario.frontend.events_differ or self.scene.sends_one_by_one(worker)

    @property
    def client(self) -> Client:
        """Of the part of the replay that is being played."""
        return self.replay.client

    @property
    def can_break(self) -> bool:
        """Whether requests may have failed, or been given up by their clients."""
        return self.scenario.can_break or self._clients.gave_up

    def run(self, on_progress: Progress | None = None) -> None:
        """Replay the whole trace; what has not ended when nothing can happen any more is unfinished."""
        watch, replay = self._watch, self.replay
        self._on_progress = on_progress
        replay.start(self._begin)
        with rare_collections():
            self.clock.run_out(self._lookout)
        if watch is not None:
            watch.stopped()
        self.hangs = self._hangs()
        hangs = {index: hang.waits for index, hang in self.hangs.items()}
        self.recorder.close(self.clock.now_s, replay.unsent, hangs)
        requests = self.recorder.rows.tables["requests"]
        if (tags := replay.tags(requests.values("index").values.tolist())) is not None:
            mark_tags(requests, tags)
        lookups = (worker.engine.scheduler.lookup for worker in self.workers)
        self.recorder.pulls.nothing_left = sum(lookup.nothing_left for lookup in lookups)
        self.recorder.links(self._link_rows())
        if watch is not None:
            watch.closed()

    def _begin(self, part: Part) -> None:
        """A part of the replay begins; what is counted begins with the measured one."""
        if part.spread:
            ranks = self.scenario.workers.first.ranks
            self._pins.update((index, place % ranks) for place, index in enumerate(part.indices))
        self._clients.timeout_s = part.settings.timeout_s
        if part is self.replay.measured:
            self._begin_measuring()

    def _begin_measuring(self) -> None:
        replay, recorder = self.replay, self.recorder
        self.scene.start(
            self.frontend,
            self.migration,
            self.workers,
            self._lazy_updates,
            recorder,
            pulls=self.pulls,
            over=lambda: recorder.ended == replay.total,
        )
        if replay.warm:
            now_s = self.clock.now_s
            self._links_before = [*link_rows(self.workers, self.tiers, self.pulls, now_s, now_s)]
            recorder.pulls = PullCounts()
            for worker in self.workers:
                worker.engine.count_anew()
        if replay.looks_only:
            recorder.look_only(*replay.levels_window(self.clock.now_s))

    def _link_rows(self) -> Iterable[LinkRow]:
        """Return what went over each link since the measured part began."""
        end_s = self.recorder.last_end_s
        rows = link_rows(self.workers, self.tiers, self.pulls, self.clock.now_s, end_s)
        if self._links_before is None:
            return rows
        return rows_since(rows, self._links_before, self.replay.left_out.begun_s, end_s)

    def _send(self, request: Request) -> None:
        if self.replay.leaves_out:
            self.replay.left_out.sent(request.index, self.clock.now_s)
        self._submit(request)

    def _expect_answers(self, answers: Mapping[int, Answer]) -> None:
        self._prompts.expect(answers)

    def _cut(self, index: int) -> None:
        self._clients.cut(index)

    def _ended(self, request: Request) -> None:
        self.replay.ended(request)
        if self._on_progress is not None:
            self._on_progress(self.clock.now_s, self.recorder.ended, self.replay.total)

    def _turned_away(self, record: RequestState) -> bool:
        return self._retries.turned_away(record)

    def _hangs(self) -> dict[int, Hang]:
        """Return why workers that have requests left never end them, by worker."""
        left, hangs = self.recorder.records, dict[int, Hang]()
        for index, worker in enumerate(self.workers):
            if any(request.request_id in left for request in worker.engine.requests):
                hangs[index] = hang_of(worker.engine)
        return hangs
