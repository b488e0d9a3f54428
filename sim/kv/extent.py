"""Blocks as extents: what one request took in one cache group, in the order of its prompt.

A block is named by its extent and its position in the prompt. A hash is the identity of a whole prefix, so
that its block stands at the same position in every prompt that has it: a hit is positions of extents that
other requests made. A segment is what shares its fate; an extent is cut only where that differs.
"""

from collections.abc import Sequence

from sim.kv.runs import BlockRuns

Part = tuple["Extent", int, int]
"""Blocks of an extent, by position: from the first one on, the second one not included."""


class Segment:
    """Neighbouring blocks with a hash that are referenced equally often and, if never, queue up together.

    In the free queue the deepest block of a segment is the first to go.
    """

    __slots__ = ("after", "before", "extent", "references", "start", "stop")

    after: "Segment"
    before: "Segment"

    def __init__(self, extent: "Extent", start: int, stop: int, references: int) -> None:
        self.extent = extent
        self.start = start
        self.stop = stop
        self.references = references

    def enqueue(self, after: "Segment") -> None:
        """Stand in the free queue, directly before `after`."""
        before = after.before
        self.before = before
        self.after = after
        before.after = after.before = self

    def leave_queue(self) -> None:
        """Free no more, or gone."""
        before, after = self.before, self.after
        before.after = after
        after.before = before

    def split(self, position: int) -> "Segment":
        """Give up the blocks from a position on; they become a segment of their own and keep their place."""
        deeper = Segment(self.extent, position, self.stop, self.references)
        self.stop = position
        if not self.references:
            deeper.enqueue(self)
        return deeper


class Extent:
    """The blocks that a request took in one group from position `first` on.

    Those before `end` were given a hash: the segments are what of them has not been evicted since. Those from
    `end` on have none yet, and belong to the request alone.
    """

    __slots__ = ("block_ids", "end", "first", "group", "numbers", "segments", "tail", "tails")

    def __init__(self, group: int, first: int) -> None:
        self.group = group
        self.first = first
        self.end = first
        self.block_ids = NO_BLOCK_IDS
        """Of the whole prompt."""
        self.numbers: list[int] = []
        """Block numbers from `first` on; empty in a pool whose blocks have none."""
        self.segments: list[Segment] = []
        """By position."""
        self.tails: dict[int, list[int]] | None = None
        """Further ids, of prompts that end inside a block; by position. Nothing is ever found by them."""
        self.tail: int | None = None
        """Such an id of the block at `end`, which has no other yet, or at its last position never got one."""

    def numbers_of(self, start: int, stop: int) -> list[int]:
        """Return the block numbers of some positions."""
        return self.numbers[start - self.first : stop - self.first]

    def added_to(self, copies: tuple["Extent", ...]) -> tuple["Extent", ...]:
        """Return the extents that carry a hash when this one does too, as the youngest."""
        return (*copies, self)

    def taken_from(self, copies: tuple["Extent", ...]) -> tuple["Extent", ...]:
        """Return the extents that carry a hash when this one no longer does."""
        return tuple([other for other in copies if other is not self]) if len(copies) > 1 else ()

    def cut(self, start: int, stop: int) -> list[Segment]:
        """Return the segments that make up some positions, cut where they reach beyond; all must be there."""
        segments = self.segments
        low = 0
        while segments[low].stop <= start:
            low += 1
        if segments[low].start < start:
            low += 1
            segments.insert(low, segments[low - 1].split(start))
        high = low
        while segments[high].stop < stop:
            high += 1
        if segments[high].stop > stop:
            segments.insert(high + 1, segments[high].split(stop))
        return segments[low : high + 1]

    def join(self) -> None:
        """Make one segment of neighbours that share their fate."""
        segments = self.segments
        for place in range(len(segments) - 1, 0, -1):
            deeper, segment = segments[place], segments[place - 1]
            if deeper.start == segment.stop and deeper.references == segment.references:
                if not segment.references:
                    if deeper.after is not segment:
                        continue
                    deeper.leave_queue()
                segment.stop = deeper.stop
                del segments[place]

    def count_free(self, start: int, stop: int) -> int:
        """How many blocks at these positions nobody holds."""
        return sum(
            min(segment.stop, stop) - max(segment.start, start)
            for segment in self.segments
            if not segment.references and segment.start < stop and segment.stop > start
        )


NO_BLOCK_IDS = BlockRuns(())


def block_numbers(parts: Sequence[Part]) -> list[int]:
    """Return the block numbers of some parts, in order; none in a pool whose blocks have none."""
    return [number for extent, start, stop in parts for number in extent.numbers_of(start, stop)]
