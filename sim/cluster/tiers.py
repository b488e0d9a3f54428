"""The tiers that a scenario's workers have below GPU memory, in the order in which they are asked."""

from collections.abc import Iterable

from sim.hardware.capacity import Capacity
from sim.kv.events import Tier as RouterTier
from sim.kv.offload import OffloadTier
from sim.kv.request_order import tier_class
from sim.links.tier import Tier
from sim.scenario.scenario import Scenario

HOST = "host"
"""The tier that settings and columns call `cpu`."""


def tiers_of(scenario: Scenario, capacity: Capacity) -> tuple[Tier, ...]:
    """Return them for every worker that offloads; none without `[offload]`."""
    offload = scenario.offload
    if offload is None:
        return ()
    pcie = scenario.host_link().of_gpus(capacity.host_links)
    host = Tier(
        HOST,
        tier_class(offload.eviction_policy, by_request=scenario.engine.rule_set.tier_recency != "0.28"),
        capacity.host[0].blocks,
        down=pcie,
        up=pcie,
        router_tier="host" if offload.kv_events == "self-describing" else None,
        link="pcie",
        pieces_per_block=capacity.block_layers,
    )
    return (host,)


def router_tiers(tiers: Iterable[Tier]) -> dict[str, RouterTier]:
    """Return what routers take which tier of a worker for, of those that they hear of."""
    heard = {tier.name: tier.router_tier for tier in tiers if tier.router_tier is not None}
    return {"device": "device", **heard}


def made(tiers: Iterable[Tier]) -> list[OffloadTier]:
    """Return what keeps the keys of one worker's tiers."""
    return [tier.policy(tier.blocks, tier.name) for tier in tiers]
