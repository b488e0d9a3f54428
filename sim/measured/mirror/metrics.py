"""What metrics and a router's log say of a scenario: blocks, limits, the size of the pools, weights."""

from collections import Counter
from collections.abc import Mapping, Sequence

from sim.measured.formats.prometheus import Scrape, Window
from sim.measured.formats.router_log import LoggedDecision
from sim.measured.mirror.dtypes import tell_kv_dtype, tell_state_dtype
from sim.measured.mirror.found import Found
from sim.measured.mirror.releases import tell_retention
from sim.measured.workers import MeasuredWorker
from sim.router.rules import RULES

_LIMITS = {
    "dynamo_frontend_model_kv_cache_block_size": "engine.block_size",
    "dynamo_frontend_model_max_num_seqs": "engine.max_num_seqs",
    "dynamo_frontend_model_max_num_batched_tokens": "engine.max_num_batched_tokens",
    "dynamo_frontend_model_context_length": "engine.max_model_len",
}
_TOTAL_BLOCKS = "dynamo_frontend_model_total_kv_blocks"
_REGISTERED = "dynamo_component_router_worker_registered"


def tell_pools(workers: Sequence[MeasuredWorker], found: Found) -> None:
    """Add how many engines there are."""
    pools = Counter(worker.pool for worker in workers)
    for pool, n in pools.items():
        found.tell(f"workers.{'count' if pool == 'aggregated' else pool}", n, "the engines that are known")


def tell_blocks(workers: Sequence[MeasuredWorker], found: Found) -> None:
    """Add what the engines' `vllm:cache_config_info` says of their pools."""
    for worker in workers:
        key = "disaggregation.decode_kv_blocks" if worker.pool == "decode" else "engine.kv_blocks"
        source = f"vllm:cache_config_info of {worker.name}"
        found.tell(key, worker.kv_blocks, source)
        found.tell("engine.block_size", worker.block_tokens, source)
        tell_kv_dtype(worker.config.get("cache_dtype"), source, found)
        tell_state_dtype(worker.config.get("mamba_ssm_cache_dtype"), source, found)
        tell_retention(worker.config.get("prefix_cache_retention_interval"), source, found)
        if worker.config.get("enable_prefix_caching") == "False":
            found.not_like(f"no prefix caching by {source}: the simulator's engines always reuse prefixes")


def tell_metrics(windows: Mapping[str, Window], found: Found) -> None:
    """Add what the frontend's gauges say, and that engines have a CPU tier."""
    for window in windows.values():
        _tell_registered(window.last, found)
    tell_gauges(windows, found, disaggregated=found.has("workers.prefill"))
    for name, window in windows.items():
        if window.last.has("vllm:kv_offload_") and not found.has("offload.cpu_bytes"):
            found.note(f"{name} has a CPU tier whose size no source tells: add offload.cpu_bytes")


def tell_gauges(windows: Mapping[str, Window], found: Found, *, disaggregated: bool) -> None:
    """Add the limits and the blocks that a frontend shows of its engines."""
    for window in windows.values():
        for gauge, key in _LIMITS.items():
            values = {round(value) for _, value in window.last.matching(gauge, {})}
            if len(values) == 1:
                found.tell(key, values.pop(), gauge)
        _tell_total_blocks(window.last, found, disaggregated=disaggregated)


def _tell_total_blocks(scrape: Scrape, found: Found, *, disaggregated: bool) -> None:
    """Take the blocks that a frontend shows: those of one worker of all, whichever it is."""
    blocks = scrape.total(_TOTAL_BLOCKS)
    if blocks is None or found.has("engine.kv_blocks"):
        return
    if disaggregated:
        found.note(f"{_TOTAL_BLOCKS} = {round(blocks)} is of a prefill or a decode worker: not taken")
    else:
        found.tell("engine.kv_blocks", round(blocks), _TOTAL_BLOCKS)


def _tell_registered(scrape: Scrape, found: Found) -> None:
    """Count the workers that a frontend knows, where no engine's own metrics did."""
    types = Counter(
        dict(labels).get("worker_type") for labels, value in scrape.matching(_REGISTERED, {}) if value
    )
    if not types or any(found.has(f"workers.{key}") for key in ("count", "prefill")):
        return
    if types["prefill"]:
        found.tell("workers.prefill", types["prefill"], _REGISTERED)
        found.tell("workers.decode", types["decode"] or None, _REGISTERED)
    else:
        found.tell("workers.count", types["decode"] or None, _REGISTERED)


def tell_decisions(decisions: Sequence[LoggedDecision], found: Found) -> None:
    """Add the router's policy and weights as its logged costs have them."""
    if found.has("router.policy") or not decisions:
        return
    source = "the router's log"
    candidates = [candidate for decision in decisions for candidate in decision.candidates]
    if not candidates:
        found.note("the router's log has no costs: its policy is not told")
        return
    found.tell("router.policy", "kv", source)
    logging = [version for version, rules in RULES.items() if rules.logs_costs]
    found.tell("router.version", logging[-1], f"costs in {source}, which no later release logs")
    scales = {candidate.prefill_load_scale for candidate in candidates} - {None}
    if len(scales) == 1:
        found.tell("router.prefill_load_scale", scales.pop(), source)
    credits = {
        round(candidate.overlap_credit_blocks / candidate.cached_blocks, 2)
        for candidate in candidates
        if candidate.cached_blocks and candidate.overlap_credit_decay == 1
    }
    if len(credits) == 1:
        found.tell("router.overlap_score_credit", credits.pop(), source)
