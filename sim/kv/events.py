"""KV events: what an engine says about its caches, in the order in which it happened (vLLM 0.28.0)."""

from collections.abc import Sequence
from typing import Literal

Tier = Literal["device", "host", "disk"]
"""Where a worker holds KV blocks, as routers tell it: the GPU's pool, host memory, anything below. vLLM says
"GPU" and "CPU"."""


class KvEvent:
    """Blocks stored in, or removed from, one tier of one worker.

    A block is named by the identity of the whole prefix up to its end. vLLM sends one stored event a cache
    group and allocation (its list is empty when no block of that group got a hash) and one removal a block;
    neighbouring removals of a group are joined here.
    """

    __slots__ = ("blocks", "group", "parent", "stored", "tail", "tier")

    def __init__(
        self,
        stored: bool,
        group: int,
        parent: int | None,
        blocks: Sequence[int],
        tier: str,
        *,
        tail: bool = False,
    ) -> None:
        self.stored = stored
        self.group = group
        """Cache group; which groups hold attention is a property of the engine."""
        self.parent = parent
        """For stored events: the block before the first of the range, None at the start of a prompt."""
        self.blocks = blocks
        """Stored ones along the prompt, removed ones in the order of happening: a descending range."""
        self.tier = tier
        """The worker's name of it: "device", or that of one of its tiers below."""
        self.tail = tail
        """It tells of the end of a prompt inside a block: it has another size than the group's blocks, and is
        never looked for."""
