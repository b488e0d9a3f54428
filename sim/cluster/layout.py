"""The stages that a scenario's cluster has: one, or prefill and decode with a way past the first."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sim.cluster.bypass import Bypass
from sim.cluster.engine_request import prompt_only, whole
from sim.cluster.gate import Gate
from sim.cluster.pool import Pool, PoolWorker
from sim.cluster.refused import BUSY, BUSY_503
from sim.cluster.stage import Desk, Stage
from sim.cluster.worker_kinds import Capacities
from sim.hardware.capacity import Capacity
from sim.kv.events import Tier
from sim.kv.prefix import PrefixTable
from sim.router import Policy, Router
from sim.router.affinity import Affinity
from sim.router.busy import Limits
from sim.router.policies import POLICIES, Surroundings
from sim.router.pools import StageRouting, conditional_decode_stage, decode_stage, prefill_stage
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
    router = _router(
        routing, capacities.first, _around(routing, capacities.first, members, desk), policies.first
    )
    pool = Pool(router, workers, members, router_tiers, _gate(scenario, members, desk))
    ask = partial(whole, prefixes)
    return Layout([Stage("aggregated", pool, ask, desk, overrides=routing.overrides)])


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
    prefill_router = _router(
        to_prefill, capacities.first, _around(to_prefill, capacities.first, first, desk), policies.first
    )
    decode_router = _router(
        to_decode, capacities.decode, _around(to_decode, capacities.decode, then, desk), policies.decode
    )
    prefill_pool = Pool(prefill_router, workers, first, router_tiers, _gate(scenario, first, desk))
    decode_pool = Pool(decode_router, workers, then, router_tiers, _gate(scenario, then, desk))
    ask = partial(whole, prefixes)
    ask_prompt = partial(prompt_only, prefixes, bool(scenario.model.state_groups))
    prefill = Stage("prefill", prefill_pool, ask_prompt, desk, overrides=to_prefill.overrides)
    decode = Stage(
        "decode",
        decode_pool,
        ask,
        desk,
        too_long="prompt_exceeds_decode_pool",
        overrides=to_decode.overrides,
        decode=True,
    )
    bypass = Bypass(
        prefill,
        Stage("peek", decode_pool, ask, desk, overrides=scenario.router.overrides, decode=True),
        Stage("aggregated", decode_pool, ask, desk, overrides=scenario.router.overrides, decode=True),
        conditional,
        block_tokens=scenario.block_tokens,
        max_num_batched_tokens=scenario.engine.max_num_batched_tokens,
    )
    return Layout([prefill, decode], bypass)


def _around(routing: StageRouting, capacity: Capacity, members: range, desk: Desk) -> Surroundings:
    """Return what the policy of a pool's router may look at."""
    report = None
    if desk.reports is not None and POLICIES[routing.config.policy].reads_reports:
        report = desk.reports.of_ranks(members)
    return Surroundings(len(members), capacity.block_tokens, report)


def _gate(scenario: Scenario, members: range, desk: Desk) -> Gate | None:
    """Return what says where requests of a pool may go, if anything does."""
    router, reports = scenario.router, desk.reports
    ttl_s = router.session_affinity_ttl_secs
    if ttl_s is None and not router.has_thresholds:
        return None
    reads = router.active_decode_blocks_threshold is not None and reports is not None
    return Gate(
        len(members),
        Affinity(ttl_s) if ttl_s is not None else None,
        soft=router.session_affinity_mode == "soft",
        limits=Limits.of(router, scenario.engine.max_num_batched_tokens) if router.has_thresholds else None,
        report=reports.of_ranks(members) if reads and reports is not None else None,
        busy=BUSY if router.overload_status_code == 529 else BUSY_503,
    )


def _router(routing: StageRouting, capacity: Capacity, around: Surroundings, policy: Policy | None) -> Router:
    return Router(
        routing.config,
        capacity.block_tokens,
        around.ranks,
        policy=policy,
        worker_type=routing.worker_type,
        around=around,
        total_kv_blocks=[capacity.num_blocks] * around.ranks,
    )
