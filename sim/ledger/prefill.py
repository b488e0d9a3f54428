"""Where the prefill of one request stands, for the ledger."""

from collections.abc import Sequence

from sim.kv.runs import BlockRuns
from sim.ledger.account import Account


class Prefill:
    """Where one request stands."""

    __slots__ = (
        "account",
        "blocks",
        "found_until",
        "in_flight_blocks",
        "known_tokens",
        "output_position",
        "plan",
        "position",
        "prompt_tokens",
        "reached",
        "returned_until",
        "seen_tokens",
        "tail_frontier",
        "tail_tokens",
    )

    def __init__(
        self,
        blocks: BlockRuns,
        prompt_tokens: int,
        block_tokens: int,
        account: Account,
        *,
        held_tokens: int,
        found_until: int,
    ) -> None:
        self.account = account
        self.blocks = blocks
        self.prompt_tokens = prompt_tokens
        self.returned_until = prompt_tokens - account.required_tokens
        """Leading tokens that an earlier prompt contained, then those counted as returned."""
        self.seen_tokens = max(self.returned_until, held_tokens)
        """Leading tokens that an earlier prompt contained, or an earlier request's prompt and answer."""
        self.found_until = found_until
        """Up to here a hit may find what decode made while this prompt was on its way."""
        self.tail_tokens = prompt_tokens - len(blocks) * block_tokens
        """Length of the partial last block; 0 once it has been counted."""
        self.tail_frontier = max(self.seen_tokens, len(blocks) * block_tokens)
        """Position from which on nobody computed the tail. It is this request's alone: no hit reaches it."""
        self.position = 0
        """Prompt tokens hit or computed since the last admission."""
        self.reached = 0
        """Prompt tokens hit or computed before the last preemption."""
        self.known_tokens = prompt_tokens
        """Prompt and generated tokens known at the last admission."""
        self.output_position = 0
        """Generated tokens hit or computed since the last admission."""
        self.plan: list[tuple[int, str]] = []
        """Ends of token ranges, the first one last, each with the cause if a token of it is recomputed."""
        self.in_flight_blocks: Sequence[range] = ()
        """Runs of blocks it is computing or loading, until its first token."""
