"""States saved inside a chunk (vLLM 0.33.0, FlashInfer's kernel for gated delta nets).

Other kernels leave a state where a chunk ends; this one can leave another at the last block boundary before.
"""

from sim.kv.groups import blocks_for


def checkpoint_before(tokens: int, block_tokens: int, early: bool = False) -> int:
    """Return the last boundary that leaves a token to compute; `early`: a block before the last one."""
    if early:
        return max(tokens - tokens % block_tokens - block_tokens, 0)
    return max((tokens - 1) // block_tokens * block_tokens, 0)


def saves_state(start: int, end: int, position: int, block_tokens: int) -> bool:
    """Whether a chunk from `start` to `end` can save a state at a block boundary `position` inside it.

    The chunk begins on a boundary, and the block before its last one is not that of the state it begins from.
    """
    return (
        start % block_tokens == 0
        and position % block_tokens == 0
        and start < position < end
        and blocks_for(end, block_tokens) - 2 > (start - 1) // block_tokens
    )
