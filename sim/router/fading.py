"""What the blocks of one rank's running requests count for where they may fade (Dynamo 1.5.0).

Dynamo adds weights by the edges of a compressed tree of prompts, and rounds the sum to whole blocks. So that
it is rounded alike, edges and order of the additions are its own: no edge is joined again once it was split.
"""

from sim.kv.runs import BlockRuns
from sim.router.cost import round_half_away


class _Edge:
    """A run of blocks that the same requests have."""

    __slots__ = ("above", "blocks", "ends", "followers", "weight")

    def __init__(self, blocks: BlockRuns, weight: float, above: "_Edge | None") -> None:
        self.blocks = blocks
        self.weight = weight
        """Of each of its blocks: 1 until it fades, then the same for all who share it."""
        self.above = above
        self.followers = 0
        """Edges that go on from its end."""
        self.ends = 0
        """Requests whose prompt ends with it."""


class _Request:
    """What one request has here."""

    __slots__ = ("generated", "tail")

    def __init__(self, tail: _Edge | None) -> None:
        self.tail = tail
        """The last edge of its prompt."""
        self.generated: list[float] = []
        """The weight of each generated block."""


class FadingBlocks:
    """The distinct blocks of one rank's running requests, with their weights."""

    def __init__(self) -> None:
        self._requests: dict[object, _Request] = {}
        self._by_first: dict[int, _Edge] = {}
        """Edges that others may share. A block's id stands for all before it, so the first one tells."""
        self._edges = 0
        self._generated = 0
        self._prompt_weight = 0.0
        self._generated_weight = 0.0

    @property
    def active_blocks(self) -> int:
        """The sum of all weights, rounded."""
        return int(round_half_away(self._prompt_weight + self._generated_weight))

    def book(self, request: object, blocks: BlockRuns, own_blocks: int) -> None:
        """Add a request: its prompt's blocks, or so many that nobody can share."""
        if own_blocks:
            tail: _Edge | None = self._add(BlockRuns([range(own_blocks)]), None)
        else:
            tail = self._enter(blocks)
        if tail is not None:
            tail.ends += 1
        self._requests[request] = _Request(tail)

    def add_output_block(self, request: object, fraction: float | None) -> None:
        """Add a generated block; a `fraction` becomes the weight of all that is the request's alone."""
        mine = self._requests[request]
        mine.generated.append(1.0)
        self._generated += 1
        self._generated_weight += 1.0
        if fraction is None:
            return
        for weight in mine.generated:
            self._generated_weight += fraction - weight
        mine.generated = [fraction] * len(mine.generated)
        edge = mine.tail
        while edge is not None and edge.ends + edge.followers == 1:
            self._prompt_weight += len(edge.blocks) * (fraction - edge.weight)
            edge.weight = fraction
            edge = edge.above

    def free(self, request: object) -> None:
        """Take away what only this request has."""
        mine = self._requests.pop(request)
        for weight in mine.generated:
            self._generated_weight -= weight
        self._generated -= len(mine.generated)
        if not self._generated:
            self._generated_weight = 0.0
        edge = mine.tail
        if edge is not None:
            edge.ends -= 1
        while edge is not None and not edge.ends and not edge.followers:
            edge = self._remove(edge)
        if not self._edges:
            self._prompt_weight = 0.0

    def _enter(self, blocks: BlockRuns) -> _Edge | None:
        """Return the edge that ends where this prompt does, made or cut off if need be."""
        tail: _Edge | None = None
        depth, length = 0, len(blocks)
        while depth < length:
            edge = self._by_first.get(blocks[depth])
            if edge is None:
                new = self._add(blocks[depth:], tail)
                self._by_first[blocks[depth]] = new
                return new
            shared = _common(edge.blocks, blocks[depth:])
            tail = edge if shared == len(edge.blocks) else self._split(edge, shared)
            depth += shared
        return tail

    def _add(self, blocks: BlockRuns, above: _Edge | None) -> _Edge:
        self._edges += 1
        self._prompt_weight += len(blocks)
        if above is not None:
            above.followers += 1
        return _Edge(blocks, 1.0, above)

    def _split(self, edge: _Edge, depth: int) -> _Edge:
        """Cut an edge in two and return the upper part; requests and edges below stay with the lower one."""
        upper = _Edge(edge.blocks[:depth], edge.weight, edge.above)
        upper.followers = 1
        edge.blocks, edge.above = edge.blocks[depth:], upper
        self._by_first[upper.blocks[0]] = upper
        self._by_first[edge.blocks[0]] = edge
        self._edges += 1
        return upper

    def _remove(self, edge: _Edge) -> _Edge | None:
        """Take an edge off and return the one above."""
        self._edges -= 1
        self._prompt_weight -= len(edge.blocks) * edge.weight
        if self._by_first.get(edge.blocks[0]) is edge:
            del self._by_first[edge.blocks[0]]
        if edge.above is not None:
            edge.above.followers -= 1
        return edge.above


def _common(one: BlockRuns, other: BlockRuns) -> int:
    """Return how many blocks two sequences have in common at their start."""
    common = 0
    for mine, theirs in zip(one.ranges, other.ranges, strict=False):
        if mine.start != theirs.start:
            break
        common += min(len(mine), len(theirs))
        if len(mine) != len(theirs):
            break
    return common
