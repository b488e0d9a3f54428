"""When `long_prefill_token_threshold` acts.

0.28.0 caps every chunk. 0.33.0 decides once a schedule call: a request that is alone is not capped, and the
adaptive threshold is at least everybody's share of the budget.
"""

from sim.engine.rule_set import Version
from sim.engine.settings import EngineSettings


class PrefillThreshold:
    """vLLM 0.28.0: the same in every step. 0: no cap."""

    __slots__ = ("tokens", "varies")

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        """As it was given."""
        self.varies = False

    def of_step(self, requests: int) -> int:
        """Return what holds in a step at whose beginning so many requests run or wait."""
        return self.tokens


class SharedThreshold(PrefillThreshold):
    """vLLM 0.33.0."""

    __slots__ = ("_adaptive", "_budget")

    def __init__(self, tokens: int, adaptive: bool, budget: int) -> None:
        super().__init__(tokens)
        self._adaptive = adaptive
        self._budget = budget
        self.varies = tokens > 0

    def of_step(self, requests: int) -> int:
        """Return what holds in a step at whose beginning so many requests run or wait."""
        if requests <= 1:
            return 0
        return max(self.tokens, self._budget // requests) if self._adaptive else self.tokens


def prefill_threshold(version: Version, settings: EngineSettings) -> PrefillThreshold:
    """Return the rule of a release."""
    tokens = settings.long_prefill_token_threshold
    if version == "0.28":
        return PrefillThreshold(tokens)
    return SharedThreshold(
        tokens, settings.long_prefill_token_threshold_adaptive, settings.max_num_batched_tokens
    )
