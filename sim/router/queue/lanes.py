"""Who waits in one class of a router's queue: in a lane that all share, and in one for each pinned rank.

Only the head of a lane can go: nobody overtakes a head that is blocked (Dynamo 1.5.0). Requests that are
pinned to a rank have a lane of their own, which blocks nobody else, nor do others block it (measured with
1.6.1).
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from sim.router.index import Overlap
from sim.router.query import Query
from sim.router.queue.classes import QueueClass
from sim.router.queue.settings import QueuePolicy

Key = tuple[int, float, int]
"""What orders a lane: the least goes first."""


class Waiting:
    """A request that waits. Its tokens are what they were when it came."""

    __slots__ = ("arrival_s", "cached_tokens", "cost", "gone", "key", "number", "overlap", "query")

    def __init__(
        self, query: Query, number: int, key: Key, arrival_s: float, *, cached_tokens: int, overlap: Overlap
    ) -> None:
        self.query = query
        self.number = number
        """Of its class."""
        self.key = key
        self.arrival_s = arrival_s
        self.cached_tokens = cached_tokens
        """Prompt tokens that the best of its ranks holds."""
        self.cost = cost_tokens(query.isl_tokens, cached_tokens)
        self.overlap = overlap
        self.gone = False
        """It waits no longer, though it may stand in its lane."""


def cost_tokens(isl_tokens: int, cached_tokens: int) -> int:
    """Return what a request costs its class: its uncached prompt, at least a token."""
    return max(1, isl_tokens - cached_tokens)


def score(order: QueuePolicy, arrival_s: float, priority_jump: float, cost: int) -> float:
    """Return how soon a request is to go: the greatest score first. Times are since the router's start."""
    jump = max(priority_jump, 0.0)
    if order == "fcfs":
        return jump - arrival_s
    if order == "lcfs":
        return jump + arrival_s
    return (1.0 + jump) / cost


class Lane:
    """Requests in order of their keys."""

    __slots__ = ("_heap",)

    def __init__(self) -> None:
        self._heap: list[tuple[Key, Waiting]] = []

    def push(self, waiting: Waiting) -> None:
        """Add a request."""
        heappush(self._heap, (waiting.key, waiting))

    def head(self) -> Waiting | None:
        """Return who goes first; None: nobody waits here."""
        heap = self._heap
        while heap and heap[0][1].gone:
            heappop(heap)
        return heap[0][1] if heap else None


class ClassQueue:
    """The lanes of one class, and what waits in them together."""

    def __init__(self, settings: QueueClass) -> None:
        self.settings = settings
        self.deficit = 0
        """Tokens that the class may send on without another round."""
        self.requests = 0
        self.isl_tokens = 0
        self.cached_tokens = 0
        self._shared = Lane()
        self._pinned: dict[int, Lane] = {}

    def waits_before(self, query: Query) -> bool:
        """Whether somebody waits in the lane of a request that comes."""
        lane = self._shared if query.pinned is None else self._pinned.get(query.pinned)
        return lane is not None and lane.head() is not None

    def push(self, waiting: Waiting) -> None:
        """A request begins to wait."""
        rank = waiting.query.pinned
        lane = self._shared if rank is None else self._pinned.setdefault(rank, Lane())
        lane.push(waiting)
        self._count(waiting, 1)

    def remove(self, waiting: Waiting) -> None:
        """A request waits no longer. A class in which nobody waits has no credit."""
        waiting.gone = True
        self._count(waiting, -1)
        if not self.requests:
            self.deficit = 0
            self._pinned.clear()

    def heads(self) -> Iterator[Waiting]:
        """Yield who is first in each lane."""
        for lane in (self._shared, *self._pinned.values()):
            head = lane.head()
            if head is not None:
                yield head

    def next(self, can_go: Callable[[Waiting], bool]) -> Waiting | None:
        """Return the first of the heads that can go."""
        return min(filter(can_go, self.heads()), key=_key, default=None)

    def _count(self, waiting: Waiting, sign: int) -> None:
        self.requests += sign
        self.isl_tokens += sign * waiting.query.isl_tokens
        self.cached_tokens += sign * waiting.cached_tokens


def _key(waiting: Waiting) -> Key:
    return waiting.key
