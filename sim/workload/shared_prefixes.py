"""Prefixes that prompts of two owners have in common, as chunks of a trace."""

from array import array
from collections.abc import Iterable, Sequence

SHARED = -1
WORD = 8


class SharedPrefixes:
    """The tree of all prompts' full chunks; each knows its one owner, or that there are several.

    `prompts` are (owner, chunks, tokens), in any order; a partial last chunk is left out.
    """

    __slots__ = ("_chunk", "_owner", "_parent")

    def __init__(self, prompts: Iterable[tuple[int, Sequence[int], int]], chunk_tokens: int) -> None:
        self._parent = array("q")
        self._chunk = array("Q")
        self._owner = array("q")
        following: dict[tuple[int, int], int] = {}
        latest: dict[int, tuple[array[int], array[int]]] = {}
        """The newest prompt of each owner: its chunks, and where each stands in the tree."""
        for owner, chunks, tokens in prompts:
            full = array("Q", chunks[: tokens // chunk_tokens])
            before, path = latest.get(owner, (array("Q"), array("q")))
            same = _common(before, full)
            path = path[:same]
            node = path[-1] if same else SHARED
            for chunk in full[same:]:
                node = self._step(following, node, chunk, owner)
                path.append(node)
            latest[owner] = full, path

    def _step(self, following: dict[tuple[int, int], int], node: int, chunk: int, owner: int) -> int:
        found = following.get((node, chunk))
        if found is None:
            found = following[node, chunk] = len(self._owner)
            self._parent.append(node)
            self._chunk.append(chunk)
            self._owner.append(owner)
        elif self._owner[found] != owner:
            self._owner[found] = SHARED
        return found

    def longest(self) -> "list[array[int]]":
        """Return the chunks of every shared prefix that none longer begins with, in order of the prompts."""
        shared = [node for node, owner in enumerate(self._owner) if owner == SHARED]
        inner = {self._parent[node] for node in shared}
        return [self._path(node) for node in shared if node not in inner]

    def chunks(self) -> frozenset[int]:
        """Return the ids of all chunks in shared prefixes."""
        return frozenset(
            chunk for chunk, owner in zip(self._chunk, self._owner, strict=True) if owner == SHARED
        )

    def _path(self, node: int) -> "array[int]":
        path = array("Q")
        while node != SHARED:
            path.append(self._chunk[node])
            node = self._parent[node]
        path.reverse()
        return path


def _common(before: "array[int]", now: "array[int]") -> int:
    """Return how many leading chunks are equal."""
    low, high = 0, min(len(before), len(now))
    one, two = memoryview(before), memoryview(now)
    if one[:high] == two[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == two[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
