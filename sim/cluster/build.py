"""Builds the parts of a scenario, joins them, and lets simulated time run. Holds no rule of its own.

Client and front door, front door and workers tell each other things: what comes first is given a list that is
filled later, or a method of the cluster, and nothing is set on a part that is built.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from sim.cluster.balancer import Balancer
from sim.cluster.blueprint import Blueprint, draw
from sim.cluster.clients.client import Client
from sim.cluster.clients.retries import Retries
from sim.cluster.delays import Delays
from sim.cluster.faults.scene import Scene
from sim.cluster.front_door import Listeners, Published
from sim.cluster.frontend import Frontend
from sim.cluster.garbage import rare_collections
from sim.cluster.growth import growth_is_seen
from sim.cluster.hangs import hangs_of
from sim.cluster.kv_transfer import PullListeners, Pulls
from sim.cluster.layout import Layout, Policies, Site, lay_out
from sim.cluster.measuring import Measuring
from sim.cluster.migration import Migration, lease_expired
from sim.cluster.observer import Observer
from sim.cluster.parts import (
    block_bytes,
    make_front_door,
    make_kinds,
    make_lookout,
    make_prompts,
    make_pulls,
    make_recorder,
    make_reports,
    make_returns,
    migration_rules,
)
from sim.cluster.prefill_estimate import prefill_estimate
from sim.cluster.replay import Part, Replay
from sim.cluster.request_state import RequestState
from sim.cluster.stage import Desk
from sim.cluster.tiers import router_tiers
from sim.cluster.transport import Transport
from sim.cluster.true_caches import TrueCaches
from sim.cluster.watcher import MakeWatcher
from sim.cluster.worker import Worker
from sim.cluster.worker_kinds import WorkerKind
from sim.cluster.workforce import Workplace, make_worker
from sim.engine.hang import Hang
from sim.events.clock import Clock
from sim.events.lazy_updates import LazyUpdates
from sim.hardware.capacity import Capacity
from sim.hardware.coefficients import Coefficients
from sim.hardware.step_time import StepTime
from sim.kv.group_spec import GroupSpec, hash_tokens
from sim.kv.prefix import PrefixTable
from sim.links.tier import Tier
from sim.router import Policy
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
        plan = draw(scenario, capacity, times, tiers=tiers, groups=groups, delays=delays)
        self.clock = clock = Clock()
        self.capacity, self.decode_capacity = plan.capacities
        """Of an aggregated or a prefill worker, and of a decode worker."""
        self.scenario, self.tiers = scenario, plan.tiers
        self.hangs: dict[int, Hang] = {}
        """Workers, by index, that never end what they have; known when the run is over."""
        self.workers: list[Worker] = []
        self._trace = trace
        self._on_progress: Progress | None = None
        self.replay = Replay(
            clock, trace, scenario.replay, self._send, self._cut, expect_answers=self._expect_answers
        )
        self.answers = self.replay.answers
        """Which prompts hold the answer to which earlier request; none where all are fresh."""
        self._lazy_updates = LazyUpdates()
        caches = TrueCaches(clock, self._lazy_updates, self.workers)
        self.recorder = make_recorder(plan, self.replay, caches)
        self._watch = watch and watch(self.recorder, self.replay, scenario.workers.ranks, block_bytes(plan))
        observer = self._watch or self.recorder
        self.scene = Scene(clock, scenario.faults, scenario.seed)
        self._prefixes = PrefixTable(trace.chunk_tokens, hash_tokens(plan.groups))
        self.pulls = self._make_pulls(plan, transport) if scenario.workers.prefill else None
        """Transfers between workers; None in an aggregated cluster."""
        self.returns = make_returns(plan, clock, self.workers, self.pulls)
        """KV that flows back to prefill workers; None: none does."""
        self.reports = make_reports(plan, clock, self.workers, self._lazy_updates, observer)
        self._pins: dict[int, int] = {}
        """Workers that warm-up requests are to go to, by index."""
        kinds = make_kinds(plan, self.returns, step_time)
        layout = self._lay_out(plan, kinds, caches, Policies(policy, decode_policy))
        self._prompts = make_prompts(plan, self._prefixes, self.answers)
        self.frontend = self._make_frontend(plan, layout, published)
        self._add_workers(plan, kinds, self.reports or observer)
        self.migration = self._make_migration()
        self._retries = Retries(
            clock,
            scenario.replay,
            scenario.seed,
            again=self.migration.send_again,
            noted=self.recorder.sent_again,
        )
        self._lookout = make_lookout(plan, self.frontend.pools, self.recorder)
        self._measuring = Measuring(
            clock, self.replay, self.recorder, self.workers, tiers=self.tiers, pulls=self.pulls
        )
        self._clients = self.scene.clients(self.frontend, self.migration)
        submit = self._clients.submit
        self._submit = submit if self._watch is None else self._watch.join(self, submit)

    # -- parts ----------------------------------------------------------------------------------------------

    def _make_pulls(self, plan: Blueprint, transport: Transport | None) -> Pulls:
        expired, failed = partial(lease_expired, self.recorder), self.scene.pull_failed
        listeners = PullListeners(self.recorder.pulled, expired, failed)
        if self._watch is not None:
            listeners = PullListeners(self._watch.pulled, expired, failed, self._watch.pull_stopped)
        return make_pulls(plan, self.clock, self.workers, listeners, transport)

    def _lay_out(
        self, plan: Blueprint, kinds: Sequence[WorkerKind], caches: TrueCaches, policies: Policies
    ) -> Layout:
        desk = Desk(
            self.clock,
            self._lazy_updates,
            self.recorder,
            plan.scenario.seed,
            self._watch.booked if self._watch else None,
            self._pins,
            self.reports,
            caches,
        )
        site = Site(
            plan.scenario,
            self._prefixes,
            self.workers,
            desk,
            router_tiers(plan.tiers),
            plan.capacities,
            prefill_estimate(kinds[0]),
        )
        return lay_out(site, policies)

    def _make_frontend(self, plan: Blueprint, layout: Layout, published: Published | None) -> Frontend:
        scenario = plan.scenario
        return Frontend(
            self.clock,
            layout.stages,
            self._prompts,
            self.recorder,
            door=make_front_door(plan),
            delays=plan.delays,
            listeners=Listeners(
                self._ended if self._watch is None else self._watch.ends(self._ended),
                self.scene.unreachable,
                published,
                self._turned_away if scenario.replay.retries else None,
            ),
            bypass=layout.bypass,
            pulls=self.pulls,
            balancer=Balancer(scenario.frontend.replicas, scenario.frontend.load_balancing, scenario.seed),
        )

    def _add_workers(self, plan: Blueprint, kinds: Sequence[WorkerKind], observer: Observer) -> None:
        place = Workplace(
            plan,
            self.clock,
            self._lazy_updates,
            self.scene,
            observer,
            self.frontend if self._watch is None else self._watch.outbox(self.frontend),
            self.returns,
            growth_is_seen(plan.scenario, self._trace, self.answers, plan.times.frontend),
            servers={},
        )
        for kind in kinds:
            for _ in range(kind.ranks):
                self.workers.append(make_worker(place, len(self.workers), kind))

    def _make_migration(self) -> Migration:
        return Migration(
            self.clock,
            self.frontend,
            self._prefixes,
            self.recorder,
            migration_rules(self.scenario),
            pulls=self.pulls,
            retried=self._watch.retried if self._watch else None,
        )

    # -- the run --------------------------------------------------------------------------------------------

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
        watch = self._watch
        self._on_progress = on_progress
        self.replay.start(self._begin)
        with rare_collections():
            self.clock.run_out(self._lookout)
        if watch is not None:
            watch.stopped()
        self.hangs = hangs_of(self.workers, self.recorder.records)
        self._measuring.end({index: hang.waits for index, hang in self.hangs.items()})
        if watch is not None:
            watch.closed()

    def _begin(self, part: Part) -> None:
        """A part of the replay begins; what is counted begins with the measured one, and so do faults."""
        if part.spread:
            ranks = self.scenario.workers.first.ranks
            self._pins.update((index, place % ranks) for place, index in enumerate(part.indices))
        self._clients.timeout_s = part.settings.timeout_s
        if part is self.replay.measured:
            self.scene.start(
                self.frontend,
                self.migration,
                self.workers,
                self._lazy_updates,
                self.recorder,
                pulls=self.pulls,
                over=lambda: self._measuring.is_over,
            )
            self._measuring.begin()

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
