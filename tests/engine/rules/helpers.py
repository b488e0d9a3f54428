"""Engines of either release, or with single rules exchanged."""

from sys import maxsize
from typing import Any

from sim.engine.connector import OffloadingConnector
from sim.engine.engine import Engine
from sim.engine.nixl import NixlConnector
from sim.engine.rules.states import state_rules
from sim.engine.rules.sync_loads import SyncLoads
from sim.engine.settings import EngineSettings
from sim.kv.group_spec import even_groups
from sim.kv.hybrid import KvCache
from sim.kv.request_order import tier_class
from tests.engine.helpers import Driver

BOTH = ("0.28", "0.33")


def build(
    version: str,
    blocks: int,
    block_tokens: int = 16,
    recurrent: int = 0,
    *,
    cpu_blocks: int = 0,
    policy: str = "lru",
    saves_inside: bool = False,
    kv_role: str | None = None,
    sync_loads: SyncLoads | None = None,
    prompt_only: bool = True,
    store_steps: int = 1,
    load_steps: int = 2,
    **settings: Any,
) -> Driver:
    """Return the driver of a new engine with `blocks` usable blocks."""
    bounds = EngineSettings(version=version, **settings)
    rules = bounds.rule_set
    cache = KvCache(
        blocks + 1,
        even_groups(block_tokens, recurrent),
        max_model_len=bounds.max_model_len or maxsize,
        states=state_rules(bounds, saves_inside=saves_inside),
    )
    offload = nixl = None
    if cpu_blocks:
        tier = tier_class(policy, by_request=rules.tier_recency != "0.28")(cpu_blocks)
        offload = OffloadingConnector(
            cache, [tier], rules=rules, sync_loads=sync_loads, prompt_only=prompt_only
        )
    if kv_role is not None:
        nixl = NixlConnector(
            cache,
            producer=kv_role != "kv_consumer",
            consumer=kv_role != "kv_producer",
            truncation=rules.truncation,
        )
    return Driver(Engine(cache, bounds, offload, nixl), store_steps, load_steps)


def chunks(driver: Driver, request_id: int = 0) -> list[int]:
    """Run an engine to its end; return what each step that computes a request computes of it."""
    return [
        tokens
        for plan in driver.run()
        for request, tokens in plan.scheduled
        if request.request_id == request_id
    ]
