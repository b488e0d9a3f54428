"""What a router takes its ranks to hold because it sent requests there itself: not told, guessed."""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

from sim.kv.interval_map import IntervalMap
from sim.kv.runs import BlockRuns, runs_of
from sim.router.columns import Column
from sim.router.load import Booking
from sim.router.query import Query
from sim.router.ranks import depths, follow, joins, leaves


class Guesses(Protocol):
    """An index that learns from bookings. Times must not decrease from call to call."""

    def depths(self, blocks: BlockRuns, among: int, now_s: float) -> Column:
        """Return how many of a prompt's first blocks each rank of the set `among` is taken to hold."""

    def book(self, booking: Booking, query: Query, now_s: float) -> None:
        """A request was sent to a rank."""

    def output_tokens(self, booking: Booking, tokens: int) -> None:
        """A request has generated so many tokens."""

    def free(self, booking: Booking) -> None:
        """A request has ended."""

    def cleared(self, rank: int) -> None:
        """A rank holds nothing any more."""


class ExpiringGuesses:
    """Whatever was sent to a rank is there for a while, and whoever sends it again starts that anew (Dynamo
    1.5.0, `--no-router-kv-events`, and `--router-predicted-ttl-secs` beside events).

    All full blocks of a prompt are put on the rank that was chosen. There is no limit to their number, the
    end of a request removes nothing, and what it generated is never added.
    """

    def __init__(self, ranks: int, ttl_s: float) -> None:
        self._ranks = ranks
        self._ttl_s = ttl_s
        self._holders = IntervalMap(0)
        """The ranks where a block is, as a set."""
        self._until_s: list[IntervalMap[float]] = [IntervalMap(0.0) for _ in range(ranks)]
        """When a block leaves a rank."""
        self._due: deque[tuple[float, int, Sequence[range]]] = deque()
        """What was sent where, by when it would leave if it was not sent again."""
        self._join, self._leave = joins(ranks), leaves(ranks)

    def depths(self, blocks: BlockRuns, among: int, now_s: float) -> Column:
        """See `Guesses`."""
        self._look(now_s)
        return depths(follow(self._holders, blocks, [(0, among)]), self._ranks)

    def book(self, booking: Booking, query: Query, now_s: float) -> None:
        """See `Guesses`."""
        self._look(now_s)
        rank, runs, until_s = booking.rank, runs_of(query.blocks), now_s + self._ttl_s
        for run in runs:
            self._holders.update(run.start, run.stop, self._join[rank])
            self._until_s[rank].update(run.start, run.stop, lambda _: until_s)
        self._due.append((until_s, rank, runs))

    def output_tokens(self, booking: Booking, tokens: int) -> None:
        """Do nothing."""

    def free(self, booking: Booking) -> None:
        """Do nothing."""

    def cleared(self, rank: int) -> None:
        """See `Guesses`."""
        for start, stop, _ in self._until_s[rank].changed():
            self._holders.update(start, stop, self._leave[rank])
        self._until_s[rank] = IntervalMap(0.0)

    def _look(self, now_s: float) -> None:
        """Remove what has been due by now."""
        while self._due and self._due[0][0] <= now_s:
            _, rank, runs = self._due.popleft()
            until = self._until_s[rank]
            for run in runs:
                for start, stop, until_s in until.segments(run.start, run.stop):
                    if until_s <= now_s:  # not sent again since
                        self._holders.update(start, stop, self._leave[rank])
                        until.update(start, stop, lambda _: 0.0)
