"""What each request of a trace waits for in a turn-dependent replay: turns, forks, joins.

A request waits for the turn before it in its session. One that names others (`Request.waits_for`) waits for
all of those: a sub-agent's first turn for the turn that started it, the turn that reads its result for its
last one. If none of them is of its own session it waits for the turn before as well; one that names an
earlier turn of its own session goes on from there, as after a rewind, and may overtake what followed it.
"""

from array import array
from collections.abc import Sequence

from sim.base.errors import InputError
from sim.workload.request import Request, Trace

NONE = -1


class Waits:
    """Who waits for whom. Requests are named by their index.

    Raises:
        InputError: a request waits for what is not in the trace, or for itself over some others.

    """

    __slots__ = ("_also", "_counts", "_first", "_following", "_trace")

    def __init__(self, trace: Trace) -> None:
        requests, self._trace = trace.requests, trace
        self._first = trace.first_index
        self._counts = array("q", [0]) * len(requests)
        """How many each waits for."""
        self._following = array("q", [NONE]) * len(requests)
        """The first request that was found to wait for each."""
        self._also: dict[int, list[int]] = {}
        """The others."""
        latest: dict[str, int] = {}
        named = False
        for request in requests:
            before = latest.get(request.session, NONE)
            latest[request.session] = request.index
            if request.waits_for:
                named = True
                self._wait_for(request, before)
            elif before != NONE:
                self._wait(request.index, before)
        if named:
            self._check_circles()

    def counts(self) -> "array[int]":
        """Return how many others each request waits for, in order of the trace."""
        return self._counts[:]

    def count(self, index: int) -> int:
        """Return how many others a request waits for."""
        return self._counts[index - self._first]

    def after(self, index: int) -> list[int]:
        """Return the requests that wait for one, ascending."""
        following = self._following[index - self._first]
        if following == NONE:
            return []
        also = self._also.get(index) if self._also else None
        return [following] if also is None else sorted([following, *also])

    def _wait(self, index: int, other: int) -> None:
        self._counts[index - self._first] += 1
        if self._following[other - self._first] == NONE:
            self._following[other - self._first] = index
        else:
            self._also.setdefault(other, []).append(index)

    def _wait_for(self, request: Request, before: int) -> None:
        """Enter what a request names, each once, and the turn before unless it names one of its session."""
        requests, first = self._trace.requests, self._first
        own = False
        for other in dict.fromkeys(request.waits_for):
            if not first <= other < first + len(requests):
                raise InputError(
                    f"{self._says(request)} waits for request {other}, which is not in the trace: its "
                    f"requests are {first} to {first + len(requests) - 1}"
                )
            own = own or requests[other - first].session == request.session
            self._wait(request.index, other)
        if before != NONE and not own:
            self._wait(request.index, before)

    def _check_circles(self) -> None:
        """Let all end in turn; what is left then waits for itself."""
        left = self._counts[:]
        ready = [index for index, n in enumerate(left) if not n]
        for index in ready:  # it grows
            for after in self.after(index + self._first):
                left[after - self._first] -= 1
                if not left[after - self._first]:
                    ready.append(after - self._first)
        if len(ready) < len(left):
            circle = self._circle(left)
            request = self._trace.requests[min(circle)]
            others = [str(index + self._first) for index in sorted(circle) if index != min(circle)]
            over = f" over {_listed(others)}" if others else ""
            raise InputError(f"{self._says(request)} waits for itself{over}: none of them could ever leave")

    def _circle(self, left: "array[int]") -> Sequence[int]:
        """Return the places of requests that wait for each other in a circle, of those that are left."""
        after = {
            index: [other - self._first for other in self.after(index + self._first)]
            for index, n in enumerate(left)
            if n
        }
        before: dict[int, int] = {}
        for index, others in after.items():
            for other in others:
                before.setdefault(other, index)
        path: dict[int, int] = {}
        index = min(before)
        while index not in path:
            path[index] = len(path)
            index = before[index]
        return list(path)[path[index] :]

    def _says(self, request: Request) -> str:
        place = self._trace.place(request.index)
        return f"{place}request {request.index} (session {request.session}, turn {request.turn})"


def _listed(names: Sequence[str], most: int = 10) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
