"""A candidate's line in a router's log: the cost of one worker and the terms that it was made of."""

import re
from dataclasses import dataclass

from sim.base.errors import InputError

_NUMBER = r"-?\d+(?:\.\d+)?"
_HEAD = re.compile(
    r"ormula for worker_id=(?P<worker_id>\d+) dp_rank=(?P<dp_rank>\d+) with "
    rf"(?P<cached>{_NUMBER}) effective cached blocks"
    rf"(?:, {_NUMBER} shared blocks beyond device \(multiplier={_NUMBER}\))?: (?P<cost>{_NUMBER}) = "
)
_STANDARD = re.compile(
    rf"= (?P<scale>{_NUMBER}) \* (?P<prefill>{_NUMBER}) \+ (?P<decode>{_NUMBER}) \+ (?P<active>{_NUMBER}) "
    rf"\(raw_prefill_blocks: (?P<raw>{_NUMBER}), overlap_credit_blocks: (?P<credit>{_NUMBER}), "
    rf"overlap_credit_decay: (?P<decay>{_NUMBER})\)"
)
_DECODE = re.compile(rf"= max\(0, (?P<decode>{_NUMBER}) - (?P<credit>{_NUMBER})\) \+ (?P<active>{_NUMBER})")


_ROUNDING = 0.5e-3
"""Logged numbers have 3 decimals."""


def as_logged(logged: float, computed: float, roundings: float = 1.0) -> bool:
    """Whether a number is the logged one, as far as its decimals tell; of several, a rounding each."""
    return abs(logged - computed) <= _ROUNDING * roundings * (1 + 1e-6)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one worker would cost, in router blocks, as logged.

    cost = prefill_load_scale x adjusted_prefill_blocks + decode_blocks + active_request_cost_blocks; where
    prefill is not tracked, max(0, decode_blocks - overlap_credit_blocks) + active_request_cost_blocks, and
    the prefill terms are None.
    """

    worker_id: int
    dp_rank: int
    cost: float
    cached_blocks: float
    """Overlap with all tiers, each weighted."""
    decode_blocks: float
    active_request_cost_blocks: float
    overlap_credit_blocks: float
    prefill_load_scale: float | None = None
    adjusted_prefill_blocks: float | None = None
    raw_prefill_blocks: float | None = None
    overlap_credit_decay: float | None = None

    @property
    def cost_of_terms(self) -> float:
        """The cost again, from the logged terms."""
        if self.prefill_load_scale is None or self.adjusted_prefill_blocks is None:
            blocks = max(0.0, self.decode_blocks - self.overlap_credit_blocks)
        else:
            blocks = self.prefill_load_scale * self.adjusted_prefill_blocks + self.decode_blocks
        return blocks + self.active_request_cost_blocks

    @property
    def adds_up(self) -> bool:
        """Whether cost and adjusted prefill are what their terms come to, as far as rounded terms tell."""
        roundings = 2.0  # of the cost and of active requests; decode blocks are whole
        if self.raw_prefill_blocks is not None and self.adjusted_prefill_blocks is not None:
            adjusted = max(0.0, self.raw_prefill_blocks - self.overlap_credit_blocks)
            if not as_logged(self.adjusted_prefill_blocks, adjusted, 3.0):
                return False
            roundings += self.prefill_load_scale or 0.0
        else:
            roundings += 1.0
        return as_logged(self.cost, self.cost_of_terms, roundings)


def candidate(message: str) -> Candidate:
    """Return the candidate of a message that says "Formula for" or "Pinned formula for".

    Raises:
        InputError: it is worded in none of the known ways.

    """
    head = _HEAD.search(message)
    standard = _STANDARD.search(message)
    terms = standard or _DECODE.search(message)
    if head is None or terms is None:
        raise InputError(
            "a candidate's line in a form that is not known (those of Dynamo 1.4.2 and 1.5.0 are): "
            f"{message[:200]!r}"
        )
    return Candidate(
        int(head["worker_id"]),
        int(head["dp_rank"]),
        float(head["cost"]),
        float(head["cached"]),
        float(terms["decode"]),
        float(terms["active"]),
        float(terms["credit"]),
        *(float(standard[name]) for name in ("scale", "prefill", "raw", "decay") if standard),
    )
