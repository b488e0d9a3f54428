"""What is booked on each rank: prefill tokens, blocks and requests of everything routed and not yet ended."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.kv.interval_map import IntervalMap
from sim.kv.runs import BlockRuns, runs_of
from sim.router.fading import FadingBlocks
from sim.router.fading_prefill import FadingPrefill
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
        "prefill_s",
        "prefill_tokens",
        "progress_s",
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
        total_blocks: int,
        prefill_s: float = 0.0,
    ) -> None:
        self.request = request
        self.rank = rank
        self.booked_s = booked_s
        self.progress_s = booked_s
        """When the router last heard of it: booked, or a token came."""
        self.isl_tokens = isl_tokens
        self.expected_osl = expected_osl
        self.credit_tokens = credit_tokens
        """Prompt tokens that the router took to be cached on the rank."""
        self.prefill_tokens = prefill_tokens
        """Booked until the first token, then 0."""
        self.prefill_s = prefill_s
        """How long they should take; read where prompts fade."""
        self.blocks = blocks
        """Prompt blocks, shared with other requests of the rank."""
        self.own_blocks = own_blocks
        """Blocks that no other request can share: generated ones, and the prompt's if no reuse is assumed (it
        has no `blocks` then)."""
        self.total_blocks = total_blocks
        """Blocks of prompt and output seen so far, a partial one counted as one."""


_PREFILL_TOKENS: Final = 0
_ACTIVE_BLOCKS: Final = 1
_REQUESTS: Final = 2


class Loads:
    """The booked load of all ranks. Booking and freeing take time in proportion to the prompt's runs.

    Where nothing `fades`, loads are whole numbers of blocks; else their weights are summed beside them.
    Prompt tokens are booked whole; where `prefill_fades`, what is left of them by a time is told besides.
    """

    def __init__(self, ranks: int, *, fades: bool = False, prefill_fades: bool = False) -> None:
        self._ranks = ranks
        self._numbers = np.zeros((3, ranks), np.int64)
        self._fading = [FadingBlocks() for _ in range(ranks)] if fades else []
        self._fading_prefill = FadingPrefill(ranks) if prefill_fades else None
        self._active = IntervalMap(0)
        """The ranks where a running request has a block, as a set."""
        self._join, self._leave = joins(ranks), leaves(ranks)
        self._shared = [IntervalMap(0) for _ in range(ranks)]
        """How many running requests have a block beside the first that does."""
        self._open: dict[Booking, None] = {}

    @property
    def open(self) -> Iterable[Booking]:
        """Bookings not yet freed, oldest first."""
        return self._open.keys()

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

    @property
    def prefill_fades(self) -> bool:
        """Whether booked prefill tokens count less as time goes by."""
        return self._fading_prefill is not None

    def prefill_left(self, now_s: float) -> NDArray[np.int64]:
        """Return the prefill tokens of each rank as they count at a time: fewer than booked if they fade."""
        booked = self._numbers[_PREFILL_TOKENS]
        return booked.copy() if self._fading_prefill is None else self._fading_prefill.left(booked, now_s)

    def shared_depth(self, blocks: BlockRuns, among: int) -> NDArray[np.int64]:
        """Return, a rank, how many of the prompt's first blocks its running requests have already."""
        return depths(follow(self._active, blocks, [(0, among)]), self._ranks)

    def book(self, booking: Booking) -> None:
        """Add a request's load to its rank."""
        rank = booking.rank
        added = booking.own_blocks
        for run in runs_of(booking.blocks):
            for start, stop, holders in self._active.segments(run.start, run.stop):
                if holders >> rank & 1:
                    self._shared[rank].update(start, stop, _one_more)
                else:
                    self._active.update(start, stop, self._join[rank])
                    added += stop - start
        self._open[booking] = None
        self._numbers[_REQUESTS, rank] += 1
        self._numbers[_PREFILL_TOKENS, rank] += booking.prefill_tokens
        if self._fading_prefill is not None and booking.prefill_tokens:
            self._fading_prefill.book(
                booking, rank, booking.prefill_tokens, booking.prefill_s, booking.booked_s
            )
        if self._fading:
            self._fading[rank].book(booking, BlockRuns.of(booking.blocks), booking.own_blocks)
        self._add_blocks(rank, added)

    def end_prefill(self, booking: Booking, now_s: float) -> None:
        """Take the request's prefill tokens off its rank; blocks and the request stay."""
        if booking in self._open:
            if self._fading_prefill is not None:
                self._fading_prefill.end(booking, booking.rank, now_s)
            self._numbers[_PREFILL_TOKENS, booking.rank] -= booking.prefill_tokens
            booking.prefill_tokens = 0

    def add_output_block(self, booking: Booking, fraction: float | None) -> None:
        """Add a generated block; `fraction`, if any, becomes the weight of all that is the request's alone.

        That is its own blocks and, from the prompt's end backwards, the blocks that no other request has. A
        weight stays on a block, whoever shares it later, until it is set again or the block's last request
        ends.

        Raises:
            ValueError: there is a fraction, but nothing fades here.
        """
        if fraction is not None and not self._fading:
            raise ValueError(f"fraction {fraction} for request {booking.request}: these loads do not fade")
        if booking not in self._open:
            return
        booking.own_blocks += 1
        if self._fading:
            self._fading[booking.rank].add_output_block(booking, fraction)
        self._add_blocks(booking.rank, 1)

    def free(self, booking: Booking, now_s: float) -> None:
        """Take all that is left of a request off its rank; nothing if it was freed before."""
        if booking not in self._open:
            return
        self.end_prefill(booking, now_s)
        del self._open[booking]
        rank = booking.rank
        shared = self._shared[rank]
        taken = booking.own_blocks
        for run in runs_of(booking.blocks):
            for start, stop, others in shared.segments(run.start, run.stop):
                if others:
                    shared.update(start, stop, _one_less)
                else:
                    self._active.update(start, stop, self._leave[rank])
                    taken += stop - start
        self._numbers[_REQUESTS, rank] -= 1
        if self._fading:
            self._fading[rank].free(booking)
        self._add_blocks(rank, -taken)

    def _add_blocks(self, rank: int, blocks: int) -> None:
        if self._fading:
            self._numbers[_ACTIVE_BLOCKS, rank] = self._fading[rank].active_blocks
        else:
            self._numbers[_ACTIVE_BLOCKS, rank] += blocks

    def clear(self) -> None:
        """Free all requests."""
        for booking in list(self._open):
            self.free(booking, 0.0)  # no other prompt is left that time could run for


def _one_more(count: int) -> int:
    return count + 1


def _one_less(count: int) -> int:
    return count - 1
