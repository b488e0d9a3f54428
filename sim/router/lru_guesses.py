"""A guess of each rank's whole cache: where it is full, the longest unused goes first (Dynamo 1.5.0)."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from sim.kv.interval_map import IntervalMap
from sim.kv.runs import BlockRuns, runs_of
from sim.router.columns import Column
from sim.router.load import Booking
from sim.router.query import Query
from sim.router.ranks import depths, follow, joins, leaves

NAMELESS: Final = 1 << 48
"""From here on ids are given to generated blocks that no prompt holds."""


class _Running:
    """What a running request has."""

    __slots__ = ("full_blocks", "has_tail", "rank", "runs", "sequence")

    def __init__(self, rank: int, sequence: Sequence[int]) -> None:
        self.rank = rank
        self.sequence = sequence
        """Ids of the full blocks of prompt and answer, as far as anybody knows them."""
        self.runs: list[range] = []
        """Its full blocks so far, in order of position."""
        self.full_blocks = 0
        self.has_tail = False
        """Whether its last block is a partial one, which is its own."""


class _Cache:
    """What one rank is taken to hold."""

    __slots__ = ("free_from", "releases", "resident", "state", "tails")

    def __init__(self) -> None:
        self.state: IntervalMap[int] = IntervalMap(0)
        """Of a block: how many running requests hold it; below 0, the number of its release, negative; 0 if
        it is not here."""
        self.resident = 0
        """Full blocks."""
        self.tails = 0
        """Running requests with a partial last block."""
        self.releases: deque[tuple[int, list[range]]] = deque()
        """Numbers of releases, ascending, and the blocks that were held until then."""
        self.free_from = 0
        """The number of the last release."""


class LruGuesses:
    """What was sent to a rank, and what was generated there, until room is needed for others.

    A running request holds the full blocks of its prompt and of its answer so far; a partial last block is
    one more that nobody else can have. When it ends, its blocks may go. While full and partial blocks are
    more than the rank's cache has, blocks that no request holds go: of the oldest release first, the last
    position first. Source: 1.5.0 and 1.6.1 with 50 blocks a rank, 70 requests each.
    """

    def __init__(self, capacities: Sequence[int], block_tokens: int) -> None:
        """Take the number of blocks of each rank's cache."""
        self._capacities = capacities
        self._block_tokens = block_tokens
        self._holders = IntervalMap(0)
        """The ranks where a block is, as a set."""
        self._caches = [_Cache() for _ in capacities]
        self._running: dict[Booking, _Running] = {}
        self._nameless = NAMELESS
        self._join, self._leave = joins(len(capacities)), leaves(len(capacities))

    def depths(self, blocks: BlockRuns, among: int, now_s: float) -> Column:
        """See `Guesses`."""
        return depths(follow(self._holders, blocks, [(0, among)]), len(self._capacities))

    def resident(self, rank: int) -> int:
        """Return the full blocks that a rank is taken to hold."""
        return self._caches[rank].resident

    def book(self, booking: Booking, query: Query, now_s: float) -> None:
        """See `Guesses`."""
        running = self._running[booking] = _Running(booking.rank, query.sequence)
        self._hold(running, runs_of(query.blocks), len(query.blocks))
        self._set_tail(running, booking.isl_tokens % self._block_tokens > 0)
        self._make_room(booking.rank)

    def output_tokens(self, booking: Booking, tokens: int) -> None:
        """See `Guesses`."""
        running = self._running.get(booking)
        if running is None:
            return
        length = booking.isl_tokens + tokens
        full_blocks = length // self._block_tokens
        before = running.full_blocks
        if full_blocks > before:
            if full_blocks <= len(running.sequence):
                runs = BlockRuns.of(running.sequence).between(before, full_blocks)
            else:
                first = self._nameless
                self._nameless += full_blocks - before
                runs = [range(first, self._nameless)]
            self._hold(running, runs, full_blocks - before)
        self._set_tail(running, length % self._block_tokens > 0)
        self._make_room(running.rank)

    def free(self, booking: Booking) -> None:
        """See `Guesses`."""
        running = self._running.pop(booking, None)
        if running is None:
            return
        cache = self._caches[running.rank]
        cache.free_from += 1
        number = cache.free_from
        for run in running.runs:
            cache.state.update(run.start, run.stop, lambda held: held - 1 if held > 1 else -number)
        cache.releases.append((number, running.runs))
        self._set_tail(running, has_tail=False)
        self._make_room(running.rank)

    def cleared(self, rank: int) -> None:
        """See `Guesses`."""
        for start, stop, _ in self._caches[rank].state.changed():
            self._holders.update(start, stop, self._leave[rank])
        self._caches[rank] = _Cache()
        for booking, running in [*self._running.items()]:
            if running.rank == rank:
                del self._running[booking]

    def _hold(self, running: _Running, runs: Iterable[range], blocks: int) -> None:
        rank = running.rank
        cache = self._caches[rank]
        for run in runs:
            for start, stop, held in cache.state.segments(run.start, run.stop):
                if not held:
                    cache.resident += stop - start
                    self._holders.update(start, stop, self._join[rank])
            cache.state.update(run.start, run.stop, lambda held: held + 1 if held > 0 else 1)
            running.runs.append(run)
        running.full_blocks += blocks

    def _set_tail(self, running: _Running, has_tail: bool) -> None:
        self._caches[running.rank].tails += has_tail - running.has_tail
        running.has_tail = has_tail

    def _make_room(self, rank: int) -> None:
        cache = self._caches[rank]
        excess = cache.resident + cache.tails - self._capacities[rank]
        while excess > 0 and cache.releases:
            number, runs = cache.releases[0]
            excess = self._evict(rank, number, runs, excess)
            if not runs:
                cache.releases.popleft()

    def _evict(self, rank: int, number: int, runs: list[range], excess: int) -> int:
        """Let blocks of one release go, from its end on, and take them off `runs`; return the excess left."""
        cache = self._caches[rank]
        while runs and excess > 0:
            run = runs.pop()
            for start, stop, held in reversed(cache.state.segments(run.start, run.stop)):
                if held != -number:  # held again, or released later by others
                    continue
                first = max(start, stop - excess)
                cache.state.update(first, stop, lambda _: 0)
                self._holders.update(first, stop, self._leave[rank])
                cache.resident -= stop - first
                excess -= stop - first
                if not excess:
                    if run.start < first:
                        runs.append(range(run.start, first))
                    break
        return excess
