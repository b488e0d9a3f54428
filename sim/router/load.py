"""What is booked on each rank: prefill tokens, blocks and requests of everything routed and not yet ended."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.kv.runs import BlockRuns, runs_of
from sim.kv.spans import Spans
from sim.router.cost import round_half_away
from sim.router.ranks import depths, follow, joins, leaves


class Booking:
    """The load that one routed request puts on its rank (Dynamo 1.5.0)."""

    __slots__ = (
        "blocks",
        "booked_s",
        "credit_tokens",
        "expected_osl",
        "isl_tokens",
        "own_blocks",
        "own_weight",
        "prefill_tokens",
        "rank",
        "request",
        "total_blocks",
    )

    def __init__(
        self,
        *,
        request: int,
        rank: int,
        booked_s: float,
        isl_tokens: int,
        expected_osl: int | None,
        credit_tokens: int,
        prefill_tokens: int,
        blocks: Sequence[int],
        own_blocks: int,
        own_weight: float,
        total_blocks: int,
    ) -> None:
        self.request = request
        self.rank = rank
        self.booked_s = booked_s
        self.isl_tokens = isl_tokens
        self.expected_osl = expected_osl
        self.credit_tokens = credit_tokens
        """Prompt tokens that the router took to be cached on the rank."""
        self.prefill_tokens = prefill_tokens
        """Booked until the first token, then 0."""
        self.blocks = blocks
        """Prompt blocks, shared with other requests of the rank."""
        self.own_blocks = own_blocks
        """Blocks that no other request can share: generated ones, and the prompt's if no reuse is assumed."""
        self.own_weight = own_weight
        """What the own blocks count for together: their number unless they faded."""
        self.total_blocks = total_blocks
        """Blocks of prompt and output seen so far, a partial one counted as one."""


_PREFILL_TOKENS: Final = 0
_ACTIVE_BLOCKS: Final = 1
_REQUESTS: Final = 2


class Loads:
    """The booked load of all ranks. Booking and freeing take time in proportion to the prompt's runs."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._numbers = np.zeros((3, ranks), np.int64)
        self._weight = [0.0] * ranks
        """Sum of the weights of each rank's distinct blocks."""
        self._active = Spans(0)
        """The ranks where a running request has a block, as a set."""
        self._join, self._leave = joins(ranks), leaves(ranks)
        self._shared = [Spans(0) for _ in range(ranks)]
        """How many running requests have a block beside the first that does."""
        self._block_weight = [Spans(1.0) for _ in range(ranks)]
        """What a block counts for: 1 unless it faded."""
        self._open: dict[Booking, None] = {}
        """Bookings not yet freed, oldest first."""

    @property
    def prefill_tokens(self) -> list[int]:
        """Booked prefill tokens of each rank."""
        return self._row(_PREFILL_TOKENS)

    @property
    def active_blocks(self) -> list[int]:
        """Sum of the weights of each rank's distinct blocks, rounded."""
        return self._row(_ACTIVE_BLOCKS)

    @property
    def requests(self) -> list[int]:
        """Running requests of each rank."""
        return self._row(_REQUESTS)

    def _row(self, row: int) -> list[int]:
        numbers: list[int] = self._numbers[row].tolist()
        return numbers

    def columns(self) -> NDArray[np.int64]:
        """Return prefill tokens, active blocks and requests as they are now: three rows, an entry a rank."""
        return self._numbers.copy()

    def shared_depth(self, blocks: BlockRuns, among: int) -> NDArray[np.int64]:
        """Return, a rank, how many of the prompt's first blocks its running requests have already."""
        return depths(follow(self._active, blocks, [(0, among)]), self._ranks)

    def book(self, booking: Booking) -> None:
        """Add a request's load to its rank."""
        rank = booking.rank
        added = 0
        for run in runs_of(booking.blocks):
            for start, stop, holders in self._active.pieces(run.start, run.stop):
                if holders >> rank & 1:
                    self._shared[rank].update(start, stop, _one_more)
                else:
                    self._active.update(start, stop, self._join[rank])
                    added += stop - start
        self._open[booking] = None
        self._numbers[_REQUESTS, rank] += 1
        self._numbers[_PREFILL_TOKENS, rank] += booking.prefill_tokens
        self._add_weight(rank, _repeated(booking.own_weight, 1.0, added))

    def end_prefill(self, booking: Booking) -> None:
        """Take the request's prefill tokens off its rank; blocks and the request stay."""
        if booking in self._open:
            self._numbers[_PREFILL_TOKENS, booking.rank] -= booking.prefill_tokens
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
            weights = self._block_weight[rank]
            for start, stop in self._exclusive_suffix(booking):
                for first, last, weight in reversed(weights.pieces(start, stop)):
                    added = _repeated(added, fraction - weight, last - first)
                weights.update(start, stop, lambda _: fraction)
        self._add_weight(rank, added + booking.own_weight - before)

    def _exclusive_suffix(self, booking: Booking) -> Iterator[tuple[int, int]]:
        """Yield the runs of a prompt that no other request of its rank has, from the end backwards."""
        shared = self._shared[booking.rank]
        for run in reversed(runs_of(booking.blocks)):
            for start, stop, others in reversed(shared.pieces(run.start, run.stop)):
                if others:
                    return
                yield start, stop

    def free(self, booking: Booking) -> None:
        """Take all that is left of a request off its rank; nothing if it was freed before."""
        if booking not in self._open:
            return
        self.end_prefill(booking)
        del self._open[booking]
        rank = booking.rank
        shared, weights = self._shared[rank], self._block_weight[rank]
        taken = booking.own_weight
        for run in runs_of(booking.blocks):
            for start, stop, others in shared.pieces(run.start, run.stop):
                if others:
                    shared.update(start, stop, _one_less)
                    continue
                if not weights:
                    taken = _repeated(taken, 1.0, stop - start)
                else:
                    for first, last, weight in weights.pieces(start, stop):
                        taken = _repeated(taken, weight, last - first)
                    weights.update(start, stop, lambda _: 1.0)
                self._active.update(start, stop, self._leave[rank])
        self._numbers[_REQUESTS, rank] -= 1
        self._add_weight(rank, -taken)

    def clear(self) -> None:
        """Free all requests."""
        for booking in list(self._open):
            self.free(booking)

    def expire(self, before_s: float) -> None:
        """Free the requests that were booked before this time."""
        for booking in list(self._open):
            if booking.booked_s >= before_s:
                break
            self.free(booking)

    def _add_weight(self, rank: int, weight: float) -> None:
        # Without requests the weight is 0; what is left of it then is rounding error of faded blocks.
        total = self._weight[rank] + weight if self._numbers[_REQUESTS, rank] else 0.0
        self._weight[rank] = total
        self._numbers[_ACTIVE_BLOCKS, rank] = round_half_away(total)


def _repeated(total: float, weight: float, times: int) -> float:
    """Return `total` with `weight` added so many times, rounded each time: blocks are added one by one."""
    if not total % 1 and not weight % 1:  # whole numbers are not rounded
        return total + weight * times
    for _ in range(times):
        total += weight
    return total


def _one_more(count: int) -> int:
    return count + 1


def _one_less(count: int) -> int:
    return count - 1
