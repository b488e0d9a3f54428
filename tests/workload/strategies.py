"""Hypothesis strategies for traces: sessions that append, shrink, break, answer, fork and join.

All times are whole eighths of a second and ids small, so that a file in milliseconds keeps them exactly.
"""

from dataclasses import dataclass, field, replace
from itertools import count, islice

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from sim.workload.request import Answer, Answers, Request, Trace

TICK_S = 0.125
"""Times are multiples of it."""
_STEPS = ("append", "append", "append", "resend", "shrink", "break")


@dataclass(eq=False, slots=True)
class _Draft:
    """A request before the trace is sorted: others are named as drafts, for they have no index yet."""

    request: Request
    waits_for: "tuple[_Draft, ...]" = ()
    answered: "_Draft | None" = None
    """Whose answer its prompt holds, in `answer` of the request but for the index."""


@dataclass(slots=True)
class _Stream:
    """A session, or an agent of one, while it is drawn."""

    name: str
    model: str | None
    drafts: list[_Draft] = field(default_factory=list)


@dataclass(slots=True)
class _Maker:
    """Draws the requests of a trace, in the order in which its clients make them."""

    draw: DrawFn
    chunk_tokens: int
    max_tokens: int
    steps: tuple[str, ...]
    answers: bool
    models: tuple[str | None, ...]
    priorities: SearchStrategy[int]
    cancellations: SearchStrategy[float | None]
    drafts: list[_Draft] = field(default_factory=list)
    ids: "count[int]" = field(default_factory=lambda: count(1))

    def new_stream(self, name: str) -> _Stream:
        return _Stream(name, self.draw(st.sampled_from(self.models)))

    def fresh(self, n: int) -> tuple[int, ...]:
        return tuple(islice(self.ids, n))

    def n_chunks(self, prompt_tokens: int) -> int:
        return -(-prompt_tokens // self.chunk_tokens)

    def first(self, stream: _Stream, start: tuple[int, ...]) -> None:
        """Add the first request of a session, which starts with the full chunks `start`."""
        least = 0 if start else 1
        prompt = len(start) * self.chunk_tokens + self.draw(st.integers(least, self.max_tokens))
        chunks = start + self.fresh(self.n_chunks(prompt) - len(start))
        self._add(stream, self.draw(seconds()), None, prompt, chunks)

    def following(self, stream: _Stream, before: _Draft, joined: tuple[_Draft, ...] = ()) -> None:
        """Add a request that goes on from `before` and waits for `joined` too."""
        last, draw = before.request, self.draw
        step = draw(st.sampled_from(self.steps))
        prompt, kept = self._lengths(step, last.prompt_tokens)
        chunks = tuple(last.chunks)
        if not prompt == kept == last.prompt_tokens:
            held = kept // self.chunk_tokens
            chunks = chunks[:held] + self.fresh(self.n_chunks(prompt) - held)
        waits_for = (before, *joined)
        delay_s = draw(seconds())
        time_s = max(map(_time, waits_for)) + draw(seconds(80)) + delay_s
        said = bool(joined) or not stream.drafts
        draft = self._add(stream, time_s, delay_s, prompt, chunks)
        draft.waits_for = waits_for if said else ()
        if self.answers and step == "append" and draw(st.booleans()):
            draft.answered = before
            end = min(last.prompt_tokens + last.output_tokens, prompt)
            draft.request.answer = Answer(-1, last.prompt_tokens, end)

    def _lengths(self, step: str, before: int) -> tuple[int, int]:
        """Return the tokens of a prompt, and how many of the one before, which has `before`, it keeps."""
        added = self.draw(st.integers(1, self.max_tokens)) if step in {"append", "break"} else 0
        kept = self.draw(st.integers(0, before - 1)) if step in {"shrink", "break"} else before
        if step == "shrink":
            return self.draw(st.integers(max(kept, 1), before)), kept
        return before + added, kept

    def _add(
        self, stream: _Stream, time_s: float, delay_s: float | None, prompt: int, chunks: tuple[int, ...]
    ) -> _Draft:
        request = Request(
            index=-1,
            session=stream.name,
            turn=len(stream.drafts),
            timestamp_s=time_s,
            delay_s=delay_s,
            prompt_tokens=prompt,
            output_tokens=self.draw(st.integers(1, 40)),
            chunks=chunks,
            priority=self.draw(self.priorities),
            model=stream.model,
            cancel_after_s=self.draw(self.cancellations),
        )
        draft = _Draft(request)
        stream.drafts.append(draft)
        self.drafts.append(draft)
        return draft


def seconds(most_ticks: int = 400) -> SearchStrategy[float]:
    """Return times that a file in milliseconds keeps; 0 is common."""
    return st.one_of(st.just(0), st.integers(0, most_ticks)).map(TICK_S.__mul__)


@st.composite
def traces(
    draw: DrawFn,
    *,
    chunk_tokens: SearchStrategy[int] | None = None,
    max_sessions: int = 4,
    max_turns: int = 5,
    max_tokens: int = 80,
    appends_only: bool = False,
    answers: bool = True,
    forks: bool = True,
    models: bool = True,
    priorities: bool = True,
    cancellations: bool = True,
) -> Trace:
    """Return a trace of small sessions, some of which start with the same tokens.

    Each step of a session appends, sends the same prompt again, shrinks it or breaks its prefix, by at most
    `max_tokens`. With `answers`, what was appended may start with the previous answer, or with the part of it
    that fits. With `forks`, sessions start agents, whose first request goes on from one of the session's; the
    session may wait for them. `waits_for` and `answer` name only requests with a smaller index. The first
    request leaves at 0, gaps may be 0, and requests of one time stand in the order of their making.
    """
    maker = _Maker(
        draw=draw,
        chunk_tokens=draw(chunk_tokens or st.sampled_from((1, 4, 16))),
        max_tokens=max_tokens,
        steps=("append",) if appends_only else _STEPS,
        answers=answers,
        models=(None, "small", "large") if models else (None,),
        priorities=st.integers(-2, 2) if priorities else st.just(0),
        cancellations=st.one_of(st.none(), seconds()) if cancellations else st.none(),
    )
    shared = maker.fresh(draw(st.integers(0, 4)))
    for session in range(draw(st.integers(1, max_sessions))):
        stream = maker.new_stream(f"s{session}")
        maker.first(stream, shared[: draw(st.integers(0, len(shared)))])
        for turn in range(1, draw(st.integers(1, max_turns))):
            before = stream.drafts[-1]
            joined: tuple[_Draft, ...] = ()
            if forks and draw(st.integers(0, 3)) == 0:
                agent = maker.new_stream(f"{stream.name}:{turn}")
                for _ in range(draw(st.integers(1, 2))):
                    maker.following(agent, agent.drafts[-1] if agent.drafts else before)
                joined = (agent.drafts[-1],) if draw(st.booleans()) else ()
            maker.following(stream, before, joined)
    return _sorted(maker)


def _time(draft: _Draft) -> float:
    assert draft.request.timestamp_s is not None
    return draft.request.timestamp_s


def _sorted(maker: _Maker) -> Trace:
    """Return the trace of drafts: in the order of time, with the first at 0, and with indices."""
    drafts = sorted(maker.drafts, key=_time)
    origin_s = _time(drafts[0])
    index = {id(draft): number for number, draft in enumerate(drafts)}
    requests = []
    for number, draft in enumerate(drafts):
        request = replace(draft.request, index=number, timestamp_s=_time(draft) - origin_s)
        request.waits_for = tuple(sorted(index[id(each)] for each in draft.waits_for))
        if request.answer is not None:
            request.answer = request.answer._replace(request=index[id(draft.answered)])
        requests.append(request)
    answers: Answers = "returned" if maker.answers else "fresh"
    return Trace(tuple(requests), maker.chunk_tokens, "drawn", answers=answers)
