"""More sessions than a trace has: those that it has once more, each with an identity of its own."""

from dataclasses import replace
from math import inf

from sim.base.uniform import uniform
from sim.base.words import plural
from sim.workload.groups import session_groups
from sim.workload.recycled import Recycled
from sim.workload.request import Request, Trace

_PURPOSE = "resampled sessions"


def resampled(trace: Trace, sessions: int, seed: int) -> Trace:
    """Return a trace of so many sessions with their sub-agents, at least as many as it has.

    Those that are missing are drawn from those that there are, by `seed`, none a second time before each has
    been drawn once. A session drawn again is another one: what it shares with no other session of the trace
    is new content, as in a trace that begins anew. It begins at a time drawn between the first and the last
    beginning of a session, and keeps the times between its turns.
    """
    groups = session_groups(trace)
    missing = sessions - len(groups)
    if missing <= 0 or not groups:
        return trace
    again = Recycled(trace, trace.first_index + len(trace.requests))
    starts = [trace.requests[group[0]].timestamp_s for group in groups]
    known = [start_s for start_s in starts if start_s is not None]
    chosen = list(enumerate(trace.requests))
    for number in range(missing):
        times, rank = divmod(number, len(groups))
        order = sorted(range(len(groups)), key=lambda group: uniform(seed, _PURPOSE, group, times))
        group, start_s = groups[order[rank]], starts[order[rank]]
        shift_s = 0.0
        if start_s is not None:
            drawn = uniform(seed, f"{_PURPOSE}, begin", number)
            shift_s = min(known) + drawn * (max(known) - min(known)) - start_s
        chosen += [(place, _later(again.request(place, times + 1), shift_s)) for place in group]
    note = (
        f"resampled, seed {seed}: {sessions} sessions from the {len(groups)} of the file; the {missing} "
        f"further {plural(missing, 'one')} {'is' if missing == 1 else 'are'} drawn from them, with content "
        "of their own but for prefixes that sessions of the file share"
    )
    return _ordered(trace, chosen, note)


def fresh(trace: Trace) -> Trace:
    """Return a trace of which no prompt shares anything with another one."""
    first = trace.first_index
    again = Recycled(trace, first + len(trace.requests), shared=frozenset())
    requests = tuple(
        replace(request, chunks=again.fresh(request, place + 1), answer=None)
        for place, request in enumerate(trace.requests)
    )
    return replace(trace, requests=requests, notes=(*trace.notes, "every prompt has content of its own"))


def _later(request: Request, shift_s: float) -> Request:
    if request.timestamp_s is None:
        return request
    return replace(request, timestamp_s=request.timestamp_s + shift_s)


def _ordered(trace: Trace, chosen: list[tuple[int, Request]], note: str) -> Trace:
    """Return a trace of requests, given with the places that they have in the other, by timestamp."""
    chosen.sort(key=lambda each: inf if each[1].timestamp_s is None else each[1].timestamp_s)
    first = trace.first_index
    numbers = {request.index: first + at for at, (_, request) in enumerate(chosen)}
    requests = tuple(_renumbered(request, numbers) for _, request in chosen)
    places = [place for place, _ in chosen]
    return replace(
        trace,
        requests=requests,
        notes=(*trace.notes, note),
        lines=[trace.lines[place] for place in places] if trace.lines else (),
        file_of=[trace.file_of[place] for place in places] if trace.file_of else (),
        recorded=[trace.recorded[place] for place in places] if trace.recorded else (),
    )


def _renumbered(request: Request, numbers: dict[int, int]) -> Request:
    answer = request.answer
    return replace(
        request,
        index=numbers[request.index],
        waits_for=tuple(numbers[other] for other in request.waits_for),
        answer=None if answer is None else answer._replace(request=numbers[answer.request]),
    )
