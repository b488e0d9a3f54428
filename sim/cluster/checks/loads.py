"""What is booked on a rank is what the requests there put on it; at the end that is nothing.

A router has the requests of its own front end on its books, and those that others told it of.
"""

from collections.abc import Callable
from itertools import chain

from sim.base.errors import InvariantError
from sim.cluster.pool import Pool
from sim.kv.runs import runs_of
from sim.router import Booking, Router

RULE = "booked loads return"


class Loads:
    """The bookings of one router of a pool."""

    def __init__(
        self, pool: Pool, router: Router, expiry_s: float, answered: Callable[[int], bool] = lambda _: False
    ) -> None:
        """Bookings as old as `expiry_s` may be let go before their request ends.

        `answered` says whether a request, by index, has passed this pool, and is on its way to another one.
        """
        self._pool = pool
        self._router = router
        self._expiry_s = expiry_s
        self._answered = answered
        self._bookings: dict[int, Booking] = {}
        """Of requests that have not ended, by index."""
        self._of_others: dict[tuple[int, int], Booking] = {}
        """What other routers said last, by front end and index."""

    def booked(self, booking: Booking, now_s: float) -> None:
        """A request was booked."""
        other = self._bookings.get(booking.request)
        if other is not None:
            self._fail("booked twice in one pool", other.rank, now_s, request=booking.request)
        self._bookings[booking.request] = booking
        self.check_sign(now_s)

    def returned(self, index: int) -> None:
        """A request is no longer on its rank."""
        self._bookings.pop(index, None)

    def told(self, front_end: int, booking: Booking, now_s: float, *, booked: bool) -> None:
        """Another front end's router said that it booked a request, or has let it go."""
        self._of_others.pop((front_end, booking.request), None)
        if booked:
            self._of_others[front_end, booking.request] = booking
        self.check_sign(now_s)

    def prefill_tokens(self) -> list[int]:
        """Return the prefill tokens of each rank, by the requests there."""
        tokens = [0] * len(self._pool.members)
        for booking in chain(self._bookings.values(), self._of_others.values()):
            tokens[booking.rank] += booking.prefill_tokens
        return tokens

    def forgotten(self, now_s: float) -> None:
        """The router knows of no request any more."""
        self._bookings.clear()
        self._of_others.clear()
        self.check_sums(now_s)

    def check_sign(self, now_s: float) -> None:
        """No load is negative."""
        columns = self._router.loads.columns()
        if columns.min() < 0:
            rank = int(columns.min(axis=0).argmin())
            self._fail(f"negative load {columns[:, rank].tolist()}", rank, now_s)
        if self._router.loads.prefill_fades:
            left, booked = self._router.loads.prefill_left(now_s).tolist(), columns[0].tolist()
            for rank, tokens in enumerate(left):
                if not 0 <= tokens <= booked[rank]:
                    self._fail(f"{tokens} prefill tokens are left of {booked[rank]} booked", rank, now_s)

    def check_sums(self, now_s: float) -> None:
        """Compare the loads with the bookings of the requests that have not ended."""
        for index in [index for index in self._bookings if self._answered(index)]:
            self.returned(index)
        loads = self._router.loads
        ranks = len(loads.requests)
        alive, sure, prefill = [0] * ranks, [0] * ranks, [0] * ranks
        blocks: list[set[int]] = [set() for _ in range(ranks)]
        own = [0] * ranks
        for booking in chain(self._bookings.values(), self._of_others.values()):
            rank = booking.rank
            alive[rank] += 1
            sure[rank] += booking.booked_s >= now_s - self._expiry_s
            prefill[rank] += booking.prefill_tokens
            blocks[rank].update(*runs_of(booking.blocks))
            own[rank] += booking.own_blocks
        for rank, requests in enumerate(loads.requests):
            if not sure[rank] <= requests <= alive[rank]:
                detail = f"{requests} requests are booked, {alive[rank]} are there"
                self._fail(detail, rank, now_s)
            if loads.prefill_tokens[rank] != prefill[rank]:
                detail = (
                    f"{loads.prefill_tokens[rank]} prefill tokens are booked, {prefill[rank]} by requests"
                )
                self._fail(detail, rank, now_s)
            active = len(blocks[rank]) + own[rank]
            if sure[rank] == alive[rank] and loads.active_blocks[rank] != active:
                detail = f"{loads.active_blocks[rank]} blocks are booked, {active} by requests"
                self._fail(detail, rank, now_s)

    def _fail(self, detail: str, rank: int, now_s: float, request: int | None = None) -> None:
        worker = self._pool.members[rank]
        raise InvariantError(RULE, detail, request=request, worker=worker, now_s=now_s)
