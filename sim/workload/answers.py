"""Which prompt tokens are an answer given before: as the trace says it, else told from its hash ids."""

from collections.abc import Mapping
from typing import Final

from sim.base.words import exactly
from sim.workload.request import Answer, Answers, Request, Trace
from sim.workload.settings import ReplaySettings
from sim.workload.wait_graph import Waits

NONE: Final[Mapping[int, Answer]] = {}


def answers_of(trace: Trace, wanted: Answers | None) -> Mapping[int, Answer]:
    """Return which answer the prompts of a replay hold, by index of the request; empty where all are fresh.

    `wanted` is what the replay is asked for; None: what the trace records. Where the trace marks no answer
    and does not know of any, they are told from lengths and hash ids.
    """
    if (wanted or trace.answers) == "fresh":
        return NONE
    marked = {request.index: request.answer for request in trace.requests if request.answer is not None}
    return marked if marked or trace.marks_answers else _told(trace)


def may_overtake(trace: Trace, answers: Mapping[int, Answer], settings: ReplaySettings) -> bool:
    """Return whether a prompt may be sent before the answer that it holds has ended."""
    if not answers or settings.client != "turn-dependent":
        return bool(answers)
    waits = Waits(trace)
    own = range(trace.first_index, trace.first_index + len(trace.requests))
    return any(index not in waits.after(answers[index].request) for index in own if index in answers)


def describe(trace: Trace, answers: Mapping[int, Answer], wanted: Answers | None) -> str:
    """Return a sentence on what a replay does with answers; `wanted` as in `answers_of`.

    Only requests of the trace are counted, not those that a warm-up or a session begun anew adds.
    """
    if not answers and (wanted or trace.answers) == "returned":
        return "answers would return in later prompts, but none holds one"
    if not answers:
        return "answers are fresh: no prompt holds what was answered before"
    how = "as the trace marks them"
    own = range(trace.first_index, trace.first_index + len(trace.requests))
    held = [answers[index] for index in own if index in answers]
    if not any(request.answer for request in trace.requests):
        how = "told from lengths and hash ids"
    tokens = sum(answer.end - answer.start for answer in held)
    return (
        f"answers return in later prompts, {how}: {len(held):,} of {exactly(len(own), 'request')} hold one, "
        f"{exactly(tokens, 'token')}"
    )


def _told(trace: Trace) -> dict[int, Answer]:
    """Tell answers from the turn before: that prompt is whole in this one, which has room for its answer.

    A prompt that grew by less than the answer holds another one in its place (thinking left out, say): what
    follows is changed, and nothing returns.
    """
    found: dict[int, Answer] = {}
    before: dict[str, Request] = {}
    for request in trace.requests:
        earlier = before.get(request.session)
        before[request.session] = request
        if earlier is None or earlier.turn > request.turn:
            continue
        start = earlier.prompt_tokens
        end = start + earlier.output_tokens
        n_full = start // trace.chunk_tokens
        if request.prompt_tokens >= end and _same(earlier, request, n_full):
            found[request.index] = Answer(earlier.index, start, end)
    return found


def _same(earlier: Request, later: Request, n: int) -> bool:
    """Whether two prompts have the same first chunks; most that differ do so in the last of them."""
    if n and earlier.chunks[n - 1] != later.chunks[n - 1]:
        return False
    return list(earlier.chunks[:n]) == list(later.chunks[:n])
