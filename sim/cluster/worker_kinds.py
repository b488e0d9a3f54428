"""The kinds of workers that a scenario has, aggregated or prefill and decode, and their engines."""

from collections.abc import Sequence
from typing import NamedTuple

from sim.cluster.tiers import made
from sim.engine.connector import OffloadingConnector
from sim.engine.engine import Engine
from sim.engine.nixl import NixlConnector
from sim.engine.rules.sync_loads import SyncLoads
from sim.engine.speculation import draft_rules, speculation_of
from sim.hardware.capacity import Capacity
from sim.hardware.coefficients import Coefficients
from sim.hardware.mocker_law import Stage
from sim.hardware.step_laws import TimedWorker, laws
from sim.hardware.step_time import StepTime
from sim.kv.group_spec import GroupSpec
from sim.kv.hybrid import KvCache
from sim.links.tier import Tier
from sim.scenario.scenario import Scenario
from sim.scenario.sections import KvRole


class WorkerKind(NamedTuple):
    """Workers that are alike: data-parallel ranks, each with a scheduler and a KV pool of its own."""

    stage: Stage
    ranks: int
    capacity: Capacity
    step_time: StepTime
    groups: Sequence[GroupSpec]
    """The cache groups of their engines."""
    tiers: Sequence[Tier] = ()
    kv_role: KvRole | None = None
    """In transfers between workers; None if there are none."""
    prompt_only: bool = True
    """Whether blocks of answers stay out of the tiers."""


class Capacities(NamedTuple):
    """How the memory of the workers is divided."""

    first: Capacity
    """Of an aggregated or a prefill worker."""
    decode: Capacity


def worker_kinds(
    scenario: Scenario,
    capacities: Capacities,
    times: Coefficients,
    groups: Sequence[GroupSpec],
    tiers: Sequence[Tier],
    *,
    decode_tiers: Sequence[Tier] = (),
    step_time: StepTime | None = None,
) -> list[WorkerKind]:
    """Return the kinds in the order in which results number their workers.

    `times` are those of an aggregated or a prefill worker; `step_time`, if given, is the law of all.
    """
    workers, joined = scenario.workers, scenario.disaggregation
    prompt_only = scenario.offload is None or scenario.offload.offload_prompt_only

    def law(stage: Stage, capacity: Capacity, found: Coefficients) -> StepTime:
        if step_time is not None:
            return step_time
        timed = TimedWorker(stage, capacity.pool_tokens, scenario.engine.max_num_batched_tokens)
        return laws(found.origin, found.step, found.table)(timed)

    if not workers.decode:
        alone = capacities.first
        return [
            WorkerKind(
                "aggregated",
                workers.ranks,
                alone,
                law("aggregated", alone, times),
                groups,
                tiers,
                prompt_only=prompt_only,
            )
        ]
    prefill, decode = capacities
    decode_times = times
    if workers.decode_parallel != workers.parallel:
        decode_times = scenario.decode_coefficients()
    return [
        WorkerKind(
            "prefill",
            workers.first.ranks,
            prefill,
            law("prefill", prefill, times),
            groups,
            tiers,
            joined.prefill_kv_role,
            prompt_only=prompt_only,
        ),
        WorkerKind(
            "decode",
            workers.then.ranks,
            decode,
            law("decode", decode, decode_times),
            groups,
            decode_tiers,
            joined.decode_kv_role,
            prompt_only=False,
        ),
    ]


def make_engine(scenario: Scenario, kind: WorkerKind, *, tells_growth: bool) -> Engine:
    """Return a new engine of a kind, as it is when it has started; `tells_growth` as `Engine` has it."""
    capacity = kind.capacity
    settings = scenario.engine.model_copy(update={"max_model_len": scenario.max_model_len})
    speculation = speculation_of(settings.speculative, scenario.seed)
    cache = KvCache(
        capacity.num_blocks,
        kind.groups,
        max_model_len=scenario.max_model_len,
        in_flight_tokens=capacity.in_flight_tokens,
        drafts=draft_rules(speculation),
        states=scenario.state_rules,
    )
    rules = settings.rule_set
    connector = nixl = None
    if kind.tiers:
        budget_bytes = settings.sync_load_budget_bytes
        connector = OffloadingConnector(
            cache,
            made(kind.tiers),
            prompt_only=kind.prompt_only,
            rules=rules,
            sync_loads=SyncLoads(budget_bytes, _loaded_bytes_per_token(kind)) if budget_bytes else None,
        )
    if kind.kv_role is not None:
        producer, consumer = kind.kv_role != "kv_consumer", kind.kv_role != "kv_producer"
        nixl = NixlConnector(cache, producer=producer, consumer=consumer, truncation=rules.truncation)
    return Engine(
        cache,
        settings,
        connector,
        nixl,
        offload_first=kind.stage != "decode" and scenario.disaggregation.connector_order[0] == "offload",
        tells_growth=tells_growth,
        speculation=speculation,
    )


def _loaded_bytes_per_token(kind: WorkerKind) -> int:
    """Return the bytes on one GPU that vLLM counts for a token that is loaded: those of all groups."""
    return sum(kind.capacity.block_bytes // spec.block_tokens for spec in kind.groups)
