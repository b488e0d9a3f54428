"""Where the last chunk of a hybrid model's prefill stops, so that a state stands there.

0.28.0: at the last block boundary of the known tokens. 0.33.0: at the last one that a repetition of the
prompt can start from, which leaves a token to compute; and not at all if the kernel saves that state inside
the chunk (`sim.kv.checkpoints`).
"""

from sim.engine.rule_set import Version
from sim.kv.checkpoints import checkpoint_before, saves_state


class ChunkStops:
    """vLLM 0.28.0. `early`: attention loses the last block of its hits, so that a block before is wanted."""

    __slots__ = ("_early", "block_tokens")

    def __init__(self, block_tokens: int, early: bool) -> None:
        self.block_tokens = block_tokens
        self._early = early

    def last(self, known_tokens: int) -> int:
        """Return the last boundary at which a state is wanted."""
        block = self.block_tokens
        return max(known_tokens - known_tokens % block - (block if self._early else 0), 0)

    def saved_inside(self, start: int, end: int, prefill_end: int) -> bool:
        """Whether the chunk that ends a prefill saves the state at its last boundary without a stop."""
        return False


class ReplayStops(ChunkStops):
    """vLLM 0.33.0. `saves_inside`: the kernel can save a state inside a chunk."""

    __slots__ = ("_saves_inside",)

    def __init__(self, block_tokens: int, early: bool, saves_inside: bool) -> None:
        super().__init__(block_tokens, early)
        self._saves_inside = saves_inside

    def last(self, known_tokens: int) -> int:
        """Return the last boundary at which a state is wanted."""
        return checkpoint_before(known_tokens, self.block_tokens, self._early)

    def saved_inside(self, start: int, end: int, prefill_end: int) -> bool:
        """Whether the chunk that ends a prefill saves the state at its last boundary without a stop."""
        if not self._saves_inside or end < prefill_end:
            return False
        position = checkpoint_before(prefill_end, self.block_tokens, self._early)
        return saves_state(start, end, position, self.block_tokens)


def chunk_stops(version: Version, block_tokens: int, *, early: bool, saves_inside: bool) -> ChunkStops:
    """Return the rule of a release."""
    if version == "0.28":
        return ChunkStops(block_tokens, early)
    return ReplayStops(block_tokens, early, saves_inside)
