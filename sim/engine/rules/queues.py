"""Which waiting requests are looked at first.

Both releases have two queues, of which the first is served before the second. 0.28.0 puts everything into
the first that was passed over (a load under way, "ask later"). 0.33.0 has those there that hold blocks; all
others that were passed over go back to the front of the second.
"""

from collections import deque

from sim.engine.active import ActiveRequest, Status
from sim.engine.priority import insert, next_of
from sim.engine.rule_set import Version


class PassedOverFirst:
    """vLLM 0.28.0. `by_priority`: the most urgent of both queues goes first."""

    __slots__ = ("_by_priority",)

    def __init__(self, by_priority: bool) -> None:
        self._by_priority = by_priority

    def next_queue(self, first: deque[ActiveRequest], second: deque[ActiveRequest]) -> deque[ActiveRequest]:
        """Return the queue whose first request is looked at next; one of them is not empty."""
        return next_of(first, second) if self._by_priority else first or second

    def put_back(
        self,
        passed: list[ActiveRequest],
        first: deque[ActiveRequest],
        second: deque[ActiveRequest],
    ) -> None:
        """Keep those that were passed over: in front of those from before, in their order."""
        self._in_front(passed, first)

    def _in_front(self, passed: list[ActiveRequest], queue: deque[ActiveRequest]) -> None:
        if self._by_priority:
            for request in passed:
                insert(queue, request)
        else:
            queue.extendleft(reversed(passed))


class HoldersFirst(PassedOverFirst):
    """vLLM 0.33.0: `first` are those that hold blocks, whatever their priority."""

    __slots__ = ()

    def next_queue(self, first: deque[ActiveRequest], second: deque[ActiveRequest]) -> deque[ActiveRequest]:
        """Return the queue whose first request is looked at next; one of them is not empty."""
        return first or second

    def put_back(
        self,
        passed: list[ActiveRequest],
        first: deque[ActiveRequest],
        second: deque[ActiveRequest],
    ) -> None:
        """Keep those that were passed over: in front of those from before, in their order."""
        self._in_front([request for request in passed if _holds_blocks(request)], first)
        self._in_front([request for request in passed if not _holds_blocks(request)], second)


def _holds_blocks(request: ActiveRequest) -> bool:
    return request.computed > 0 or request.status is Status.LOADING


def queues(version: Version, *, by_priority: bool) -> PassedOverFirst:
    """Return the rule of a release."""
    return PassedOverFirst(by_priority) if version == "0.28" else HoldersFirst(by_priority)
