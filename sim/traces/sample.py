"""Part of a trace: whole sessions, drawn by seed so that smaller samples are part of larger ones.

A sub-agent belongs to the session that it answers to: sessions that wait for each other are taken or left
together. A window takes some turns of the first of them, and of the others those that still have what they
wait for.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sim.base.errors import InputError
from sim.base.uniform import uniform
from sim.base.words import exactly
from sim.traces.moments import Place, placed
from sim.workload.request import Request, Trace

_FROM = re.compile(r"from:(\d{1,9})")
WINDOWS = "first, middle, last or from:K, with K a turn, the first being 0"


@dataclass(frozen=True, slots=True)
class Window:
    """Which turns of a session are taken."""

    turns: int | None
    """How many; None: all."""
    place: str = "first"

    def __post_init__(self) -> None:
        if self.place not in {"first", "middle", "last"} and not _FROM.fullmatch(self.place):
            raise InputError(f"window = {self.place!r}: must be {WINDOWS}")
        if self.turns is not None and self.turns < 1:
            raise InputError(f"turns = {self.turns}: must be at least 1")

    def of(self, n_turns: int) -> range:
        """Return the turns taken of a session that has so many; none where it begins behind the last."""
        most = n_turns if self.turns is None else min(self.turns, n_turns)
        if found := _FROM.fullmatch(self.place):
            first = int(found[1])
            return range(first, min(first + most, n_turns))
        first = {"first": 0, "middle": (n_turns - most) // 2, "last": n_turns - most}[self.place]
        return range(first, first + most)


ALL = Window(None)


def sample(trace: Trace, sessions: int | None = None, *, seed: int = 0, window: Window = ALL) -> Trace:
    """Return so many sessions of a trace, all if absent, and of each the turns of a window.

    Requests keep their order and their times, the first at 0; what a session sent before its window counts
    for nothing.

    Args:
        trace: what to take from.
        sessions: how many, whole ones; sub-agents go with theirs.
        seed: which; fewer sessions of one seed are among more of it.
        window: which turns.

    Raises:
        InputError: the trace has fewer sessions, or none that reaches into the window.

    """
    families = _families(trace)
    if sessions is not None and not 1 <= sessions <= len(families):
        raise InputError(
            f"sessions = {sessions}: must be from 1 to {len(families):,}, the sessions of {trace.source}"
        )
    order = sorted(
        range(len(families)), key=lambda number: (uniform(seed, "sample of a trace", number), number)
    )
    chosen = sorted(order[:sessions] if sessions is not None else order)
    turns_of: dict[str, int] = {}
    for request in trace.requests:
        turns_of[request.session] = turns_of.get(request.session, 0) + 1
    windows = {
        name: window.of(turns_of[name]) if not place else range(turns_of[name])
        for number in chosen
        for place, name in enumerate(families[number])
    }
    kept = _kept(placed(trace), windows)
    if not kept:
        raise InputError(f"window = {window.place!r}: no session taken of {trace.source} has such a turn")
    return replace(
        trace,
        requests=_renumbered(kept),
        notes=(*trace.notes, _note(len(families), len(chosen), seed, window)),
        lines=[trace.lines[request.index] for request, _ in kept] if trace.lines else (),
        recorded=[trace.recorded[request.index] for request, _ in kept] if trace.recorded else (),
    )


def _shuffled(n: int, seed: int) -> list[int]:
    return sorted(range(n), key=lambda number: (uniform(seed, "sample of a trace", number), number))


def _note(of: int, taken: int, seed: int, window: Window) -> str:
    said = f"sampled with seed {seed}: {taken:,} of {exactly(of, 'session')}"
    if window.turns is None and window.place == "first":
        return said
    turns = "all turns" if window.turns is None else exactly(window.turns, "turn")
    return f"{said}, of each {turns}, window {window.place}"


def _families(trace: Trace) -> list[list[str]]:
    """Return sessions in order of first appearance, each with those that wait for it or that it waits for."""
    head = {name: name for name in trace.sessions}

    def find(name: str) -> str:
        while head[name] != name:
            head[name] = name = head[head[name]]
        return name

    place = {name: number for number, name in enumerate(head)}
    for request in trace.requests:
        for other in request.waits_for:
            one, two = find(request.session), find(trace.requests[other].session)
            first, second = sorted((one, two), key=place.__getitem__)
            head[second] = first
    families: dict[str, list[str]] = {}
    for name in head:
        families.setdefault(find(name), []).append(name)
    return list(families.values())


def _kept(
    requests: Iterable[tuple[Request, Place]], windows: Mapping[str, range]
) -> list[tuple[Request, Place]]:
    """Return the requests in the windows, without the sub-agents of turns that are not taken."""
    kept: list[tuple[Request, Place]] = []
    taken: set[int] = set()
    left_out: set[str] = set()
    for request, place in requests:
        turns = windows.get(request.session)
        if turns is None or request.turn not in turns or request.session in left_out:
            continue
        if request.turn == 0 and not taken.issuperset(request.waits_for):
            left_out.add(request.session)
            continue
        kept.append((request, place))
        taken.add(request.index)
    return kept


def _renumbered(kept: Sequence[tuple[Request, Place]]) -> tuple[Request, ...]:
    """Return requests as those of a trace of their own."""
    index = {request.index: number for number, (request, _) in enumerate(kept)}
    origin_s = min(place.moment_s for _, place in kept)
    turns: Counter[str] = Counter()
    renumbered = []
    for number, (request, place) in enumerate(kept):
        turn = turns[request.session]
        turns[request.session] += 1
        waits_for = tuple(index[other] for other in request.waits_for if other in index)
        begins = not turn and not waits_for
        moment_s = place.moment_s if begins else request.timestamp_s
        answer = request.answer
        if answer is not None:
            answer = answer._replace(request=index[answer.request]) if answer.request in index else None
        renumbered.append(
            replace(
                request,
                index=number,
                turn=turn,
                timestamp_s=None if moment_s is None else moment_s - origin_s,
                delay_s=None if begins else request.delay_s,
                waits_for=waits_for,
                answer=answer,
            )
        )
    return tuple(renumbered)
