"""The engine that the first line of a recording of vLLM (0.28.0, 0.33.0) describes."""

from collections.abc import Sequence
from typing import Any

from sim.engine.connector import OffloadingConnector
from sim.engine.rule_set import Version
from sim.engine.rules.states import state_rules
from sim.engine.rules.sync_loads import SyncLoads
from sim.engine.settings import EngineSettings
from sim.engine.speculation import Speculation, draft_rules
from sim.kv.group_spec import GroupSpec, Kind
from sim.kv.hybrid import KvCache
from sim.kv.request_order import tier_class

Row = dict[str, Any]

KINDS: dict[str, Kind] = {
    "FullAttentionSpec": "full",
    "MambaSpec": "recurrent",
    "SlidingWindowSpec": "sliding_window",
    "ChunkedLocalAttentionSpec": "chunked_local",
}
"""vLLM's names of the kinds of group."""


class RecordedAcceptance:
    """Accepted drafts as they were recorded: of each request, in the order of its steps that had any."""

    def __init__(self, accepted: Sequence[Sequence[int]]) -> None:
        self._accepted = accepted

    def accepted(self, request_id: int, step: int, drafts: int) -> int:
        """Return the recorded number."""
        recorded = self._accepted[request_id]
        if step >= len(recorded):
            raise ValueError(f"request {request_id}: only {len(recorded)} steps with drafts were recorded")
        return recorded[step]


def speculation_of(config: Row, accepted: Sequence[Sequence[int]]) -> Speculation | None:
    """Return how a recorded engine drafts; None: it does not."""
    spec = config.get("spec")
    if spec is None:
        return None
    acceptance, modules = RecordedAcceptance(accepted), spec.get("modules", 1)
    return Speculation(spec["method"], spec["k"], acceptance, modules, spec.get("parallel", False))


def groups_of(config: Row) -> list[GroupSpec]:
    """Return the cache groups of a recorded engine."""
    names = config["groups"]
    sizes = config.get("block_sizes", [config["block_size"]] * len(names))
    windows = config.get("windows", [None] * len(names))
    return [
        GroupSpec(KINDS[name], size, window or 0)
        for name, size, window in zip(names, sizes, windows, strict=True)
    ]


def cache_of(config: Row, num_blocks: int, speculation: Speculation | None) -> KvCache:
    """Return its KV cache."""
    return KvCache(
        num_blocks,
        groups_of(config),
        max_model_len=config["max_model_len"],
        in_flight_tokens=config["max_num_batched_tokens"] * (2 if config["async"] else 1),
        drafts=draft_rules(speculation),
        states=state_rules(limits(config), saves_inside=bool(config.get("checkpoint_blocks"))),
    )


def offload_of(config: Row, cache: KvCache) -> OffloadingConnector | None:
    """Return its tier; None: it has none."""
    if not config.get("cpu_blocks"):
        return None
    rules = limits(config).rule_set
    policy = tier_class(config.get("policy", "lru"), by_request=rules.tier_recency != "0.28")
    sync_loads = None
    budget = config.get("offload_extra", {}).get("sync_load_budget_bytes", 0)
    if budget:
        groups = len(cache.specs)
        sync_loads = SyncLoads(budget, groups * (config["bytes_per_block"] // config["block_size"]))
    return OffloadingConnector(
        cache,
        [policy(config["cpu_blocks"])],
        prompt_only=config.get("offload_prompt_only", True),
        rules=rules,
        sync_loads=sync_loads,
    )


def version_of(config: Row) -> Version:
    """Return the release that was recorded."""
    return "0.33" if str(config.get("vllm", "")).startswith("0.33") else "0.28"


def limits(config: Row) -> EngineSettings:
    """Return the limits of the scheduler, or of both of a pair."""
    retention = config.get("retention", 0)
    return EngineSettings(
        max_num_batched_tokens=config["max_num_batched_tokens"],
        max_num_seqs=config["max_num_seqs"],
        max_model_len=config["max_model_len"],
        long_prefill_token_threshold=config.get("long_prefill_token_threshold", 0),
        watermark=config.get("watermark", 0.0),
        version=version_of(config),
        max_num_active_seqs=config.get("max_num_active_seqs"),
        long_prefill_token_threshold_adaptive=config.get("long_prefill_token_threshold_adaptive", False),
        prefill_schedule_interval=config.get("prefill_schedule_interval", 1),
        prefix_cache_retention_interval="dense" if retention is None else retention,
        async_scheduling=config["async"],
    )
