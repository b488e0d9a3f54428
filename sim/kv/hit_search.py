"""The longest prefix that all cache groups hit, for groups that read windows or blocks of unequal sizes.

vLLM 0.28.0's `HybridKVCacheCoordinator.find_longest_cache_hit`: full attention first, then each other kind
of group lowers the length that is left, all kinds again until none does. A window is hit where the blocks
that it reads are there, whatever was evicted before it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sim.kv.extent import Part
from sim.kv.group_spec import GroupSpec, aligned_tokens, hash_tokens
from sim.kv.pool import BlockPool
from sim.kv.runs import BlockRuns
from sim.kv.window_group import hit_blocks

Span = tuple[int, int]
"""Positions: from the first one on, the second one not included."""
NOTHING: Span = (0, 0)


class Found(NamedTuple):
    """What a search found."""

    tokens: int
    blocks: tuple[list[Part], ...]
    """By group; positions that a window does not read are left out."""
    full_tokens: int
    """Length of the full-attention run alone; of a model without such a group, the hit."""


class _Kind(NamedTuple):
    """Groups of equal spec: they are hit together."""

    spec: GroupSpec
    groups: list[int]


class HitSearch:
    """`drops_last_block`: the last block that attention finds is computed again."""

    def __init__(self, pool: BlockPool, specs: Sequence[GroupSpec], *, drops_last_block: bool) -> None:
        self._pool = pool
        self._specs = specs
        self._hash_tokens = hash_tokens(specs)
        self._aligned_tokens = aligned_tokens(specs)
        self._drops = drops_last_block
        kinds: dict[GroupSpec, list[int]] = {}
        for group, spec in enumerate(specs):
            kinds.setdefault(spec, []).append(group)
        self._kinds = [_Kind(spec, groups) for spec, groups in kinds.items()]
        self._kinds.sort(key=lambda kind: kind.spec.kind != "full")
        self._once = len(kinds) == 1 or (len(kinds) == 2 and self._kinds[0].spec.kind == "full")

    def find(self, block_ids: BlockRuns, limit_tokens: int) -> Found:
        """Return the longest hit of at most `limit_tokens`; changes nothing."""
        spans: list[Span] = [NOTHING] * len(self._specs)
        full_tokens: int | None = None
        length = limit_tokens
        dropped: set[int] = set()
        """Kinds whose drop has been made for the length in question: one is made once a length."""
        while True:
            reached = length
            for number, (spec, groups) in enumerate(self._kinds):
                if spec.kind == "full" and full_tokens is not None:
                    reached = min(reached, full_tokens)
                    continue
                drops = self._drops and number not in dropped
                most = reached
                if drops and spec.kind != "recurrent":
                    most = min(reached + spec.block_tokens, limit_tokens)
                span = self._span(spec, groups, block_ids, most, drops=drops)
                tokens = span[1] * spec.block_tokens
                if drops:
                    dropped.add(number)
                elif tokens < reached:
                    dropped.clear()
                reached = tokens
                for group in groups:
                    spans[group] = span
                if spec.kind == "full":
                    full_tokens = tokens
            if reached >= length:
                break
            length = reached
            if self._once:
                break
        blocks = tuple(
            self._blocks(group, spec, block_ids, spans[group], length)
            for group, spec in enumerate(self._specs)
        )
        return Found(length, blocks, length if full_tokens is None else full_tokens)

    def _blocks(
        self, group: int, spec: GroupSpec, block_ids: BlockRuns, span: Span, tokens: int
    ) -> list[Part]:
        start, end = span[0], min(span[1], tokens // spec.block_tokens)
        return self._pool.run(self._ids(spec, block_ids), end, group, start)

    def _ids(self, spec: GroupSpec, block_ids: BlockRuns) -> BlockRuns:
        return block_ids.every(spec.block_tokens // self._hash_tokens)

    def _span(
        self, spec: GroupSpec, groups: list[int], block_ids: BlockRuns, tokens: int, *, drops: bool
    ) -> Span:
        """Return the blocks that a kind of group hits within `tokens`; the hit ends with the last."""
        ids = self._ids(spec, block_ids)
        stop = min(tokens // spec.block_tokens, len(ids))
        if spec.kind == "full":
            return self._full_span(spec, groups, ids, stop, drops=drops)
        if spec.kind == "chunked_local":
            start = tokens // spec.window_tokens * spec.window_tokens // spec.block_tokens
            runs = self._present(ids, start, stop, groups)
            end = runs[0][1] if runs and runs[0][0] == start else start
            return start, end
        if spec.kind == "recurrent":
            return self._window_span(spec, self._present(ids, 0, stop, groups), 1, drops=False)
        return self._window_span(spec, self._present(ids, 0, stop, groups), hit_blocks(spec), drops=drops)

    def _full_span(
        self, spec: GroupSpec, groups: list[int], ids: BlockRuns, stop: int, *, drops: bool
    ) -> Span:
        end = stop
        for group in groups:
            run = self._pool.run(ids, stop, group)
            end = min(end, run[-1][2] if run else 0)
        if drops and end:
            end -= 1
        tokens = end * spec.block_tokens
        return 0, (tokens - tokens % self._aligned_tokens) // spec.block_tokens

    def _window_span(self, spec: GroupSpec, runs: list[Span], needed: int, *, drops: bool) -> Span:
        """Return the deepest `needed` successive blocks (one more, if the last is dropped) of these runs.

        They end where the hit of all groups may end. Fewer do where they begin the prompt.
        """
        last = 1 if drops else 0
        for start, stop in reversed(runs):
            end = self._aligned(spec, stop - last) + last
            if end > start and end - start >= needed + last:
                return end - last - needed, end - last
            if start == 0:
                # As vLLM does it: aligned before the last block is dropped, and once more after.
                end = self._aligned(spec, max(end, 0))
                if drops and end:
                    end = self._aligned(spec, end - 1)
                return 0, end
        return NOTHING

    def _aligned(self, spec: GroupSpec, position: int) -> int:
        """Return the deepest position, at most this one, at which a hit of all groups may end."""
        step = self._aligned_tokens // spec.block_tokens
        return position - position % step

    def _present(self, ids: BlockRuns, start: int, stop: int, groups: list[int]) -> list[Span]:
        """Return the runs of blocks that are cached in all of these groups."""
        runs = self._pool.present(ids, start, stop, groups[0])
        for group in groups[1:]:
            runs = _common(runs, self._pool.present(ids, start, stop, group))
        return runs


def _common(left: list[Span], right: list[Span]) -> list[Span]:
    """Return what is in both."""
    both: list[Span] = []
    a = b = 0
    while a < len(left) and b < len(right):
        start, stop = max(left[a][0], right[b][0]), min(left[a][1], right[b][1])
        if start < stop:
            both.append((start, stop))
        if left[a][1] < right[b][1]:
            a += 1
        else:
            b += 1
    return both
