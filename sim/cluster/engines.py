"""An engine as a scenario has it: a worker starts with one, and with a new one after each crash."""

from collections.abc import Sequence

from sim.engine.connector import OffloadingConnector
from sim.engine.engine import Engine
from sim.engine.nixl import NixlConnector
from sim.engine.speculation import draft_rules, speculation_of
from sim.kv.group_spec import GroupSpec
from sim.kv.hybrid import KvCache
from sim.links.tier import Tier
from sim.scenario.scenario import Scenario
from sim.scenario.sections import KvRole


def make_engine(
    scenario: Scenario,
    groups: Sequence[GroupSpec],
    *,
    tiers: Sequence[Tier],
    kv_role: KvRole | None,
    kv_blocks: int,
) -> Engine:
    """Return a new engine with cache groups, tiers below GPU memory, a role in pulls, and a pool of
    blocks."""
    offload = scenario.offload
    settings = scenario.engine.model_copy(update={"max_model_len": scenario.max_model_len})
    speculation = speculation_of(settings.speculative, scenario.seed)
    cache = KvCache(
        kv_blocks,
        groups,
        max_model_len=scenario.max_model_len,
        in_flight_tokens=settings.max_num_batched_tokens * (2 if settings.asynchronous else 1),
        drafts=draft_rules(speculation),
    )
    connector = nixl = None
    if tiers:
        kept = [tier.policy(tier.blocks, tier.name) for tier in tiers]
        connector = OffloadingConnector(
            cache, kept, prompt_only=offload is None or offload.offload_prompt_only
        )
    if kv_role is not None:
        nixl = NixlConnector(cache, producer=kv_role != "kv_consumer", consumer=kv_role != "kv_producer")
    offload_first = scenario.disaggregation.connector_order[0] == "offload"
    return Engine(
        cache,
        settings,
        connector,
        nixl,
        offload_first=offload_first,
        tells_growth=scenario.router.track_output_blocks,
        speculation=speculation,
    )
