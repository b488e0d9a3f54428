"""The stages that a scenario's cluster has: one, or prefill and decode with a way past the first."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sim.cluster.bypass import Bypass
from sim.cluster.engine_request import prompt_only, whole
from sim.cluster.pool import Pool, PoolWorker
from sim.cluster.stage import Desk, Stage
from sim.kv.events import Tier
from sim.kv.prefix import PrefixTable
from sim.router import Policy, Router
from sim.router.policies import POLICIES, Surroundings
from sim.router.pools import StageRouting, conditional_decode_stage, decode_stage, prefill_stage
from sim.router.query import NO_OVERRIDES
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
) -> Layout:
    """Return the stages of a scenario's cluster; `workers`, by index, may be built later.

    `router_tiers` says what routers take which tier of a worker for.
    """
    if scenario.workers.prefill:
        return _disaggregated(scenario, prefixes, workers, policies, desk, router_tiers=router_tiers)
    routing = StageRouting(scenario.router, NO_OVERRIDES, "decode")
    members = range(scenario.workers.ranks)
    around = _around(scenario, members, desk)
    pool = Pool(_router(routing, around, policies.first), workers, members, router_tiers)
    return Layout([Stage("aggregated", pool, partial(whole, prefixes), desk)])


def _disaggregated(
    scenario: Scenario,
    prefixes: PrefixTable,
    workers: Sequence[PoolWorker],
    policies: Policies,
    desk: Desk,
    *,
    router_tiers: Mapping[str, Tier],
) -> Layout:
    conditional, count = scenario.disaggregation.conditional, scenario.workers.first.ranks
    to_prefill = prefill_stage(scenario.router)
    to_decode = (conditional_decode_stage if conditional else decode_stage)(scenario.router)
    first, then = range(count), range(count, scenario.workers.ranks)
    prefill_pool = Pool(
        _router(to_prefill, _around(scenario, first, desk), policies.first), workers, first, router_tiers
    )
    decode_pool = Pool(
        _router(to_decode, _around(scenario, then, desk, computes=False), policies.decode),
        workers,
        then,
        router_tiers,
    )
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
        Stage("peek", decode_pool, ask, desk, decode=True),
        Stage("aggregated", decode_pool, ask, desk, decode=True),
        conditional,
        block_tokens=scenario.block_tokens,
        max_num_batched_tokens=scenario.engine.max_num_batched_tokens,
    )
    return Layout([prefill, decode], bypass)


def _around(scenario: Scenario, members: range, desk: Desk, *, computes: bool = True) -> Surroundings:
    """Return what the policy of a pool's router may look at; `computes`: its workers compute prompts."""
    report = said_s = cached_tokens = None
    if desk.reports is not None and POLICIES[scenario.router.policy].reads_reports:
        report, said_s = desk.reports.of_ranks(members), desk.reports.times_of_ranks(members)
    if desk.caches is not None and computes:
        cached_tokens = desk.caches.of_ranks(members, for_remote=bool(scenario.workers.prefill))
    return Surroundings(len(members), scenario.block_tokens, report, cached_tokens, said_s)


def _router(routing: StageRouting, around: Surroundings, policy: Policy | None) -> Router:
    return Router(
        routing.config,
        around.block_tokens,
        around.ranks,
        policy=policy,
        worker_type=routing.worker_type,
        around=around,
    )
