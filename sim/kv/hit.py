"""What a KV cache offers a prompt."""

from collections.abc import Sequence

from sim.kv.extent import Part


class Hit:
    """What the cache offers a prompt. Blocks are listed by group; positions without a block are left out."""

    __slots__ = ("attention_tokens", "blocks", "stateless", "tokens")

    def __init__(
        self,
        tokens: int = 0,
        blocks: tuple[Sequence[Part], ...] = (),
        attention_tokens: int = 0,
        stateless: bool = False,
    ) -> None:
        self.tokens = tokens
        self.blocks = blocks
        self.attention_tokens = attention_tokens
        """Length of the attention run alone: beyond `tokens` it lacks a state checkpoint, or a window."""
        self.stateless = stateless
        """No checkpoint stands at `tokens`: good for nothing unless the state comes from elsewhere."""


NO_HIT = Hit()
