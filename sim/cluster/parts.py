"""How the parts of a cluster are made: each from its blueprint and from the parts that it needs."""

from collections.abc import Mapping, Sequence
from math import inf

from sim.cluster.blueprint import Blueprint
from sim.cluster.front_door import FrontDoor
from sim.cluster.kv_transfer import Lease, PullListeners, Pulls
from sim.cluster.lookout import Lookout
from sim.cluster.migration import MigrationRules
from sim.cluster.observer import Observer
from sim.cluster.pool import Pool
from sim.cluster.prompts import Prompts
from sim.cluster.recorder import Recorder
from sim.cluster.regrets import Regrets
from sim.cluster.replay import Replay
from sim.cluster.reports import Reports, are_read
from sim.cluster.returns import Returns
from sim.cluster.streams import Streams
from sim.cluster.tiers import tiers_of
from sim.cluster.transport import Transport, network_of
from sim.cluster.true_caches import TrueCaches
from sim.cluster.watcher import BlockBytes
from sim.cluster.worker import Worker
from sim.cluster.worker_kinds import WorkerKind, worker_kinds
from sim.events.clock import Clock
from sim.events.lazy_updates import LazyUpdates
from sim.hardware.step_time import StepTime
from sim.kv.group_spec import hash_tokens
from sim.kv.prefix import PrefixTable
from sim.router.policies import POLICIES
from sim.scenario.scenario import Scenario
from sim.workload.request import Answer


def make_recorder(plan: Blueprint, replay: Replay, caches: TrueCaches) -> Recorder:
    """Return who writes down what happens."""
    scenario, full, block_tokens = plan.scenario, plan.attention_group, plan.capacities.first.block_tokens
    return Recorder(
        scenario.workers.ranks,
        len(plan.groups) - 1 if full is None else full,
        block_tokens,
        scenario.output.tables,
        scenario.output.worker_interval_s,
        sparse=any(group.kind != "full" for group in plan.groups),
        tiers=[tier.name for tier in plan.tiers],
        due_s=replay.due_s,
        left_out=replay.left_out.phases,
        router_queue=scenario.router.has_queue,
        front_ends=scenario.frontend.replicas,
        regrets=Regrets(caches, block_tokens) if scenario.output.regret else None,
        streams=None if plan.hosts is None else Streams(plan.hosts),
    )


def block_bytes(plan: Blueprint) -> BlockBytes:
    """Return what a block takes, for who watches."""
    return BlockBytes(plan.capacities.first.host_block_bytes, plan.pull_shape.n_bytes)


def make_pulls(
    plan: Blueprint,
    clock: Clock,
    workers: Sequence[Worker],
    listeners: PullListeners,
    transport: Transport | None,
) -> Pulls:
    """Return the transfers between workers; over the scenario's network unless another is given."""
    joined, shape = plan.scenario.disaggregation, plan.pull_shape
    return Pulls(
        clock,
        network_of(plan.scenario) if transport is None else transport,
        Lease(joined.lease_s, joined.heartbeat_interval_s, joined.lease_extension_s),
        block_bytes=shape.n_bytes,
        pieces_per_block=shape.pieces,
        post_s_per_descriptor=plan.times.hosts.post_s_per_descriptor,
        workers=workers,
        listeners=listeners,
    )


def make_returns(
    plan: Blueprint, clock: Clock, workers: Sequence[Worker], pulls: Pulls | None
) -> Returns | None:
    """Return what reads KV back to prefill workers, if any flows back."""
    scenario, capacity = plan.scenario, plan.capacities.decode
    if pulls is None or scenario.disaggregation.return_kv is None:
        return None
    return Returns(
        clock,
        pulls.wires,
        workers,
        scenario.workers.first.ranks,
        block_bytes=capacity.host_block_bytes,
        block_tokens=capacity.block_tokens,
        attention_group=plan.attention_group,
    )


def make_reports(
    plan: Blueprint, clock: Clock, workers: Sequence[Worker], lazy_updates: LazyUpdates, observer: Observer
) -> Reports | None:
    """Return what workers say of themselves, if anybody reads it."""
    router = plan.scenario.router
    if not are_read(router):
        return None
    return Reports(
        clock,
        workers,
        lazy_updates,
        interval_s=router.report_interval_s or POLICIES[router.policy].report_interval_s,
        delay_s=router.report_delay_s,
        observer=observer,
    )


def make_kinds(plan: Blueprint, returns: Returns | None, step_time: StepTime | None) -> list[WorkerKind]:
    """Return the kinds of workers; `step_time`, if given, is the law of all."""
    return worker_kinds(
        plan.scenario,
        plan.capacities,
        plan.times,
        plan.groups,
        plan.tiers if returns is None else (*plan.tiers, returns.tier()),
        decode_tiers=() if returns is None else tiers_of(plan.scenario, plan.capacities.decode),
        step_time=step_time,
    )


def make_prompts(plan: Blueprint, prefixes: PrefixTable, answers: Mapping[int, Answer]) -> Prompts:
    """Return what names the blocks of prompts."""
    return Prompts(prefixes, answers, plan.capacities.first.block_tokens // hash_tokens(plan.groups))


def make_front_door(plan: Blueprint) -> FrontDoor:
    """Return what the scenario says of the front door."""
    scenario = plan.scenario
    return FrontDoor(
        plan.times.frontend,
        scenario.max_model_len,
        plan.attention_group,
        track_outputs=scenario.router.hears_growth,
        hosts=plan.hosts,
    )


def make_lookout(plan: Blueprint, pools: Sequence[Pool], recorder: Recorder) -> Lookout:
    """Return what tells routers, before each scan of their bookings, whose answers went on."""
    return Lookout(
        pools,
        recorder.records,
        interval_s=plan.scenario.router.active_request_expiry_secs,
        way_s=plan.times.frontend.alpha_out_s,
    )


def migration_rules(scenario: Scenario) -> MigrationRules:
    """Return when requests that were lost are tried again."""
    return MigrationRules(
        scenario.frontend.migration_limit,
        scenario.frontend.migration_max_seq_len or inf,
        scenario.disaggregation.kv_load_failure_policy == "recompute",
    )
