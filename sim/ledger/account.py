"""What one request's prefill came to: first tokens, recomputed tokens and their causes."""

CAUSES = ("preempted", "bound", "checkpoint", "in_flight", "evicted_here", "generated", "elsewhere", "gone")

COLUMNS = (
    "computed_prompt_tokens",
    "required_tokens",
    "required_block_tokens",
    "returned_tokens",
    "returned_block_tokens",
    "first_tokens",
    "first_block_tokens",
    "recomputed_tokens",
    *(f"{cause}_tokens" for cause in CAUSES),
    "recomputed_output_tokens",
)
"""The columns of the `requests` table that an account fills, in their order there."""


class Account:
    """What one request's prefill came to, in tokens."""

    __slots__ = (
        "cause_tokens",
        "computed_tokens",
        "first_block_tokens",
        "first_tokens",
        "recomputed_output_tokens",
        "required_block_tokens",
        "required_tokens",
        "returned_block_tokens",
        "returned_tokens",
    )

    def __init__(self, required_tokens: int, required_block_tokens: int) -> None:
        self.required_tokens = required_tokens
        """Tokens of its prompt that no prompt sent earlier contained."""
        self.required_block_tokens = required_block_tokens
        """The same in whole blocks: its prompt without the full blocks that an earlier one contained."""
        self.returned_tokens = 0
        """Those of the required ones that an earlier request's prompt and answer held, hit or computed."""
        self.returned_block_tokens = 0
        """Tokens of the blocks that end in these."""
        self.computed_tokens = 0
        """Prompt tokens it computed, again after a preemption included."""
        self.first_tokens = 0
        """Those of them that no request had computed before."""
        self.first_block_tokens = 0
        """Tokens of the blocks that it was the first to complete, and of its prompt's partial last block."""
        self.recomputed_output_tokens = 0
        """Generated tokens that it computed again after a preemption; not part of `computed_tokens`."""
        self.cause_tokens = [0] * len(CAUSES)
        """Recomputed prompt tokens by cause, in the order of `CAUSES`."""

    @property
    def causes(self) -> dict[str, int]:
        """Recomputed prompt tokens by cause, every cause named."""
        return dict(zip(CAUSES, self.cause_tokens, strict=True))

    @property
    def recomputed_tokens(self) -> int:
        """Prompt tokens it computed that had been computed before."""
        return self.computed_tokens - self.first_tokens

    def values(self) -> tuple[int, ...]:
        """Return what it says, in the order of `COLUMNS`."""
        return (
            self.computed_tokens,
            self.required_tokens,
            self.required_block_tokens,
            self.returned_tokens,
            self.returned_block_tokens,
            self.first_tokens,
            self.first_block_tokens,
            self.recomputed_tokens,
            *self.cause_tokens,
            self.recomputed_output_tokens,
        )

    def columns(self) -> dict[str, int]:
        """Return what it says as columns of the `requests` table."""
        return dict(zip(COLUMNS, self.values(), strict=True))
