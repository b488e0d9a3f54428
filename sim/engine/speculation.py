"""Speculative decoding as vLLM 0.28.0's scheduler sees it: how many drafts, and what they cost.

Each decode computes its newest token and as many drafts; those that are accepted come out with one more
token, the rest is taken back. Whatever is accepted, 1 + K tokens are computed and counted against a step's
budget.
"""

from typing import NamedTuple, Protocol

from sim.base.uniform import uniform
from sim.engine.draft_methods import READS_HIDDEN_STATES, Method
from sim.engine.settings import SpeculativeSettings
from sim.kv.draft_rules import NO_DRAFTS, DraftRules


class Acceptance(Protocol):
    """Says how many drafts the target model accepts."""

    def accepted(self, request_id: int, step: int, drafts: int) -> int:
        """Return how many of `drafts` are accepted in the request's so-manieth step that has any."""


class Speculation(NamedTuple):
    """`tokens` drafts a step, K; `modules` of an MTP model that draft one after another."""

    method: Method
    tokens: int
    acceptance: Acceptance
    modules: int = 1
    parallel: bool = False
    """All drafts in one pass (P-EAGLE, PARD)."""

    @property
    def reads_hidden_states(self) -> bool:
        """Whether the last block of a hit is computed again."""
        return self.method in READS_HIDDEN_STATES

    @property
    def lookahead_tokens(self) -> int:
        """KV slots beyond the tokens of a step, into which the drafter writes."""
        if self.method == "dflash":
            return self.tokens + 1
        return self.tokens if self.reads_hidden_states or self.method == "draft_model" else 0

    @property
    def prefill_lookahead_tokens(self) -> int:
        """Known tokens that drafting reads beyond the end of a chunk."""
        if not self.reads_hidden_states:
            return 0
        several = self.method == "mtp" and min(self.modules, self.tokens) > 1
        return self.tokens if several else 1

    @property
    def slots(self) -> int:
        """Tokens that each scheduled request takes from a step's budget for drafting, computed or not."""
        if self.method == "dflash":
            return self.tokens
        if self.method == "draft_model":
            return self.tokens if self.parallel else 1
        return self.tokens - 1 if self.method == "dspark" or self.parallel else 0


def speculation_of(settings: SpeculativeSettings | None, seed: int) -> Speculation | None:
    """Return what the settings of an engine say; which drafts are accepted is drawn."""
    if settings is None:
        return None
    return Speculation(
        settings.method,
        settings.num_speculative_tokens,
        MeanAcceptance(seed, settings.acceptance_length),
        settings.num_nextn_predict_layers,
        settings.parallel_drafting,
    )


def draft_rules(speculation: Speculation | None) -> DraftRules:
    """Return what the KV cache has to know of it."""
    if speculation is None:
        return NO_DRAFTS
    return DraftRules(
        speculation.tokens,
        speculation.lookahead_tokens,
        speculation.reads_hidden_states,
        max(0, speculation.prefill_lookahead_tokens - 1),
    )


class MeanAcceptance:
    """Drafts accepted at random, by request and step, so that a step gives `tokens` on average.

    The number is one of the two whole numbers around the mean, drawn anew each step.
    """

    def __init__(self, seed: int, tokens: float) -> None:
        self._seed = seed
        self._least = int(tokens - 1)
        self._share = tokens - 1 - self._least

    def accepted(self, request_id: int, step: int, drafts: int) -> int:
        """Return how many of `drafts` are accepted; where fewer are scheduled, at most those."""
        more = self._share > 0 and uniform(self._seed, "accepted drafts", request_id, step) < self._share
        return min(self._least + more, drafts)


class DraftCounts:
    """vLLM's counters `vllm:spec_decode_num_drafts`, `..._draft_tokens`, `..._accepted_tokens`."""

    __slots__ = ("accepted_tokens", "draft_tokens", "drafts")

    def __init__(self) -> None:
        self.drafts = 0
        """Outputs of a request's step that had drafts."""
        self.draft_tokens = 0
        self.accepted_tokens = 0

    def count(self, drafts: int, accepted: int) -> None:
        """Count one output."""
        self.drafts += 1
        self.draft_tokens += drafts
        self.accepted_tokens += accepted
