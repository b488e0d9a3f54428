"""Sessions that belong together: one with its sub-agents, as they wait for each other."""

from array import array
from collections.abc import Sequence

from sim.workload.request import Trace


def session_groups(trace: Trace) -> "list[array[int]]":
    """Return the requests of each group of sessions, by place in the trace, in order of their first ones.

    Two sessions are of one group if a request of one waits for one of the other.
    """
    first, requests = trace.first_index, trace.requests
    numbers: dict[str, int] = {}
    of_request = array("q")
    joined = array("q")
    """The session that each was joined to, itself if to none."""
    waits: list[tuple[int, int]] = []
    for place, request in enumerate(requests):
        number = numbers.setdefault(request.session, len(numbers))
        if number == len(joined):
            joined.append(number)
        of_request.append(number)
        waits += [(place, other - first) for other in request.waits_for]
    for place, other in waits:
        one, two = _root(joined, of_request[place]), _root(joined, of_request[other])
        joined[max(one, two)] = min(one, two)
    groups: dict[int, array[int]] = {}
    for place, number in enumerate(of_request):
        groups.setdefault(_root(joined, number), array("q")).append(place)
    return list(groups.values())


def sessions_of(trace: Trace, group: Sequence[int]) -> int:
    """Return how many sessions a group has."""
    return len({trace.requests[place].session for place in group})


def _root(joined: "array[int]", number: int) -> int:
    while joined[number] != number:
        joined[number] = joined[joined[number]]
        number = joined[number]
    return number
