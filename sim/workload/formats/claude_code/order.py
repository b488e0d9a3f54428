"""In which order requests were sent: each after the turn before it and all that it refers to."""

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise

from sim.workload.findings import Findings
from sim.workload.formats.claude_code.responses import Response


def ordered(turns: Sequence[Response], findings: Findings) -> list[Response]:
    """Return turns sorted by when they were sent, none before what it refers to, and give them such times.

    References that go in circles, which no recording has, are left out. A clock that ran backwards moves what
    follows in its stream.
    """
    found, n_cut = [], 0
    before = _turns_before(turns)
    waiting = {id(turn): _references(turn, before) for turn in turns}
    followers: dict[int, list[Response]] = {}
    for turn in turns:
        for each in waiting[id(turn)].values():
            followers.setdefault(id(each), []).append(turn)
    ready: list[tuple[int, str, int, Response]] = []
    left = {id(turn): turn for turn in turns}
    for turn in turns:
        if not waiting[id(turn)]:
            heappush(ready, (turn.send_us, turn.stream.name, turn.place, turn))
    clock = _Clock(before)
    while left:
        if not ready:
            turn = _cut(left, waiting, before)
            n_cut += 1
            heappush(ready, (turn.send_us, turn.stream.name, turn.place, turn))
        *_, turn = heappop(ready)
        del left[id(turn)]
        clock.set(turn)
        found.append(turn)
        for each in followers.get(id(turn), ()):
            if waiting[id(each)].pop(id(turn), None) is not None and not waiting[id(each)]:
                heappush(ready, (each.send_us, each.stream.name, each.place, each))
    findings.fix("requests whose references went in circles, left out", n_cut)
    findings.fix("requests moved to after the one before, as a clock ran backwards", clock.n_moved)
    return found


def _turns_before(turns: Sequence[Response]) -> dict[int, Response]:
    by_stream = sorted(turns, key=lambda each: (each.stream.name, each.place))
    return {id(after): first for first, after in pairwise(by_stream) if first.stream is after.stream}


def _references(turn: Response, before: dict[int, Response]) -> dict[int, Response]:
    found = [*turn.waits_for, turn.predecessor, before.get(id(turn))]
    return {id(each): each for each in found if each is not None}


def _cut(
    left: dict[int, Response], waiting: dict[int, dict[int, Response]], before: dict[int, Response]
) -> Response:
    """Return the earliest turn whose turn before is done, without its other references."""
    free = (
        turn for turn in left.values() if (first := before.get(id(turn))) is None or id(first) not in left
    )
    turn = min(free, key=lambda each: (each.send_us, each.stream.name, each.place))
    turn.waits_for = [each for each in turn.waits_for if id(each) not in left]
    if turn.predecessor is not None and id(turn.predecessor) in left:
        turn.predecessor, turn.why, turn.kept_tokens = None, "first", 0
    waiting[id(turn)].clear()
    return turn


class _Clock:
    """Keeps the times of streams from going backwards."""

    def __init__(self, before: dict[int, Response]) -> None:
        self.n_moved = 0
        self._before = before
        self._shift_us: dict[str, int] = {}

    def set(self, turn: Response) -> None:
        """Move a turn that was sent before what it refers to, and what follows until its clock is right."""
        references = [*_references(turn, self._before).values()]
        earliest_us = max((each.send_us for each in references), default=turn.send_us)
        shift_us = 0
        if turn.send_us < earliest_us:
            shift_us = self._shift_us.get(turn.stream.name, 0)
            if turn.send_us + shift_us < earliest_us:
                shift_us = max(each.end_us for each in references) - turn.send_us
            self.n_moved += 1
        self._shift_us[turn.stream.name] = shift_us
        turn.send_us += shift_us
        turn.end_us += shift_us
