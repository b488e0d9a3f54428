"""Blocks as stretches: what one request took in one cache group, in the order of its prompt.

A block is named by its stretch and its position in the prompt. A hash is the identity of a whole prefix, so
that its block stands at the same position in every prompt that has it: a hit is positions of stretches that
other requests made. A piece is what shares its fate; a stretch is cut only where that differs.
"""

from collections.abc import Sequence

from sim.kv.runs import BlockRuns

Part = tuple["Stretch", int, int]
"""Blocks of a stretch, by position: from the first one on, the second one not included."""


class Piece:
    """Neighbouring blocks with a hash that are referenced equally often and, if never, queue up together.

    In the free queue the deepest block of a piece is the first to go.
    """

    __slots__ = ("after", "before", "references", "start", "stop", "stretch")

    after: "Piece"
    before: "Piece"

    def __init__(self, stretch: "Stretch", start: int, stop: int, references: int) -> None:
        self.stretch = stretch
        self.start = start
        self.stop = stop
        self.references = references

    def enqueue(self, after: "Piece") -> None:
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

    def split(self, position: int) -> "Piece":
        """Give up the blocks from a position on; they become a piece of their own and keep their place."""
        deeper = Piece(self.stretch, position, self.stop, self.references)
        self.stop = position
        if not self.references:
            deeper.enqueue(self)
        return deeper


class Stretch:
    """The blocks that a request took in one group from position `first` on.

    Those before `end` were given a hash: the pieces are what of them has not been evicted since. Those from
    `end` on have none yet, and belong to the request alone.
    """

    __slots__ = ("end", "first", "group", "hashes", "numbers", "pieces")

    def __init__(self, group: int, first: int) -> None:
        self.group = group
        self.first = first
        self.end = first
        self.hashes = NO_HASHES
        """Of the whole prompt."""
        self.numbers: list[int] = []
        """Block numbers from `first` on; empty in a pool whose blocks have none."""
        self.pieces: list[Piece] = []
        """By position."""

    def numbers_of(self, start: int, stop: int) -> list[int]:
        """Return the block numbers of some positions."""
        return self.numbers[start - self.first : stop - self.first]

    def added_to(self, copies: tuple["Stretch", ...]) -> tuple["Stretch", ...]:
        """Return the stretches that carry a hash when this one does too, as the youngest."""
        return (*copies, self)

    def taken_from(self, copies: tuple["Stretch", ...]) -> tuple["Stretch", ...]:
        """Return the stretches that carry a hash when this one no longer does."""
        return tuple([other for other in copies if other is not self]) if len(copies) > 1 else ()

    def cut(self, start: int, stop: int) -> list[Piece]:
        """Return the pieces that make up some positions, cut where they reach beyond; all must be there."""
        pieces = self.pieces
        low = 0
        while pieces[low].stop <= start:
            low += 1
        if pieces[low].start < start:
            low += 1
            pieces.insert(low, pieces[low - 1].split(start))
        high = low
        while pieces[high].stop < stop:
            high += 1
        if pieces[high].stop > stop:
            pieces.insert(high + 1, pieces[high].split(stop))
        return pieces[low : high + 1]

    def join(self) -> None:
        """Make one piece of neighbours that share their fate."""
        pieces = self.pieces
        for place in range(len(pieces) - 1, 0, -1):
            deeper, piece = pieces[place], pieces[place - 1]
            if deeper.start == piece.stop and deeper.references == piece.references:
                if not piece.references:
                    if deeper.after is not piece:
                        continue
                    deeper.leave_queue()
                piece.stop = deeper.stop
                del pieces[place]

    def count_free(self, start: int, stop: int) -> int:
        """How many blocks at these positions nobody holds."""
        return sum(
            min(piece.stop, stop) - max(piece.start, start)
            for piece in self.pieces
            if not piece.references and piece.start < stop and piece.stop > start
        )


NO_HASHES = BlockRuns(())


def block_numbers(parts: Sequence[Part]) -> list[int]:
    """Return the block numbers of some parts, in order; none in a pool whose blocks have none."""
    return [number for stretch, start, stop in parts for number in stretch.numbers_of(start, stop)]
