"""Which prompt blocks are the same block: the identity of a prefix, interned to a small int.

A trace names a prompt by chunks (16, 64, 512 tokens a hash id), an engine keeps blocks (16, 64, 800 tokens).
The identity of an engine block is the identity of the whole prefix up to its end, and follows from all chunks
up to the one that holds its last token. A chunk counts as (id, size): the partial last chunk of a prompt
equals only a chunk of the same id and size, never a part of a full one; vLLM 0.28.0's `timed_trace` client
makes its tokens that way.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import takewhile
from operator import eq

NO_PARENT = -1
"""Stands before the first block of every prompt."""


def chunk_keys(chunks: Sequence[int], chunk_tokens: int, prompt_tokens: int) -> tuple[int, ...]:
    """Return one int per chunk of the prompt, equal for equal (id, size) only.

    Ids are 0 or more. A full chunk keeps its id; a partial last one becomes a negative number that holds id
    and size.

    Raises:
        ValueError: the number of chunks is not that of the prompt's tokens, rounded up.

    """
    keys = tuple(chunks)
    if len(keys) != -(-prompt_tokens // chunk_tokens):
        raise ValueError(f"{len(keys)} chunks of {chunk_tokens} tokens do not make {prompt_tokens} tokens")
    size = prompt_tokens % chunk_tokens
    return (*keys[:-1], -(keys[-1] * chunk_tokens + size)) if size else keys


class PrefixTable:
    """Gives every distinct prefix that ends at an engine block a small int, the same one every time."""

    __slots__ = ("_ids", "_next_id", "block_tokens", "chunk_tokens")

    def __init__(self, chunk_tokens: int, block_tokens: int) -> None:
        self.chunk_tokens = chunk_tokens
        self.block_tokens = block_tokens
        self._ids: dict[tuple[int, tuple[int, ...]], int] = {}
        self._next_id = 0

    def prompt_blocks(self, chunks: Sequence[int], prompt_tokens: int) -> list[int]:
        """Return the ids of the prompt's full blocks, in order.

        Raises:
            ValueError: the number of chunks does not fit the number of tokens.

        """
        keys = chunk_keys(chunks, self.chunk_tokens, prompt_tokens)
        if self.chunk_tokens < self.block_tokens:
            return self._blocks_of_several_chunks(keys, prompt_tokens // self.block_tokens)
        return self._chunks_of_several_blocks(keys, prompt_tokens // self.block_tokens)

    def private_blocks(self, n: int) -> list[int]:
        """Return `n` fresh ids, for blocks that no prompt contains: those that hold generated tokens."""
        first = self._next_id
        self._next_id += n
        return list(range(first, first + n))

    def _blocks_of_several_chunks(self, keys: tuple[int, ...], n_blocks: int) -> list[int]:
        block_tokens, round_up, chunk_tokens = self.block_tokens, self.chunk_tokens - 1, self.chunk_tokens
        intern = self._ids.setdefault
        next_id = self._next_id
        block, start, end_token = NO_PARENT, 0, round_up
        blocks = []
        for _ in range(n_blocks):
            end_token += block_tokens
            end = end_token // chunk_tokens
            block = intern((block, keys[start:end]), next_id)
            if block == next_id:
                next_id += 1
            blocks.append(block)
            start = end
        self._next_id = next_id
        return blocks

    def _chunks_of_several_blocks(self, keys: tuple[int, ...], n_blocks: int) -> list[int]:
        """Intern once per chunk: the blocks that end in one chunk have consecutive ids."""
        blocks: list[int] = []
        parent, end_token = NO_PARENT, 0
        for key in keys:
            end_token += self.chunk_tokens
            count = min(end_token // self.block_tokens, n_blocks) - len(blocks)
            if not count:
                break
            first = self._ids.setdefault((parent, (key,)), self._next_id)
            if first == self._next_id:
                self._next_id += count
            blocks.extend(range(first, first + count))
            parent = blocks[-1]
        return blocks


class SeenPrefixes:
    """Remembers prompts in order of sending; says how much of each no earlier one contained as a prefix.

    Block ids settle all but the last step: how far the prompt goes on, chunk by chunk, inside the first block
    that is new. For that, what has followed each block is kept as a sorted list of chunk runs; the longest
    common prefix with a sorted list is one with a neighbour.
    """

    __slots__ = ("_chunk_tokens", "_followers", "_seen", "block_tokens")

    def __init__(self, chunk_tokens: int, block_tokens: int) -> None:
        self._chunk_tokens = chunk_tokens
        self.block_tokens = block_tokens
        self._seen: set[int] = set()
        self._followers: dict[int, list[tuple[int, ...]]] = {}

    def known_blocks(self, blocks: Sequence[int]) -> int:
        """Return how many leading blocks earlier prompts contained. Remembers nothing."""
        return bisect_left(blocks, True, key=lambda block: block not in self._seen)

    def required_tokens(self, blocks: Sequence[int], chunks: Sequence[int], prompt_tokens: int) -> int:
        """Return the tokens of this prompt behind its longest prefix that an earlier prompt had; remember it.

        `blocks` are the ids that the `PrefixTable` of the same sizes gives for `chunks`.
        """
        keys = chunk_keys(chunks, self._chunk_tokens, prompt_tokens)
        known = self.known_blocks(blocks)
        self._seen.update(blocks[known:])
        end = shared = self._chunks_of(known)
        while end < len(keys):
            whole_blocks = end * self._chunk_tokens // self.block_tokens
            block = blocks[whole_blocks - 1] if whole_blocks else NO_PARENT
            start, end = end, self._chunks_of(whole_blocks + 1)
            shared += self._add_follower(block, keys[start:end])  # adds 0 behind the first block that is new
        return max(prompt_tokens - shared * self._chunk_tokens, 0)

    def _chunks_of(self, n_blocks: int) -> int:
        """Return the number of chunks up to the one that holds the last token of the first `n_blocks`."""
        return -(-n_blocks * self.block_tokens // self._chunk_tokens)

    def _add_follower(self, block: int, run: tuple[int, ...]) -> int:
        """Return how many chunks of `run` followed `block` before; keep what is new."""
        runs = self._followers.setdefault(block, [])
        at = bisect_left(runs, run)
        common = max((_common(run, other) for other in runs[max(at - 1, 0) : at + 1]), default=0)
        if common < len(run):
            runs.insert(at, run)
        return common


def _common(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    return sum(takewhile(bool, map(eq, left, right)))
