"""The stages that a scenario's cluster has: one, or prefill and decode with a way past the first."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sim.cluster.bypass import Bypass
from sim.cluster.engine_request import prompt_only, whole
from sim.cluster.pool import Pool, PoolWorker
from sim.cluster.router_line import RouterLine
from sim.cluster.stage import Desk, Stage
from sim.cluster.worker_kinds import Capacities
from sim.hardware.capacity import Capacity
from sim.kv.events import Tier
from sim.kv.prefix import PrefixTable
from sim.router import Policy, Router
from sim.router.pools import StageRouting, conditional_decode_stage, decode_stage, prefill_stage
from sim.router.queue.arbiter import cursor_rule
from sim.router.queue.classes import queue_classes
from sim.router.queue.queue import RouterQueue
from sim.scenario.scenario import Scenario


class Layout(NamedTuple):
    """The stages of a cluster, in the order in which they serve a request."""

    stages: Sequence[Stage]
    bypass: Bypass | None = None
    """Who may skip the first."""


class Policies(NamedTuple):
    """Routing policies in place of those that the scenario names, by stage."""

    first: Policy | None = None
    decode: Policy | None = None


def lay_out(
    scenario: Scenario,
    prefixes: PrefixTable,
    workers: Sequence[PoolWorker],
    policies: Policies,
    desk: Desk,
    *,
    router_tiers: Mapping[str, Tier],
    capacities: Capacities,
) -> Layout:
    """Return the stages of a scenario's cluster; `workers`, by index, may be built later.

    `router_tiers` says what routers take which tier of a worker for, `capacities` how many blocks each has.
    """
    if scenario.workers.prefill:
        return _disaggregated(
            scenario, prefixes, workers, policies, desk, router_tiers=router_tiers, capacities=capacities
        )
    routing = StageRouting(scenario.router, scenario.router.overrides, "decode")
    members = range(scenario.workers.ranks)
    router = _router(routing, capacities.first, members, policies.first)
    pool = Pool(router, workers, members, router_tiers)
    ask, line = partial(whole, prefixes), _line(scenario, pool, desk, 0)
    return Layout([Stage("aggregated", pool, ask, desk, overrides=routing.overrides, line=line)])


def _disaggregated(
    scenario: Scenario,
    prefixes: PrefixTable,
    workers: Sequence[PoolWorker],
    policies: Policies,
    desk: Desk,
    *,
    router_tiers: Mapping[str, Tier],
    capacities: Capacities,
) -> Layout:
    conditional, count = scenario.disaggregation.conditional, scenario.workers.first.ranks
    to_prefill = prefill_stage(scenario.router)
    to_decode = (conditional_decode_stage if conditional else decode_stage)(scenario.router)
    first, then = range(count), range(count, scenario.workers.ranks)
    prefill_router = _router(to_prefill, capacities.first, first, policies.first)
    decode_router = _router(to_decode, capacities.decode, then, policies.decode)
    prefill_pool = Pool(prefill_router, workers, first, router_tiers)
    decode_pool = Pool(decode_router, workers, then, router_tiers)
    prefill_line, decode_line = _line(scenario, prefill_pool, desk, 0), _line(scenario, decode_pool, desk, 1)
    ask = partial(whole, prefixes)
    ask_prompt = partial(prompt_only, prefixes, bool(scenario.model.state_groups))
    prefill = Stage(
        "prefill", prefill_pool, ask_prompt, desk, overrides=to_prefill.overrides, line=prefill_line
    )
    decode = Stage(
        "decode",
        decode_pool,
        ask,
        desk,
        too_long="prompt_exceeds_decode_pool",
        overrides=to_decode.overrides,
        decode=True,
        line=decode_line,
    )
    bypass = Bypass(
        prefill,
        Stage("peek", decode_pool, ask, desk, overrides=scenario.router.overrides, decode=True),
        Stage(
            "aggregated",
            decode_pool,
            ask,
            desk,
            overrides=scenario.router.overrides,
            decode=True,
            line=decode_line,
        ),
        None if conditional is None else conditional.beside_queue(scenario.router.queue_threshold),
        block_tokens=scenario.block_tokens,
        max_num_batched_tokens=scenario.engine.max_num_batched_tokens,
    )
    return Layout([prefill, decode], bypass)


def _line(scenario: Scenario, pool: Pool, desk: Desk, place: int) -> RouterLine | None:
    """Return the queue of a pool's router; None: nobody ever waits there."""
    settings, workers = scenario.router, scenario.workers
    classes = queue_classes(
        settings, max_num_batched_tokens=scenario.engine.max_num_batched_tokens, model=scenario.model.name
    )
    if classes is None:
        return None
    parallel = workers.decode_parallel if place else workers.parallel
    queue = RouterQueue(
        pool.router,
        classes,
        cursor_rule(settings.version),
        alive=lambda: pool.alive,
        ranks_per_worker=parallel.data,
        overlap_refresh_after_s=settings.overlap_refresh_after_secs,
    )
    return RouterLine(desk.clock, queue, pool, scan_s=settings.active_request_expiry_secs, place=place)


def _router(routing: StageRouting, capacity: Capacity, members: range, policy: Policy | None) -> Router:
    return Router(
        routing.config,
        capacity.block_tokens,
        len(members),
        policy=policy,
        worker_type=routing.worker_type,
        total_kv_blocks=[capacity.num_blocks] * len(members),
    )
