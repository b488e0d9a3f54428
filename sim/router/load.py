"""What is booked on each rank: prefill tokens, blocks and requests of everything routed and not yet ended."""

from collections.abc import Sequence
from dataclasses import dataclass

from sim.router.cost import round_half_away
from sim.router.ranks import depths, follow


@dataclass(slots=True, eq=False)
class Booking:
    """The load that one routed request puts on its rank (Dynamo 1.5.0)."""

    request: int
    rank: int
    booked_s: float
    isl_tokens: int
    expected_osl: int | None
    credit_tokens: int
    """Prompt tokens that the router took to be cached on the rank."""
    prefill_tokens: int
    """Booked until the first token, then 0."""
    blocks: Sequence[int]
    """Prompt blocks, shared with other requests of the rank."""
    own_blocks: int
    """Blocks that no other request can share: generated ones, and the prompt's where no reuse is assumed."""
    own_weight: float
    """What the own blocks count for together: their number unless they faded."""
    total_blocks: int
    """Blocks of prompt and output seen so far, a partial one counted as one."""


class Loads:
    """The booked load of all ranks. Booking and freeing take time in proportion to the request's blocks."""

    def __init__(self, ranks: int) -> None:
        self.prefill_tokens = [0] * ranks
        self.requests = [0] * ranks
        self.active_blocks = [0] * ranks
        """Sum of the weights of each rank's distinct blocks, rounded."""
        self._weight = [0.0] * ranks
        self._references: list[dict[int, int]] = [{} for _ in range(ranks)]
        self._faded: list[dict[int, float]] = [{} for _ in range(ranks)]
        """Weights of shared blocks that count for less than 1."""
        self._active: dict[int, int] = {}
        """Block -> the ranks where a running request has it."""
        self._open: dict[Booking, None] = {}
        """Bookings not yet freed, oldest first."""

    def shared_depth(self, blocks: Sequence[int], among: int) -> list[int]:
        """Return, a rank, how many of the prompt's first blocks its running requests have already."""
        return depths(follow(self._active, blocks, [(0, among)]), len(self.requests))

    def book(self, booking: Booking) -> None:
        """Add a request's load to its rank."""
        rank = booking.rank
        references = self._references[rank]
        weight = booking.own_weight
        for block in booking.blocks:
            count = references.get(block, 0)
            references[block] = count + 1
            if not count:
                self._active[block] = self._active.get(block, 0) | 1 << rank
                weight += 1.0
        self._open[booking] = None
        self.requests[rank] += 1
        self.prefill_tokens[rank] += booking.prefill_tokens
        self._add_weight(rank, weight)

    def end_prefill(self, booking: Booking) -> None:
        """Take the request's prefill tokens off its rank; blocks and the request stay."""
        if booking in self._open:
            self.prefill_tokens[booking.rank] -= booking.prefill_tokens
            booking.prefill_tokens = 0

    def add_output_block(self, booking: Booking, fraction: float | None) -> None:
        """Add a generated block; `fraction`, if any, becomes the weight of all that is the request's alone.

        That is its own blocks and, from the prompt's end backwards, the blocks that no other request has. A
        weight stays on a block, whoever shares it later, until it is set again or the block's last request
        ends.
        """
        if booking not in self._open:
            return
        rank = booking.rank
        before = booking.own_weight
        booking.own_blocks += 1
        booking.own_weight += 1.0
        added = 0.0
        if fraction is not None:
            booking.own_weight = booking.own_blocks * fraction
            references, faded = self._references[rank], self._faded[rank]
            for block in reversed(booking.blocks):
                if references[block] > 1:
                    break
                added += fraction - faded.get(block, 1.0)
                faded[block] = fraction
        self._add_weight(rank, added + booking.own_weight - before)

    def free(self, booking: Booking) -> None:
        """Take all that is left of a request off its rank; nothing if it was freed before."""
        if booking not in self._open:
            return
        self.end_prefill(booking)
        del self._open[booking]
        rank = booking.rank
        references, faded = self._references[rank], self._faded[rank]
        weight = booking.own_weight
        for block in booking.blocks:
            count = references[block] - 1
            if count:
                references[block] = count
            else:
                del references[block]
                weight += faded.pop(block, 1.0)
                self._leave(block, rank)
        self.requests[rank] -= 1
        self._add_weight(rank, -weight)

    def expire(self, before_s: float) -> None:
        """Free the requests that were booked before this time."""
        for booking in list(self._open):
            if booking.booked_s >= before_s:
                break
            self.free(booking)

    def _leave(self, block: int, rank: int) -> None:
        left = self._active[block] & ~(1 << rank)
        if left:
            self._active[block] = left
        else:
            del self._active[block]

    def _add_weight(self, rank: int, weight: float) -> None:
        # Without requests the weight is 0; what is left of it then is rounding error of faded blocks.
        total = self._weight[rank] + weight if self.requests[rank] else 0.0
        self._weight[rank] = total
        self.active_blocks[rank] = round_half_away(total)
