"""A router that tells others of its bookings, and has theirs on its books (Dynamo 1.5.0).

What is told is who was booked where, first tokens and ends. Blocks of answers are not, nor that an answer
goes on: a router lets a booking of another go as one of its own of which it heard nothing more (`Expiry`).
"""

from collections.abc import Sequence
from typing import Protocol

from sim.router.config import RouterConfig
from sim.router.cost import CostTerms
from sim.router.load import Booking
from sim.router.policies import Policy, Surroundings
from sim.router.query import Query
from sim.router.router import PrefillEstimate, Router
from sim.router.rules import WorkerType


class Told(Protocol):
    """Who is told of a router's own bookings."""

    def booked(self, booking: Booking) -> None:
        """A request was booked now."""

    def first_token(self, booking: Booking) -> None:
        """Its prompt has been computed."""

    def freed(self, booking: Booking) -> None:
        """It has ended."""


class SyncedRouter(Router):
    """One of several routers of the same workers; `told` hears of its own bookings."""

    def __init__(
        self,
        config: RouterConfig,
        block_size: int,
        ranks: int,
        *,
        told: Told,
        policy: Policy | None = None,
        worker_type: WorkerType = "decode",
        around: Surroundings | None = None,
        total_kv_blocks: Sequence[int] | None = None,
        prefill_s: PrefillEstimate | None = None,
    ) -> None:
        super().__init__(
            config,
            block_size,
            ranks,
            policy=policy,
            worker_type=worker_type,
            around=around,
            total_kv_blocks=total_kv_blocks,
            prefill_s=prefill_s,
        )
        self._told = told
        self._of_others: dict[tuple[int, int], Booking] = {}
        """By router and request."""

    def book(self, query: Query, chosen: CostTerms, now_s: float) -> Booking:
        """See `Router`."""
        booking = super().book(query, chosen, now_s)
        self._told.booked(booking)
        return booking

    def first_token(self, booking: Booking, now_s: float) -> None:
        """See `Router`; of what it does not know any more it says nothing."""
        known = booking in self.loads.open
        super().first_token(booking, now_s)
        if known:
            self._told.first_token(booking)

    def free(self, booking: Booking, now_s: float) -> None:
        """See `Router`; of what it does not know any more it says nothing."""
        known = booking in self.loads.open
        super().free(booking, now_s)
        if known:
            self._told.freed(booking)

    def forget_bookings(self) -> None:
        """See `Router`: nor of those of others."""
        super().forget_bookings()
        self._of_others.clear()

    # What others say

    def booked_elsewhere(self, router: int, booking: Booking, now_s: float) -> None:
        """Another router has booked a request; `booking`, a copy, is of this router alone from now on."""
        self.progress(booking, now_s, now_s)
        self.freed_elsewhere(router, booking.request, now_s)  # of an earlier try, whose end it did not hear
        self.loads.book(booking)
        self._of_others[router, booking.request] = booking

    def first_token_elsewhere(self, router: int, request: int, now_s: float) -> None:
        """The prompt of a request of another router has been computed."""
        booking = self._of_others.get((router, request))
        if booking is not None:
            super().first_token(booking, now_s)

    def freed_elsewhere(self, router: int, request: int, now_s: float) -> None:
        """A request of another router has ended."""
        booking = self._of_others.pop((router, request), None)
        if booking is not None:
            super().free(booking, now_s)


def copy_of(booking: Booking, heard_s: float) -> Booking:
    """Return a booking as another router has it that hears of it at a time."""
    return Booking(
        request=booking.request,
        rank=booking.rank,
        booked_s=heard_s,
        isl_tokens=booking.isl_tokens,
        expected_osl=booking.expected_osl,
        credit_tokens=booking.credit_tokens,
        prefill_tokens=booking.prefill_tokens,
        blocks=booking.blocks,
        own_blocks=booking.own_blocks,
        total_blocks=booking.total_blocks,
        prefill_s=booking.prefill_s,
    )
