"""Conditional disaggregation: whether a request skips the prefill pool and is computed where it decodes.

Dynamo 1.5.0, experimental and off by default. For each request the decode router is asked where it would send
it: without overrides, and nothing is booked. If the policy wants the request there, and the guard of that
worker allows it, it goes to that very rank as to an aggregated worker; else to a prefill worker, as always.
"""

from typing import Literal, NamedTuple

from pydantic import Field

from sim.base.bounds import CountOrZero, Weight
from sim.base.settings import Settings
from sim.router.cost import CostTerms

Reason = Literal[
    "bypass_declined_by_policy",
    "bypass_allowed_decode_gate_disabled",
    "bypass_allowed_decode_not_busy",
    "bypass_denied_decode_busy",
    "bypass_denied_decode_busy_unknown",
]
"""As Dynamo's log calls it."""


class ConditionalDisaggSettings(Settings):
    """Dynamo's `--router-conditional-disagg-config`: its names and defaults."""

    policy: Literal["isl_bounding", "prefill_load", "isl_or_load"] = "isl_bounding"
    """What makes a request stay at the decode worker: little to compute there, busy prefill, or either."""
    eff_isl_threshold: CountOrZero = 2048
    """Tokens: little to compute is less than this ..."""
    eff_isl_ratio_threshold: float = Field(default=0.7, ge=0, le=1)
    """... and less than this share of the prompt."""
    prefill_busy_threshold: Weight | None = None
    """A prefill worker is busy with more booked tokens than this times its `max_num_batched_tokens`. Unset:
    `router.queue_threshold`."""
    decode_busy_threshold: Weight | None = None
    """A decode worker takes no prefill if its blocks, this prompt's included, are more than this share of its
    pool. Unset: there is no guard."""

    def beside_queue(self, threshold: float | None) -> "ConditionalDisaggSettings":
        """Return the settings as they hold beside a router's queue, or without one."""
        if self.prefill_busy_threshold is not None:
            return self
        return self.model_copy(update={"prefill_busy_threshold": threshold})

    @property
    def asks_prefill(self) -> bool:
        """Whether the policy wants to know which prefill worker would be chosen."""
        return self.policy != "isl_bounding"


class Verdict(NamedTuple):
    """Where a request is computed, and why."""

    bypass: bool
    """Whether it skips the prefill pool."""
    reason: Reason
    effective_isl_tokens: int
    """Prompt tokens that the decode worker would have to compute."""
    potential_decode_blocks: int
    """Blocks of the decode worker with this prompt, a partial one counted as one."""
    prefill_busy: bool | None
    """None: the policy does not ask, or there is no telling."""
    decode_busy: bool | None
    """None: it did not come to that, there is no guard, or there is no telling."""


def decide(
    settings: ConditionalDisaggSettings,
    isl_tokens: int,
    block_size: int,
    decode: CostTerms,
    *,
    total_kv_blocks: int | None,
    prefill: CostTerms | None = None,
    max_num_batched_tokens: int | None = None,
) -> Verdict:
    """Decide on one request. Nothing is booked, so requests of the same moment may all get the same answer.

    Args:
        settings: the policy, its thresholds and the guard.
        isl_tokens: prompt tokens.
        block_size: tokens a block.
        decode: what the decode router would choose, asked without overrides.
        total_kv_blocks: pool of that decode worker; None (unknown) is refused by the guard.
        prefill: what the prefill router would choose, if `settings.asks_prefill`; None: unknown, not busy.
        max_num_batched_tokens: of that prefill worker; None: unknown, not busy.
    """
    effective_isl = max(isl_tokens - decode.cached_tokens, 0)
    blocks = decode.decode_blocks + (isl_tokens % block_size > 0)
    prefill_busy = _exceeds(
        None if prefill is None else prefill.active_prefill_tokens,
        settings.prefill_busy_threshold if settings.asks_prefill else None,
        max_num_batched_tokens,
    )
    short = (
        effective_isl < settings.eff_isl_threshold
        and effective_isl / isl_tokens < settings.eff_isl_ratio_threshold
    )
    wanted = bool(prefill_busy) or (settings.policy != "prefill_load" and short)
    guarded = settings.decode_busy_threshold is not None
    decode_busy = _exceeds(blocks, settings.decode_busy_threshold, total_kv_blocks) if wanted else None
    bypass = wanted and (not guarded or decode_busy is False)
    reason = _reason(wanted, guarded, decode_busy)
    return Verdict(bypass, reason, effective_isl, blocks, prefill_busy, decode_busy)


def _reason(wanted: bool, guarded: bool, decode_busy: bool | None) -> Reason:
    if not wanted:
        return "bypass_declined_by_policy"
    if not guarded:
        return "bypass_allowed_decode_gate_disabled"
    if decode_busy is None:
        return "bypass_denied_decode_busy_unknown"
    return "bypass_denied_decode_busy" if decode_busy else "bypass_allowed_decode_not_busy"


def _exceeds(amount: int | None, threshold: float | None, capacity: int | None) -> bool | None:
    """Return whether an amount is above its share of a capacity; None if one of the three is missing."""
    if amount is None or threshold is None or capacity is None:
        return None
    return amount > threshold * capacity
