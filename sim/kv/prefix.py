"""Which prompt blocks are the same block: the identity of a prefix, as runs of small ints.

A trace names a prompt by chunks (16, 64, 512 tokens a hash id), an engine keeps blocks (16, 64, 800 tokens).
The identity of an engine block is the identity of the whole prefix up to its end, and follows from all chunks
up to the one that holds its last token. A chunk counts as (id, size): the partial last chunk of a prompt
equals only a chunk of the same id and size, never a part of a full one; vLLM 0.28.0's `timed_trace` client
makes its tokens that way.

A prompt may also begin with what an earlier request asked and was answered: its blocks up to there are that
request's, whatever the chunks are called (`inherited`). That gives names to blocks and no more: how much of a
prompt earlier ones had is told by whole chunks alone.

Prompts are kept as a radix tree over chunks, so that a prompt costs the places where it leaves another one
and not its blocks.
"""

from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from sim.kv.runs import BlockRuns

WORD: Final = 8
"""Bytes of a chunk id."""


class Prompt(NamedTuple):
    """What a prompt is among those before it."""

    blocks: BlockRuns
    """Identities of its full blocks, ascending where none are inherited."""
    required_tokens: int
    """Its tokens behind the longest prefix that an earlier prompt had."""


class PrefixTable:
    """All prompts so far; every distinct prefix that ends at an engine block has an int, always the same."""

    __slots__ = ("_next_id", "_root", "block_tokens", "chunk_tokens")

    def __init__(self, chunk_tokens: int, block_tokens: int) -> None:
        self.chunk_tokens = chunk_tokens
        self.block_tokens = block_tokens
        self._root = _Node(b"", 0, 0)
        self._next_id = 0

    def add(self, chunks: Sequence[int], prompt_tokens: int, inherited: BlockRuns | None = None) -> Prompt:
        """Return the blocks of a prompt, and how much of it no prompt had before; remember it.

        `chunks` are ids from 0 to 2^64 - 1, one for every `chunk_tokens` tokens, rounded up. `inherited` are
        the identities of its leading blocks where they are known from elsewhere. Blocks that an earlier
        prompt of the same chunks gave other names to keep those, and so do all behind them.

        Raises:
            ValueError: the number of chunks does not fit the number of tokens.

        """
        words = self._words(chunks, prompt_tokens)
        chunk_tokens, block_tokens = self.chunk_tokens, self.block_tokens
        end, partial = len(words), prompt_tokens % chunk_tokens
        node, at, n_blocks, required_tokens = self._root, 0, 0, 0
        runs: list[range] = []
        while at < end:
            key = _key(words, at, partial)
            child = node.following.get(key) if node.following else None
            if child is None:
                required_tokens = prompt_tokens - at // WORD * chunk_tokens
                child = _Node(words[at:], partial, self._next_id)
                self._next_id += prompt_tokens // block_tokens - n_blocks
                if inherited is not None:
                    child.inherit(inherited, runs, n_blocks)
                node.lead_to(key, child)
            elif not child.starts(words, at, partial):
                self._split(child, at, child.common_words(words, at, partial))
            at += len(child.chunks)
            tokens = at // WORD * chunk_tokens if at < end else prompt_tokens
            start, n_blocks = n_blocks, tokens // block_tokens
            if child.inherited is None:
                runs.append(range(child.first_block, child.first_block + n_blocks - start))
            else:
                runs += child.blocks(n_blocks - start)
            node = child
        return Prompt(BlockRuns(runs), required_tokens)

    def required_tokens(self, chunks: Sequence[int], prompt_tokens: int) -> int:
        """Return how much of a prompt no remembered one has, without remembering it; raises as `add` does."""
        words = self._words(chunks, prompt_tokens)
        node, at, partial = self._root, 0, prompt_tokens % self.chunk_tokens
        while at < len(words):
            child = node.following.get(_key(words, at, partial)) if node.following else None
            if child is None or not child.starts(words, at, partial):
                common = at // WORD + (child.common_words(words, at, partial) if child else 0)
                return prompt_tokens - common * self.chunk_tokens
            node, at = child, at + len(child.chunks)
        return 0

    def private_blocks(self, n: int) -> range:
        """Return `n` fresh ids, for blocks that no prompt contains: those that hold generated tokens."""
        first = self._next_id
        self._next_id += n
        return range(first, self._next_id)

    def _words(self, chunks: Sequence[int], prompt_tokens: int) -> bytes:
        """Return the ids of a prompt's chunks, a word each."""
        if len(chunks) != -(-prompt_tokens // self.chunk_tokens):
            raise ValueError(
                f"{len(chunks)} chunks of {self.chunk_tokens} tokens do not make {prompt_tokens} tokens"
            )
        return array("Q", chunks).tobytes()

    def _blocks(self, n_bytes: int) -> int:
        """Return how many blocks end in the full chunks that fill so many bytes."""
        return n_bytes // WORD * self.chunk_tokens // self.block_tokens

    def _split(self, node: "_Node", at: int, n_words: int) -> None:
        """Leave a node its first chunks, and the rest to a node that follows it; it starts at byte `at`."""
        cut = n_words * WORD
        n_blocks = self._blocks(at + cut) - self._blocks(at)
        rest = _Node(node.chunks[cut:], node.partial, node.first_block + n_blocks)
        rest.following = node.following
        if node.inherited is not None:
            rest.inherited = node.inherited[n_blocks:]
            node.inherited = node.inherited[:n_blocks]
        node.chunks, node.partial, node.following = node.chunks[:cut], 0, None
        node.lead_to(_key(rest.chunks, 0, rest.partial), rest)


class _Node:
    """Chunks that follow the same chunks in every prompt that has the first of them."""

    __slots__ = ("chunks", "first_block", "following", "inherited", "partial")

    def __init__(self, chunks: bytes, partial: int, first_block: int) -> None:
        self.chunks = chunks
        """Ids, a word each."""
        self.partial = partial
        """Tokens of the last chunk if that is a partial one, else 0."""
        self.first_block = first_block
        """The blocks that end in these chunks have ids from here on,"""
        self.inherited: BlockRuns | None = None
        """but for the first so many, whose ids are these."""
        self.following: dict[bytes, _Node] | None = None

    def lead_to(self, key: bytes, child: "_Node") -> None:
        if self.following is None:
            self.following = {}
        self.following[key] = child

    def inherit(self, blocks: BlockRuns, before: Sequence[range], position: int) -> None:
        """Take over the blocks of a prompt from `position` on, if those `before` are the same."""
        if position < len(blocks) and (not position or blocks[position - 1] == _last(before)):
            self.inherited = blocks[position:]

    def blocks(self, n: int) -> list[range]:
        """Return the ids of its `n` blocks."""
        taken = self.inherited.between(0, n) if self.inherited is not None else []
        n_taken = sum(map(len, taken))
        return [*taken, range(self.first_block + n_taken, self.first_block + n)]

    def starts(self, words: bytes, at: int, partial: int) -> bool:
        """Whether the prompt has all chunks of this node from byte `at` on."""
        last = at + len(self.chunks) == len(words)
        return words.startswith(self.chunks, at) and self.partial == (partial if last else 0)

    def common_words(self, words: bytes, at: int, partial: int) -> int:
        """Return how many full chunks the prompt from byte `at` on shares with this node, at least one."""
        low = 1
        high = min(len(self.chunks) // WORD - (self.partial > 0), (len(words) - at) // WORD - (partial > 0))
        while low < high:
            middle = (low + high + 1) // 2
            if words.startswith(self.chunks[low * WORD : middle * WORD], at + low * WORD):
                low = middle
            else:
                high = middle - 1
        return low


def _last(runs: Sequence[range]) -> int:
    """Return the last block of runs of which any may be empty."""
    return next(run.stop - 1 for run in reversed(runs) if run)


def _key(words: bytes, at: int, partial: int) -> bytes:
    """Return what the chunk at byte `at` is known by: its id, and for the partial one also its size."""
    if partial and at + WORD == len(words):
        return words[at:] + partial.to_bytes(WORD, "little")
    return words[at : at + WORD]
