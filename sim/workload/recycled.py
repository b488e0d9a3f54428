"""Sessions of a trace once more, with other content: a trace that is used up begins anew."""

from array import array
from dataclasses import replace

from sim.workload.groups import session_groups
from sim.workload.request import Request, Trace
from sim.workload.shared_prefixes import SharedPrefixes

STEP = 0x9E3779B97F4A7C15
"""Added to chunk ids for each time: odd and far from what traces count up, so that no two ids meet."""
MASK = (1 << 64) - 1


class Recycled:
    """Requests of the second and every further time.

    Chunks in prefixes that two groups of sessions share, such as a system prompt, stay what they are; the
    others get ids that no other time has. `first` is the index of the first request of the second time;
    `shared` are the chunks that stay, found in the trace if not given.
    """

    __slots__ = ("_first", "_shared", "_trace")

    def __init__(self, trace: Trace, first: int, shared: frozenset[int] | None = None) -> None:
        self._trace = trace
        self._first = first
        self._shared = shared

    def shift(self, times: int) -> int:
        """Return by how much indices of requests are more that were sent so many times before."""
        return self._first + (times - 1) * len(self._trace.requests) - self._trace.first_index

    def request(self, place: int, times: int) -> Request:
        """Return the request at a place of the trace as it was sent so many times before."""
        request = self._trace.requests[place]
        if not times:
            return request
        shift = self.shift(times)
        answer = request.answer
        return replace(
            request,
            index=request.index + shift,
            session=f"{request.session} #{times + 1}",
            chunks=self.fresh(request, times),
            waits_for=tuple(other + shift for other in request.waits_for),
            answer=None if answer is None else answer._replace(request=answer.request + shift),
        )

    def fresh(self, request: Request, times: int) -> "array[int]":
        """Return the chunk ids that a request has which was sent so many times before."""
        shared = self._shared
        if shared is None:
            shared = self._shared = shared_chunks(self._trace)
        step = times * STEP
        return array("Q", [id if id in shared else (id + step) & MASK for id in request.chunks])


def shared_chunks(trace: Trace) -> frozenset[int]:
    """Return the ids of chunks in prefixes that two groups of sessions share."""
    prompts = (
        (number, trace.requests[place].chunks, trace.requests[place].prompt_tokens)
        for number, group in enumerate(session_groups(trace))
        for place in group
    )
    return SharedPrefixes(prompts, trace.chunk_tokens).chunks()
