"""Which sessions of a trace are taken, and which turns of them, where it has more than a run is to have."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from sim.base.uniform import uniform
from sim.base.words import exactly
from sim.workload.groups import session_groups
from sim.workload.profiles import recorded_service_s
from sim.workload.recorded import NOTHING
from sim.workload.request import Answer, Request, Trace

Window = Literal["first", "middle"] | int
"""Turns of a session: the first, those around its middle, or those from a turn on, the first being 0."""


def window_start(window: Window, turns: int, available: int) -> int:
    """Return the first of `turns` turns of a session that has so many: as late as it has turns for."""
    match window:
        case "first":
            return 0
        case "middle":
            return (available - turns) // 2
        case _:
            return min(window, available - turns)


def window_words(window: Window, turns: int) -> str:
    """Return which turns are taken, for a note."""
    counted = exactly(turns, "turn")
    return f"the {window} {counted}" if isinstance(window, str) else f"{counted} from turn {window} on"


def drawn(trace: Trace, number: int, sessions: int | None) -> Trace:
    """Return the sessions in an order drawn for a number, or the first so many of them.

    Each goes with its sub-agents, and begins when the one did in whose place it comes. Number 0 is the order
    of the file.
    """
    groups = session_groups(trace)
    order: Sequence[int] = range(len(groups))
    if number:
        order = sorted(order, key=lambda group: uniform(number, "order of sessions", group))
    starts = [trace.requests[group[0]].timestamp_s for group in groups]
    chosen: list[tuple[int, Request]] = []
    for start_s, group in zip(starts, [groups[place] for place in order][:sessions], strict=False):
        own_s = trace.requests[group[0]].timestamp_s
        shift_s = 0.0 if start_s is None or own_s is None else start_s - own_s
        chosen += ((place, _later(trace.requests[place], shift_s)) for place in group)
    taken = len(order[:sessions])
    note = f"{taken} of {exactly(len(groups), 'session')}, in the order drawn for set {number}"
    return _of(trace, chosen, note)


def windowed(
    trace: Trace,
    *,
    turns: int,
    window: Window,
    think_factor: float,
    max_think_s: float,
    start_gap_s: float,
) -> Trace:
    """Return some turns of each session of a trace, timed as generated sessions are.

    Sessions start `start_gap_s` apart. A turn comes after the one before, by that one's recorded service and
    its think time, which is multiplied by `think_factor`, then cut to `max_think_s`. Sub-agents are left out.
    """
    chosen: list[tuple[int, Request]] = []
    n_short = n_agents = 0
    for number, group in enumerate(session_groups(trace)):
        main = trace.requests[group[0]].session
        own = array("q", (place for place in group if trace.requests[place].session == main))
        n_agents += len(group) - len(own)
        n_turns = min(turns, len(own))
        n_short += n_turns < turns
        first = window_start(window, n_turns, len(own))
        places = own[first : first + n_turns]
        thinks_s = (min(think_s * think_factor, max_think_s) for think_s in _thinks_s(trace, places))
        chosen += _timed(trace, places, number * start_gap_s, thinks_s)
    note = f"of each session {window_words(window, turns)} ({n_short} have fewer)"
    if n_agents:
        note += f"; requests of sub-agents left out: {n_agents:,}"
    return _of(trace, chosen, note)


def _thinks_s(trace: Trace, places: Sequence[int]) -> Iterator[float]:
    """Yield the think time before each turn but the first: as recorded, or what is left of a gap."""
    for before, after in pairwise(places):
        earlier, later = trace.requests[before], trace.requests[after]
        if later.delay_s is not None:
            yield later.delay_s
        elif earlier.timestamp_s is not None and later.timestamp_s is not None:
            yield max(later.timestamp_s - earlier.timestamp_s - _service_s(trace, before), 0.0)
        else:
            yield 0.0


def _service_s(trace: Trace, place: int) -> float:
    """Return how long a request took when it was recorded, or would have."""
    service_s = (trace.recorded[place] if trace.recorded else NOTHING).service_s
    if service_s is not None:
        return service_s
    request = trace.requests[place]
    return recorded_service_s(request.prompt_tokens, request.output_tokens)


def _timed(
    trace: Trace, places: Sequence[int], start_s: float, thinks_s: Iterator[float]
) -> Iterator[tuple[int, Request]]:
    now_s = start_s
    for turn, place in enumerate(places):
        think_s = next(thinks_s) if turn else None
        now_s += think_s or 0.0
        yield place, replace(trace.requests[place], turn=turn, timestamp_s=now_s, delay_s=think_s)
        now_s += _service_s(trace, place)


def _later(request: Request, shift_s: float) -> Request:
    if request.timestamp_s is None or not shift_s:
        return request
    return replace(request, timestamp_s=request.timestamp_s + shift_s)


def _of(trace: Trace, chosen: list[tuple[int, Request]], note: str) -> Trace:
    """Return a trace of some requests, given with their places before, in the order of their timestamps."""
    chosen.sort(key=lambda each: (each[1].timestamp_s is None, each[1].timestamp_s or 0.0))
    first = trace.first_index
    indices = {trace.requests[place].index: first + at for at, (place, _) in enumerate(chosen)}
    places = [place for place, _ in chosen]
    requests = tuple(
        replace(
            request,
            index=first + at,
            waits_for=tuple(indices[other] for other in request.waits_for if other in indices),
            answer=_kept(request.answer, indices),
        )
        for at, (_, request) in enumerate(chosen)
    )
    return replace(
        trace,
        requests=requests,
        notes=(*trace.notes, note),
        lines=[trace.lines[place] for place in places] if trace.lines else (),
        file_of=[trace.file_of[place] for place in places] if trace.file_of else (),
        recorded=[trace.recorded[place] for place in places] if trace.recorded else (),
    )


def _kept(answer: Answer | None, indices: dict[int, int]) -> Answer | None:
    if answer is None or answer.request not in indices:
        return None
    return answer._replace(request=indices[answer.request])
