"""Who waited for whom among requests of which only times and sessions are known.

A request waits for those of its session, and for sessions that it started, that had ended when it was sent
and that no earlier one of its session had waited for; the first of a session for the newest of its parent
that had ended. Requests of one session that overlap are streams of their own: a stream does one thing at a
time.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sim.workload.rows import NO_ROW, Rows


class Span(NamedTuple):
    """A request: its session, and when it was sent and had ended, in any unit."""

    session: str | None
    start: float
    end: float


class Join(NamedTuple):
    """What a request belongs to, whom it waited for by position, and how long after them it was sent."""

    stream: str | None
    waits: tuple[int, ...]
    think: float | None


def joins(spans: Sequence[Span], parents: Mapping[str, str]) -> list[Join]:
    """Return that for requests sorted by their start; `parents` has the session that started a session."""
    last_end: dict[str, float] = {}
    final: dict[str, int] = {}
    for number, span in enumerate(spans):
        if span.session is not None and span.end >= last_end.get(span.session, span.end):
            last_end[span.session], final[span.session] = span.end, number
    children: dict[str, list[str]] = {}
    for child, parent in parents.items():
        if child != parent:
            children.setdefault(parent, []).append(child)
    known = _Sessions(spans, parents, children, final)
    return [known.join(number) for number in range(len(spans))]


def link(rows: Rows, found: Sequence[Join], numbers: Sequence[int]) -> None:
    """Let rows wait, where that is not the turn before alone; `numbers` are their rows, by position."""
    for number, join in zip(numbers, found, strict=True):
        waits = tuple([numbers[each] for each in join.waits if numbers[each] != NO_ROW])
        if number != NO_ROW and waits and waits != (rows.before[number],):
            rows.wait(number, waits)


class _Sessions:
    """What is known of each session while its requests are gone through."""

    def __init__(
        self,
        spans: Sequence[Span],
        parents: Mapping[str, str],
        children: Mapping[str, Sequence[str]],
        final: Mapping[str, int],
    ) -> None:
        self._spans, self._parents, self._children, self._final = spans, parents, children, final
        self._streams: dict[str, list[int]] = {}
        """The newest request of each stream of a session."""
        self._open: dict[str, set[int]] = {}
        """Requests that none of their session has waited for."""
        self._joined: set[str] = set()
        """Sessions that their parent has waited for."""

    def join(self, number: int) -> Join:
        span = self._spans[number]
        session = span.session
        if session is None:
            return Join(None, (), None)
        streams = self._streams.setdefault(session, [])
        ended = [place for place, newest in enumerate(streams) if self._spans[newest].end <= span.start]
        unjoined = self._open.setdefault(session, set())
        waits = {each for each in unjoined if self._spans[each].end <= span.start}
        waits |= self._ended_children(session, span.start)
        if not streams:
            waits |= self._spawned_by(session, span.start)
        unjoined -= waits
        unjoined.add(number)
        if ended:
            place = max(ended, key=lambda each: self._spans[streams[each]].end)
            streams[place] = number
        else:
            place = len(streams)
            streams.append(number)
        stream = session if place == 0 else f"{session} ({place + 1})"
        think = span.start - max(self._spans[each].end for each in waits) if waits else None
        return Join(stream, tuple(sorted(waits)), think)

    def _ended_children(self, session: str, now: float) -> set[int]:
        found = set()
        for child in self._children.get(session, ()):
            if (
                child in self._final
                and child not in self._joined
                and self._spans[self._final[child]].end <= now
            ):
                self._joined.add(child)
                found.add(self._final[child])
        return found

    def _spawned_by(self, session: str, now: float) -> set[int]:
        """Return the newest request of the parent that had ended."""
        parent = self._parents.get(session)
        ended = [each for each in self._streams.get(parent or "", ()) if self._spans[each].end <= now]
        return {max(ended, key=lambda each: self._spans[each].end)} if ended else set()
