"""The cost of sending one request to one rank (Dynamo 1.5.0). Lower is better; everything is in blocks."""

from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from sim.router.columns import Column


class Weights(NamedTuple):
    """The settings of the formula, with the request's overrides applied. Fields as in `RouterConfig`."""

    overlap_score_credit: float
    overlap_score_credit_decay: float
    prefill_load_scale: float
    host_cache_hit_weight: float
    disk_cache_hit_weight: float
    decode_active_request_weight: float
    track_prefill_tokens: bool
    decode_form: bool = False
    """Whether the credit comes off the decode blocks, there being no prefill blocks to take it from."""
    shared_cache_multiplier: float = 0.0
    credits_lower_tiers: bool = True
    """Whether host and disk are forgiven; in any case the booking takes them as cached."""
    counts_twice: bool = False
    """Whether a block may be in the overlap of two tiers, so that more than the prompt may be cached."""


class WorkerState(NamedTuple):
    """What the router knows of the candidates when it scores them, by columns."""

    prefill_tokens: NDArray[np.int64]
    """Booked."""
    active_blocks: NDArray[np.int64]
    """Of running requests."""
    requests: NDArray[np.int64]
    """How many are running."""
    new_blocks: Column
    """The prompt's full blocks that no running request has."""
    device: Column
    """The prompt's overlap with this tier, and with the next two; the number 0 where there is none."""
    host: Column
    disk: Column
    taint_factor: Column
    """The factor of preferred taints; 1 without."""
    shared: Column = 0
    """Blocks of the prompt in a cache outside the workers, beyond the overlap on the device."""


class CostTerms(NamedTuple):
    """One candidate's cost and all that it is made of. All is in blocks unless its name says otherwise.

    Standard form: cost = taint_factor * (prefill_load_scale * adjusted_prefill_blocks + decode_blocks
    + active_request_cost_blocks).
    Decode form: cost = taint_factor * (max(decode_blocks - overlap_credit_blocks, 0)
    + active_request_cost_blocks); raw and adjusted prefill are 0.
    """

    rank: int
    cost: float
    prefill_load_scale: float
    adjusted_prefill_blocks: float
    """Raw prefill less the credit, at least 0."""
    decode_blocks: int
    """Active blocks and the new ones of this prompt."""
    active_request_cost_blocks: float
    raw_prefill_blocks: float
    """Booked prefill and the whole prompt, a partial block counted in part."""
    overlap_credit_blocks: float
    overlap_credit_decay: float
    """The factor on the device credit, in (0, 1]."""
    taint_factor: float
    device_blocks: int
    host_blocks: int
    disk_blocks: int
    cached_tokens: int
    """Tokens that the booking will take as cached: tiers by their weights, credit and decay left out."""
    active_prefill_tokens: int
    active_blocks: int
    active_requests: int


@overload
def round_half_away(value: float) -> float: ...
@overload
def round_half_away(value: NDArray[np.float64]) -> NDArray[np.float64]: ...
def round_half_away(value: Any) -> Any:
    """Round what is not negative to the nearest whole; halves go up."""
    whole = value // 1
    return whole + (value - whole >= 0.5)


def _times(column: Column, factor: Column) -> Column:
    """Multiply; a factor of 1 costs nothing, and many weights are 1."""
    return column if not isinstance(factor, np.ndarray) and factor == 1 else column * factor


def cost_columns(
    weights: Weights, isl_tokens: int, block_size: int, known: WorkerState
) -> tuple[Column, ...]:
    """Return the terms of all candidates, a column for each field of `CostTerms` but the rank.

    The prompt is charged in full and overlap is a credit against it, so that credit also offsets the prefill
    of others, and in the decode form their blocks. The order of the operations is Dynamo's: equal costs must
    come out bit for bit equal.
    """
    credit, credit_decay, scale, host_weight, disk_weight, request_weight, track_prefill, decode_form = (
        weights[:8]
    )
    prefill_tokens, active_blocks, requests, new_blocks, device, host, disk, factor, shared = known
    decay: Column = 1.0
    if track_prefill and credit_decay > 0:
        prompt_blocks = -(-isl_tokens // block_size)
        excess_blocks = (prefill_tokens - prefill_tokens.min()) / block_size
        decay = 1.0 / (1.0 + credit_decay * (excess_blocks / prompt_blocks))
    overlap_credit = credit * decay * device
    cached_tokens = device * block_size
    if isinstance(host, np.ndarray) or isinstance(disk, np.ndarray):
        if weights.credits_lower_tiers:
            overlap_credit = overlap_credit + host_weight * host + disk_weight * disk
        cached_blocks = np.asarray(device + host_weight * host + disk_weight * disk)
        cached_tokens = round_half_away(cached_blocks * block_size).astype(np.int64)
    if isinstance(shared, np.ndarray) or shared:
        overlap_credit = overlap_credit + weights.shared_cache_multiplier * shared
    raw: Column = 0.0
    adjusted: Column = 0.0
    if track_prefill:
        raw = (prefill_tokens + isl_tokens) / block_size
        if weights.counts_twice:
            raw = (prefill_tokens + np.maximum(isl_tokens, cached_tokens)) / block_size
        adjusted = np.maximum(raw - overlap_credit, 0.0)
    decode_blocks = active_blocks + new_blocks
    if decode_form:
        costs = np.maximum(decode_blocks - overlap_credit, 0.0)
    else:
        costs = _times(adjusted, scale) + decode_blocks
    request_cost: Column = 0.0
    if request_weight:
        request_cost = request_weight * requests
        costs = costs + request_cost
    return (
        _times(costs, factor),
        scale,
        adjusted,
        decode_blocks,
        request_cost,
        raw,
        overlap_credit,
        decay,
        factor,
        device,
        host,
        disk,
        cached_tokens,
        prefill_tokens,
        active_blocks,
        requests,
    )
