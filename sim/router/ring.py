"""Consistent hashing: ranks at many places of a ring, and what lies clockwise of a key."""

from bisect import bisect_left
from collections.abc import Iterator

from sim.base.uniform import draw_bits

POINTS = 160
"""Places of a rank, of which libketama made a habit."""
SIZE = 1 << 64


class HashRing:
    """Places depend on a rank's number alone: one rank more or less moves no other."""

    __slots__ = ("_places", "_ranks")

    def __init__(self, ranks: int, points: int = POINTS) -> None:
        there = sorted((draw_bits(0, "ring", rank, k), rank) for rank in range(ranks) for k in range(points))
        self._places = [place for place, _ in there]
        self._ranks = [rank for _, rank in there]

    def clockwise(self, place: int) -> Iterator[int]:
        """Yield every rank once, in the order in which the ring is met from a place on."""
        count = len(self._places)
        at, seen = bisect_left(self._places, place), 0
        for step in range(count):
            rank = self._ranks[(at + step) % count]
            if not seen >> rank & 1:
                seen |= 1 << rank
                yield rank


def place_of(key: str) -> int:
    """Return where a key lies."""
    return draw_bits(0, f"key {key}", 0)
