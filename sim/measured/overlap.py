"""What the router took to be cached, against what the engine then did not compute, request by request."""

from dataclasses import dataclass

from sim.measured.formats.router_log import LoggedDecision
from sim.measured.run import MeasuredRun
from sim.router.config import RouterConfig


@dataclass(slots=True)
class LoggedOverlap:
    """Sums over routed requests, and over those of them of which the engine says what it reused."""

    requests: int = 0
    """Requests whose overlap the router logged."""
    router_tokens: int = 0
    """What it saw on the worker that it chose, GPU memory and lower tiers, each block whole."""
    credited_tokens: int = 0
    """What it credited for that: lower tiers weighted, whole blocks."""
    host_blocks: int = 0
    """Blocks that it saw in the CPU tier, behind those in GPU memory."""
    host_requests: int = 0
    """Requests with any."""
    compared: int = 0
    """Requests of which the engine's side is known too."""
    compared_router_tokens: int = 0
    engine_tokens: int = 0
    """What the engine did not compute."""
    equal: int = 0
    """Requests of which the engine reused what the router saw,"""
    engine_less: int = 0
    """less than that,"""
    engine_more: int = 0
    """or more."""


def overlap(run: MeasuredRun) -> LoggedOverlap:
    """Return the comparison of a run, all 0 where the router logged no overlap."""
    found = LoggedOverlap()
    host_weight, disk_weight = _weights(run)
    for request in run.requests:
        engine, decision = request.engine_cached_tokens, request.prefill
        block_tokens = request.logged.block_tokens if request.logged else None
        if decision is None or not block_tokens or decision.overlap_blocks is None:
            continue
        seen = block_tokens * _seen_blocks(decision, host_weight, disk_weight)
        found.requests += 1
        found.router_tokens += seen
        found.credited_tokens += block_tokens * decision.overlap_blocks
        found.host_blocks += decision.host_blocks or 0
        found.host_requests += bool(decision.host_blocks)
        if engine is not None:
            found.compared += 1
            found.compared_router_tokens += seen
            found.engine_tokens += engine
            found.equal += engine == seen
            found.engine_less += engine < seen
            found.engine_more += engine > seen
    return found


def _seen_blocks(decision: LoggedDecision, host_weight: float, disk_weight: float) -> int:
    """Return the blocks of all tiers: the log has their weighted sum, and those of the lower tiers."""
    host, disk = decision.host_blocks or 0, decision.disk_blocks or 0
    if decision.chosen is None:
        return decision.overlap_blocks or 0
    device = decision.chosen.cached_blocks - host_weight * host - disk_weight * disk
    return round(device) + host + disk


def _weights(run: MeasuredRun) -> tuple[float, float]:
    """Return the weights of host and disk tier: as the frontend was started, else Dynamo's defaults."""
    default, frontend = RouterConfig(), run.commands.frontend
    host = frontend.real("router-host-cache-hit-weight") if frontend else None
    disk = frontend.real("router-disk-cache-hit-weight") if frontend else None
    return (
        default.host_cache_hit_weight if host is None else host,
        default.disk_cache_hit_weight if disk is None else disk,
    )
