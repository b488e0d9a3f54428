"""Drawn traces keep what a trace promises, and each kind of step is drawn."""

from collections.abc import Callable

import pytest
from hypothesis import Phase, find, given, settings

from sim.workload.request import Request, Trace
from tests.workload.strategies import TICK_S, traces


def turns(trace: Trace) -> list[tuple[Request, Request]]:
    """Return every request but the first of its session, behind the one before it."""
    last: dict[str, Request] = {}
    pairs = []
    for request in trace.requests:
        if request.session in last:
            pairs.append((last[request.session], request))
        last[request.session] = request
    return pairs


def kept_chunks(before: Request, request: Request) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(before.chunks, request.chunks, strict=False)) if a != b),
        min(len(before.chunks), len(request.chunks)),
    )


@given(traces())
def test_indices_times_and_turns_are_in_order(trace: Trace) -> None:
    times = [request.timestamp_s or 0.0 for request in trace.requests]
    assert [request.index for request in trace.requests] == [*range(len(times))]
    assert times == sorted(times)
    assert times[0] == 0.0
    assert all(time / TICK_S == int(time / TICK_S) for time in times)
    assert all(request.turn == before.turn + 1 for before, request in turns(trace))
    assert all(earlier < r.index for r in trace.requests for earlier in r.waits_for)


@given(traces())
def test_prompts_have_an_id_for_every_chunk_and_none_twice(trace: Trace) -> None:
    for request in trace.requests:
        assert len(request.chunks) == -(-request.prompt_tokens // trace.chunk_tokens)
        assert len({*request.chunks}) == len(request.chunks)


@given(traces())
def test_an_answer_follows_the_whole_prompt_that_it_answers(trace: Trace) -> None:
    for request in trace.requests:
        if request.answer is None:
            continue
        answered = trace.requests[request.answer.request]
        assert answered.index < request.index
        assert request.answer.start == answered.prompt_tokens < request.answer.end <= request.prompt_tokens
        assert request.answer.end <= answered.prompt_tokens + answered.output_tokens
        full = answered.prompt_tokens // trace.chunk_tokens
        assert request.chunks[:full] == answered.chunks[:full]


@given(
    traces(appends_only=True, answers=False, forks=False, models=False, priorities=False, cancellations=False)
)
def test_what_is_not_asked_for_is_not_drawn(trace: Trace) -> None:
    for before, request in turns(trace):
        assert request.prompt_tokens > before.prompt_tokens
        assert kept_chunks(before, request) >= before.prompt_tokens // trace.chunk_tokens
    for request in trace.requests:
        assert (request.waits_for, request.answer, request.model) == ((), None, None)
        assert (request.priority, request.cancel_after_s) == (0, None)


KINDS: dict[str, Callable[[Trace], bool]] = {
    "shrinks": lambda trace: any(b.prompt_tokens > r.prompt_tokens for b, r in turns(trace)),
    "breaks": lambda trace: any(
        b.prompt_tokens < r.prompt_tokens and kept_chunks(b, r) < b.prompt_tokens // trace.chunk_tokens
        for b, r in turns(trace)
    ),
    "the same prompt again": lambda trace: any(b.chunks == r.chunks for b, r in turns(trace)),
    "shared starts": lambda trace: (
        len({r.chunks[0] for r in trace.requests if not r.turn}) < len(trace.sessions)
    ),
    "no gap": lambda trace: any(b.timestamp_s == r.timestamp_s for b, r in turns(trace)),
    "a whole answer": lambda trace: any(
        r.answer and r.answer.end == trace.requests[r.answer.request].prompt_tokens + output(trace, r)
        for r in trace.requests
    ),
    "part of an answer": lambda trace: any(
        r.answer and r.answer.end < trace.requests[r.answer.request].prompt_tokens + output(trace, r)
        for r in trace.requests
    ),
    "an agent": lambda trace: any(r.turn == 0 and r.waits_for for r in trace.requests),
    "a join": lambda trace: any(len(r.waits_for) > 1 for r in trace.requests),
    "two models": lambda trace: len({r.model for r in trace.requests}) > 1,
    "a cancelled request": lambda trace: any(r.cancel_after_s is not None for r in trace.requests),
}


def output(trace: Trace, request: Request) -> int:
    assert request.answer is not None
    return trace.requests[request.answer.request].output_tokens


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn(kind: str) -> None:
    only_drawn = settings(phases=[Phase.generate], max_examples=500)
    assert find(traces(), KINDS[kind], settings=only_drawn)
