"""What speculative decoding asks of a KV cache (vLLM 0.28.0), as plain numbers."""

from typing import NamedTuple


class DraftRules(NamedTuple):
    """All 0 and False without speculation."""

    tokens: int = 0
    """Drafts a step: so many tokens may be taken back. A recurrent group holds a block of its own for
    each."""
    lookahead_tokens: int = 0
    """Slots allocated beyond what a step computes; recurrent groups take none."""
    drops_last_block: bool = False
    """The drafter reads hidden states: the last block of a hit is computed again (EAGLE, MTP)."""
    unsettled_tokens: int = 0
    """Tokens at the end that several drafting modules may compute again: not findable, and kept in
    windows."""


NO_DRAFTS = DraftRules()
