"""Keys of a tier as runs: those of a prompt in one cache group are a few runs of consecutive hashes."""

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import overload

from sim.kv.runs import BlockRuns

Key = tuple[int, int]
"""Hash and group."""


class KeyRuns(Sequence[Key]):
    """An immutable sequence of keys of one group; wherever keys are asked for, a list does as well."""

    __slots__ = ("blocks", "group")

    def __init__(self, blocks: BlockRuns, group: int) -> None:
        self.blocks = blocks
        self.group = group

    def __len__(self) -> int:
        return len(self.blocks)

    def __iter__(self) -> Iterator[Key]:
        return zip(chain.from_iterable(self.blocks.ranges), repeat(self.group))

    def __reversed__(self) -> Iterator[Key]:
        return zip(chain.from_iterable(map(reversed, reversed(self.blocks.ranges))), repeat(self.group))

    @overload
    def __getitem__(self, index: int) -> Key: ...
    @overload
    def __getitem__(self, index: slice) -> "KeyRuns": ...
    def __getitem__(self, index: "int | slice") -> "Key | KeyRuns":
        if isinstance(index, slice):
            return KeyRuns(self.blocks[index], self.group)
        return self.blocks[index], self.group


def runs_of_keys(keys: Sequence[Key]) -> list[tuple[range, int]]:
    """Return keys as ascending runs of hashes, each with its group, in the order of the sequence."""
    if isinstance(keys, KeyRuns):
        return [(run, keys.group) for run in keys.blocks.ranges]
    found: list[tuple[range, int]] = []
    start, stop, of = 0, 0, -1
    for block, group in keys:
        if block != stop or group != of:
            if start != stop:
                found.append((range(start, stop), of))
            start, of = block, group
        stop = block + 1
    if start != stop:
        found.append((range(start, stop), of))
    return found
