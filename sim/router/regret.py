"""Regret: what a routing decision lets be computed that another candidate had."""

from collections.abc import Iterable, Sequence


def regret_tokens(cached_tokens: Sequence[int], candidates: Iterable[int], chosen: int) -> int:
    """Return the prompt tokens that the chosen rank computes and the best candidate need not; at least 0.

    `cached_tokens`: of the prompt, by rank, as `sim.router.policies.policy.Surroundings` has them. A decision
    with one candidate has no regret, nor one of policy `oracle`. The sum over a run is no bound: with other
    decisions the caches would have held other blocks.
    """
    return max([cached_tokens[rank] for rank in candidates]) - cached_tokens[chosen]


class RegretTotal:
    """The regret of many decisions."""

    __slots__ = ("decisions", "prompt_tokens", "regretted_decisions", "tokens")

    def __init__(self) -> None:
        self.tokens = 0
        self.prompt_tokens = 0
        """Of all prompts that were placed."""
        self.decisions = 0
        self.regretted_decisions = 0
        """With a regret above 0."""

    def add(self, tokens: int, prompt_tokens: int) -> None:
        """Count a decision."""
        self.tokens += tokens
        self.prompt_tokens += prompt_tokens
        self.decisions += 1
        self.regretted_decisions += tokens > 0

    def summary(self) -> dict[str, int | float | None]:
        """Return the numbers under their names in summaries."""
        share = self.tokens / self.prompt_tokens if self.prompt_tokens else None
        return {
            "placed_prompts": self.decisions,
            "regretted_decisions": self.regretted_decisions,
            "regret_tokens": self.tokens,
            "regret_share": share,
        }
