"""The cost of sending one request to one rank (Dynamo 1.5.0). Lower is better; everything is in blocks."""

from collections.abc import Iterable
from typing import NamedTuple


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


class Prompt(NamedTuple):
    """What is the same for every candidate of one request."""

    isl_tokens: int
    block_size: int
    """Tokens a block."""
    least_prefill_tokens: int
    """The smallest booked prefill among the candidates."""


Candidate = tuple[int, int, int, int, int, int, int, int, float]
"""What the router knows of one rank when it scores it: the rank, its booked prefill tokens, the blocks of its
running requests, the prompt's full blocks that none of those has, the number of those requests, the prompt's
overlap in blocks with the device, host and disk tiers, and the factor of preferred taints (1 without)."""


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


def round_half_away(value: float) -> int:
    """Round a number that is not negative to the nearest whole; halves go up."""
    whole = int(value)
    return whole + (value - whole >= 0.5)


def cost_terms(weights: Weights, prompt: Prompt, candidates: Iterable[Candidate]) -> list[CostTerms]:
    """Return the cost of each candidate.

    The prompt is charged in full and overlap is a credit against it, so that credit also offsets the prefill
    of others, and in the decode form their blocks. The order of the operations is Dynamo's: equal costs must
    come out bit for bit equal.
    """
    credit, credit_decay, scale, host_weight, disk_weight, request_weight, track_prefill, decode_form = (
        weights
    )
    isl_tokens, block_size, least_prefill_tokens = prompt
    prompt_blocks = -(-isl_tokens // block_size)
    scored = []
    for rank, prefill_tokens, active_blocks, new_blocks, requests, device, host, disk, factor in candidates:
        raw = (prefill_tokens + isl_tokens) / block_size if track_prefill else 0.0
        decay = 1.0
        if track_prefill and credit_decay > 0:
            excess_blocks = (prefill_tokens - least_prefill_tokens) / block_size
            decay = 1.0 / (1.0 + credit_decay * (excess_blocks / prompt_blocks))
        overlap_credit = credit * decay * device + host_weight * host + disk_weight * disk
        adjusted = raw - overlap_credit if raw > overlap_credit else 0.0
        decode_blocks = active_blocks + new_blocks
        request_cost = request_weight * requests
        if decode_form:
            blocks = decode_blocks - overlap_credit if decode_blocks > overlap_credit else 0.0
        else:
            blocks = scale * adjusted + decode_blocks
        cost = (blocks + request_cost) * factor
        cached_blocks = device + host_weight * host + disk_weight * disk
        cached_tokens = round_half_away(cached_blocks * block_size) if cached_blocks else 0
        scored.append(
            # By position: by keyword, making the tuple would cost more than the arithmetic.
            CostTerms(
                rank,
                cost,
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
        )
    return scored
