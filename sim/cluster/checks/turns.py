"""Nobody is sent before what it waits for has ended, lanes are busy, and only what was to be is left out."""

import numpy as np

from sim.base.errors import InvariantError
from sim.cluster.replay import Part, Replay
from sim.results.gauge import Gauge
from sim.results.phases import FIRST, MEASURED, WARM_UP
from sim.results.rows import Table
from sim.workload.groups import session_groups
from sim.workload.request import Request

RULE = "turns wait for answers"
LANES = "lanes are busy"
LEFT_OUT = "what is left out is what was to be"
ROUNDING = 1e-9


class Turns:
    """The parts of a replay whose client waits for answers."""

    def __init__(self, replay: Replay) -> None:
        self._books = [
            _Book(part, replay) for part in replay.parts if part.settings.client == "turn-dependent"
        ]

    def sent(self, request: Request, now_s: float) -> None:
        """A client sends a request."""
        for book in self._books:
            if book.has(request.index):
                book.sent(request, now_s)

    def over(self, request: Request, now_s: float) -> None:
        """A request has ended, however that was."""
        for book in self._books:
            if book.has(request.index):
                book.over(request, now_s)

    def closed(self, unfinished: int) -> None:
        """The run is over, and so many requests never ended."""
        for book in self._books:
            book.closed(unfinished)


class _Book:
    """When the requests of one part ended: each by its place, and how often it was sent before."""

    def __init__(self, part: Part, replay: Replay) -> None:
        self._settings = part.settings
        self._first, self._count = part.trace.first_index, len(part.trace.requests)
        self._again = len(replay.due_s)
        """The first index of a trace that begins anew."""
        self._begins_anew = part is replay.measured
        self._replay = replay
        self._ended_s: dict[tuple[int, int], float] = {}
        self._needs = _needs(part)
        self._lanes = part.settings.lanes
        self._group: dict[int, int] = {}
        """By place, in lanes."""
        self._left: dict[tuple[int, int], int] = {}
        """Requests of each group in a lane that have not ended, and how often it was there before."""
        self._sizes: list[int] = []
        self._open = Gauge()
        """Sessions in lanes."""
        self._n_open = 0
        self._instant: set[int] = set()
        self._instant_s = -1.0
        """Groups of which one began and ended at this instant, where all together would so for ever."""
        if self._lanes is not None:
            groups = session_groups(part.trace)
            self._sizes = [len(group) for group in groups]
            self._group = {place: number for number, group in enumerate(groups) for place in group}
        self._begun: dict[tuple[int, int], float] = {}

    def has(self, index: int) -> bool:
        """Whether a request is of this part."""
        return self._first <= index < self._first + self._count or (
            self._begins_anew and index >= self._again
        )

    def _name(self, index: int) -> tuple[int, int]:
        if index < self._again:
            return index - self._first, 0
        times, place = divmod(index - self._again, self._count)
        return place, times + 1

    def sent(self, request: Request, now_s: float) -> None:
        """All that it waits for has ended, and it has thought as long as it was to."""
        place, times = self._name(request.index)
        last_s = -1.0
        for other in self._needs[place]:
            ended_s = self._ended_s.get((other, times))
            if ended_s is None:
                detail = f"sent, but request {other + self._first} has not ended, for which it waits"
                raise InvariantError(RULE, detail, request=request.index, now_s=now_s)
            last_s = max(last_s, ended_s)
        if self._needs[place] and request.delay_s is not None:
            self._thought(request, last_s, now_s)
        if self._lanes is not None:
            self._in_lane(request, (self._group[place], times), now_s)

    def _thought(self, request: Request, last_s: float, now_s: float) -> None:
        """It leaves its think time after the last that it waits for."""
        assert request.delay_s is not None
        think_s = request.delay_s
        if self._settings.think_factor is not None:
            think_s *= self._settings.think_factor
        if self._settings.max_think_s is not None:
            think_s = min(think_s, self._settings.max_think_s)
        if last_s + think_s != now_s:
            detail = f"sent {now_s - last_s:g} s after what it waits for, not {think_s:g} s"
            raise InvariantError(RULE, detail, request=request.index, now_s=now_s)

    def _in_lane(self, request: Request, group: tuple[int, int], now_s: float) -> None:
        assert self._lanes is not None
        if now_s >= self._end_s():
            raise InvariantError(LANES, "sent when time was over", request=request.index, now_s=now_s)
        if group in self._left:
            return
        self._left[group] = self._sizes[group[0]]
        self._begun[group] = now_s
        self._n_open += 1
        self._open.set(self._n_open, now_s)
        if self._n_open > self._lanes:
            detail = f"{self._n_open} sessions in {self._lanes} lanes"
            raise InvariantError(LANES, detail, request=request.index, now_s=now_s)

    def _end_s(self) -> float:
        duration_s = self._settings.duration_s
        return float("inf") if duration_s is None else self._replay.left_out.begun_s + duration_s

    def over(self, request: Request, now_s: float) -> None:
        """Note when it ended, and whether its lane is free."""
        place, times = self._name(request.index)
        self._ended_s[place, times] = now_s
        if self._lanes is None:
            return
        group = self._group[place], times
        self._left[group] -= 1
        if not self._left[group]:
            self._n_open -= 1
            self._open.set(self._n_open, min(now_s, self._end_s()))
            if now_s > self._instant_s and len(self._instant) < len(self._sizes):
                self._instant.clear()
            self._instant_s = now_s
            if self._begun.pop(group) == now_s:
                self._instant.add(group[0])

    def closed(self, unfinished: int) -> None:
        """With a duration, as many sessions were open all the time as there are lanes."""
        duration_s, lanes = self._settings.duration_s, self._lanes
        if duration_s is None or lanes is None or unfinished or len(self._instant) == len(self._sizes):
            return
        self._open.set(0, self._end_s())
        busy_s, all_s = self._open.area(self._end_s()), lanes * duration_s
        if not abs(busy_s - all_s) <= ROUNDING * (all_s + self._end_s()):
            detail = f"{busy_s:.9g} session seconds in {lanes} lanes of {duration_s:g} s"
            raise InvariantError(LANES, detail, now_s=self._end_s())


def _needs(part: Part) -> list[tuple[int, ...]]:
    """Return the places that each request waits for."""
    requests, first = part.trace.requests, part.trace.first_index
    found: list[tuple[int, ...]] = []
    latest: dict[str, int] = {}
    for place, request in enumerate(requests):
        waits = {other - first for other in request.waits_for}
        before = latest.get(request.session)
        if before is not None and not any(requests[other].session == request.session for other in waits):
            waits.add(before)
        latest[request.session] = place
        found.append(tuple(waits))
    return found


def check_phases(table: Table, replay: Replay, now_s: float) -> None:
    """Compare the table of requests with what a replay was to leave out."""
    index, settings = table.values("index").values, replay.settings
    sent = table.values("send_s")
    warm = np.zeros(len(index), np.bool_)
    for part in replay.warm:
        warm |= (index >= part.indices.start) & (index < part.indices.stop)
    phases = np.full(len(index), MEASURED, np.object_)
    if table.has("phase"):
        phases = table.values("phase").values
    first = phases == FIRST
    of_part_s = sent.values - replay.left_out.begun_s
    early = sent.measured & ~warm & (of_part_s < (settings.warm_up_s or 0.0))
    n_first = min(settings.warm_up_requests or 0, int((sent.measured & ~warm).sum()))
    wrong = (phases == WARM_UP) != (warm & sent.measured)
    if not (n_first and early.sum() < n_first):
        wrong |= first != early
    if wrong.any():
        number = int(index[np.flatnonzero(wrong)[0]])
        raise InvariantError(LEFT_OUT, "its row tells otherwise", request=number, now_s=now_s)
    if int(first.sum()) != max(n_first, int(early.sum())):
        detail = f"{int(first.sum())} requests are left out as the first ones, not {n_first}"
        raise InvariantError(LEFT_OUT, detail, now_s=now_s)
    counted = sent.measured & ~warm & ~first
    if first.any() and counted.any() and sent.values[first].max() > sent.values[counted].min():
        raise InvariantError(LEFT_OUT, "one that counts was sent before one of the first", now_s=now_s)
