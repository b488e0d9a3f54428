"""The stages that a scenario's cluster has: one, or prefill and decode with a way past the first."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sim.cluster.bypass import Bypass
from sim.cluster.engine_request import prompt_only, whole
from sim.cluster.event_way import EventWay
from sim.cluster.gate import Gate
from sim.cluster.pool import Pool, PoolWorker
from sim.cluster.refused import BUSY, BUSY_503
from sim.cluster.replica_sync import ReplicaSync, Sender
from sim.cluster.router_line import RouterLine
from sim.cluster.stage import Desk, Stage
from sim.cluster.worker_kinds import Capacities
from sim.hardware.capacity import Capacity
from sim.kv.events import Tier
from sim.kv.prefix import PrefixTable
from sim.router import Policy, PrefillEstimate, Router
from sim.router.affinity import Affinity
from sim.router.busy import Limits
from sim.router.policies import POLICIES, Surroundings
from sim.router.pools import StageRouting, conditional_decode_stage, decode_stage, prefill_stage
from sim.router.queue.arbiter import cursor_rule
from sim.router.queue.classes import queue_classes
from sim.router.queue.queue import RouterQueue
from sim.router.synced import SyncedRouter
from sim.scenario.scenario import Scenario


class Layout(NamedTuple):
    """The stages of a cluster, in the order in which they serve a request."""

    stages: Sequence[Stage]
    bypass: Bypass | None = None
    """Who may skip the first."""


class Policies(NamedTuple):
    """Routing policies in place of those that the scenario names, by stage; all front ends ask the same."""

    first: Policy | None = None
    decode: Policy | None = None


class Site(NamedTuple):
    """What all stages of a cluster are built from."""

    scenario: Scenario
    prefixes: PrefixTable
    workers: Sequence[PoolWorker]
    """By index; they may be built later."""
    desk: Desk
    router_tiers: Mapping[str, Tier]
    """What routers take which tier of a worker for."""
    capacities: Capacities
    """How many blocks each kind of worker has."""
    prefill_s: PrefillEstimate
    """How long a prompt should take, as routers see it."""


def lay_out(site: Site, policies: Policies) -> Layout:
    """Return the stages of a scenario's cluster."""
    scenario = site.scenario
    if scenario.workers.prefill:
        return _disaggregated(site, policies)
    routing = StageRouting(scenario.router, scenario.router.overrides, "decode")
    pool = _pool(site, "aggregated", routing, range(scenario.workers.ranks), policies.first)
    ask, lines = partial(whole, site.prefixes), _lines(site, pool, 0)
    return Layout([Stage("aggregated", pool, ask, site.desk, overrides=routing.overrides, lines=lines)])


def _disaggregated(site: Site, policies: Policies) -> Layout:
    scenario, desk = site.scenario, site.desk
    conditional, count = scenario.disaggregation.conditional, scenario.workers.first.ranks
    to_prefill = prefill_stage(scenario.router)
    to_decode = (conditional_decode_stage if conditional else decode_stage)(scenario.router)
    first, then = range(count), range(count, scenario.workers.ranks)
    prefill_pool = _pool(site, "prefill", to_prefill, first, policies.first)
    decode_pool = _pool(site, "decode", to_decode, then, policies.decode)
    lines, decode_lines = _lines(site, prefill_pool, 0), _lines(site, decode_pool, 1)
    ask, own = partial(whole, site.prefixes), scenario.router.overrides
    ask_prompt = partial(prompt_only, site.prefixes, bool(scenario.model.state_groups))
    prefill = Stage("prefill", prefill_pool, ask_prompt, desk, overrides=to_prefill.overrides, lines=lines)
    decode = Stage(
        "decode",
        decode_pool,
        ask,
        desk,
        too_long="prompt_exceeds_decode_pool",
        overrides=to_decode.overrides,
        decode=True,
        lines=decode_lines,
    )
    bypass = Bypass(
        prefill,
        Stage("peek", decode_pool, ask, desk, overrides=own, decode=True),
        Stage("aggregated", decode_pool, ask, desk, overrides=own, decode=True, lines=decode_lines),
        None if conditional is None else conditional.beside_queue(scenario.router.queue_threshold),
        block_tokens=scenario.block_tokens,
        max_num_batched_tokens=scenario.engine.max_num_batched_tokens,
    )
    return Layout([prefill, decode], bypass)


def _pool(site: Site, name: str, routing: StageRouting, members: range, policy: Policy | None) -> Pool:
    """Return workers with a router for each front end."""
    scenario, desk = site.scenario, site.desk
    capacity = site.capacities.decode if name == "decode" else site.capacities.first
    front, settings = scenario.frontend, routing.config
    front_ends = range(front.replicas)
    around = _around(site, members, computes=name != "decode")
    gate = _gate(site, members)
    ways = [EventWay(front, name, place, desk.seed) for place in front_ends if front.events_differ]
    if len(front_ends) == 1 or not settings.replica_sync:
        routers = [_router(site, capacity, routing, around, policy) for _ in front_ends]
        return Pool(routers, site.workers, members, site.router_tiers, ways=ways, gate=gate)
    sync = ReplicaSync(desk.clock, name, settings, desk.seed)
    synced = [
        SyncedRouter(
            settings,
            capacity.block_tokens,
            len(members),
            told=Sender(sync, place),
            policy=policy,
            worker_type=routing.worker_type,
            total_kv_blocks=[capacity.num_blocks] * len(members),
            around=around,
            prefill_s=site.prefill_s,
        )
        for place in front_ends
    ]
    pool = Pool(synced, site.workers, members, site.router_tiers, ways=ways, gate=gate)
    for router, replica in zip(synced, pool.replicas, strict=True):
        sync.join(router, replica)
    return pool


def _lines(site: Site, pool: Pool, place: int) -> list[RouterLine]:
    """Return the queue of each of a pool's routers; none: nobody ever waits there."""
    scenario, settings = site.scenario, site.scenario.router
    classes = queue_classes(
        settings, max_num_batched_tokens=scenario.engine.max_num_batched_tokens, model=scenario.model.name
    )
    if classes is None:
        return []
    parallel = scenario.workers.decode_parallel if place else scenario.workers.parallel
    lines = []
    for replica in pool.replicas:
        queue = RouterQueue(
            replica.router,
            classes,
            cursor_rule(settings.version),
            alive=lambda: pool.alive,
            ranks_per_worker=parallel.data,
            overlap_refresh_after_s=settings.overlap_refresh_after_secs,
        )
        scan_s, number = settings.active_request_expiry_secs, 2 * replica.front_end + place
        lines.append(RouterLine(site.desk.clock, queue, replica, scan_s=scan_s, place=number))
    return lines


def _around(site: Site, members: range, *, computes: bool) -> Surroundings:
    """Return what the policy of a pool's routers may look at; `computes`: its workers compute prompts."""
    scenario, reports, caches = site.scenario, site.desk.reports, site.desk.caches
    report = said_s = cached_tokens = None
    if reports is not None and POLICIES[scenario.router.policy].reads_reports:
        report, said_s = reports.of_ranks(members), reports.times_of_ranks(members)
    if caches is not None and computes:
        cached_tokens = caches.of_ranks(members, for_remote=bool(scenario.workers.prefill))
    return Surroundings(len(members), scenario.block_tokens, report, cached_tokens, said_s)


def _gate(site: Site, members: range) -> Gate | None:
    """Return what says where requests of a pool may go, if anything does."""
    router, reports = site.scenario.router, site.desk.reports
    ttl_s = router.session_affinity_ttl_secs
    if ttl_s is None and not router.has_thresholds:
        return None
    reads = router.active_decode_blocks_threshold is not None and reports is not None
    budget = site.scenario.engine.max_num_batched_tokens
    return Gate(
        len(members),
        Affinity(ttl_s) if ttl_s is not None else None,
        soft=router.session_affinity_mode == "soft",
        limits=Limits.of(router, budget) if router.has_thresholds else None,
        report=reports.of_ranks(members) if reads and reports is not None else None,
        busy=BUSY_503 if router.overload_status_code == 503 else BUSY,
    )


def _router(
    site: Site, capacity: Capacity, routing: StageRouting, around: Surroundings, policy: Policy | None
) -> Router:
    return Router(
        routing.config,
        capacity.block_tokens,
        around.ranks,
        policy=policy,
        worker_type=routing.worker_type,
        total_kv_blocks=[capacity.num_blocks] * around.ranks,
        around=around,
        prefill_s=site.prefill_s,
    )
