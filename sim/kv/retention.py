"""Which recurrent states, and which blocks of a window, stay findable when they are full.

0.28.0 keeps all of them. 0.33.0 keeps by default those alone from which a repetition of the prompt, or a
longer one, starts: the last boundary of the prompt, and the end of a cached run that lacked its state (the
junction); with an interval those at its multiples too. What is not kept gets no hash.
"""

from sim.kv.groups import Table


class Retention:
    """Everything is kept (vLLM 0.28.0)."""

    __slots__ = ("sparse",)

    def __init__(self) -> None:
        self.sparse = False
        """Whether anything is not."""

    def keeps_state(self, table: Table, position: int) -> bool:
        """Whether the state at the end of a position is kept."""
        return True

    def keeps_in_window(self, table: Table, position: int) -> bool:
        """Whether a block is kept of which the boundaries that are kept read so many before them."""
        return True


class SparseRetention(Retention):
    """The rule of vLLM 0.33.0 for one group.

    Blocks have `block_tokens`, hits of all groups end at multiples of `aligned_tokens`; `interval_tokens`
    0: no boundary is kept for its place. `needed_blocks`: what a hit reads before its end, 1 of a state.
    `early`: attention loses the last block of its hits.
    """

    __slots__ = (
        "_aligned_tokens",
        "_block_tokens",
        "_early",
        "_needed_blocks",
        "_segment_blocks",
        "_shift",
    )

    def __init__(
        self,
        interval_tokens: int,
        block_tokens: int,
        aligned_tokens: int,
        needed_blocks: int = 1,
        early: bool = False,
    ) -> None:
        super().__init__()
        self.sparse = True
        self._block_tokens = block_tokens
        self._aligned_tokens = aligned_tokens
        self._segment_blocks = interval_tokens // block_tokens
        self._needed_blocks = needed_blocks
        self._early = early
        self._shift = 1 if early else 0

    def keeps_state(self, table: Table, position: int) -> bool:
        """Whether the state at the end of a position is kept."""
        segment = self._segment_blocks
        if segment and (position + 1) % segment == 0:
            return True
        block = self._block_tokens
        for tokens in self._boundaries(table):
            if tokens // self._aligned_tokens * self._aligned_tokens // block - 1 == position:
                return True
        return False

    def keeps_in_window(self, table: Table, position: int) -> bool:
        """Whether a block is kept of which the boundaries that are kept read so many before them."""
        segment, needed, shift = self._segment_blocks, self._needed_blocks, self._shift
        if segment and (
            needed >= segment or (position >= shift and (position - shift) % segment >= segment - needed)
        ):
            return True
        for tokens in self._boundaries(table):
            end = tokens // self._aligned_tokens * self._aligned_tokens // self._block_tokens + shift
            if end - needed <= position < end:
                return True
        return False

    def _boundaries(self, table: Table) -> list[int]:
        """Return the tokens before whose last aligned boundary a later prompt may start."""
        found = [table.prompt_tokens - 1]
        if self._early:
            aligned = self._aligned_tokens
            found = [
                max((table.prompt_tokens - 1) // aligned * aligned - aligned, 0),
                max(table.prompt_tokens // aligned * aligned - aligned, 0),
            ]
        if table.junction_tokens:
            found.append(table.junction_tokens)
            if self._early:
                found.append(table.junction_tokens - self._block_tokens)
        return found
