"""When steps and pulls of a replay end."""

from math import inf

from sim.validation.pace import RecordedAnswers, RecordedPace, RecordedTransfers
from sim.validation.recording import Times
from sim.worker.active import ActiveRequest
from sim.worker.plan import StepPlan

LAW_S = 7.0


def request(request_id: int, *, prompt: int = 40, computed: int, outputs: int = 0) -> ActiveRequest:
    """Return a request as the engine leaves it behind when it has planned a step."""
    found = ActiveRequest(request_id, prompt, 8, ())
    found.computed, found.outputs = computed, outputs
    return found


def seen(*tokens_s: float, prefilled_s: float | None = None) -> Times:
    return Times(tokens_s, tokens_s[0], tokens_s[-1], prefilled_s)


def plan(*, emitting=(), chunks=()) -> StepPlan:
    """Return a step that gives some requests a token, and computes (request, tokens) of others' prompts."""
    for found in emitting:
        found.placeholders = 1
    return StepPlan(0, tokens=[*((found, 1) for found in emitting), *chunks], emitting=list(emitting))


def pace(*tokens_s: tuple[float, ...], prefilled_s: float | None = None) -> RecordedPace:
    return RecordedPace(
        {index: seen(*times, prefilled_s=prefilled_s) for index, times in enumerate(tokens_s)}
    )


def test_a_step_ends_when_the_first_of_its_tokens_was_seen() -> None:
    times = pace((2.0, 3.0, 5.0), (2.5, 2.75, 4.0))
    both = [request(0, computed=41, outputs=1), request(1, computed=42, outputs=2)]
    assert times.end_s(plan(emitting=both), 1.0, LAW_S) == 3.0
    assert times.end_s(plan(emitting=both[1:]), 1.0, LAW_S) == 4.0


def test_no_step_ends_before_its_start() -> None:
    assert pace((2.0,)).end_s(plan(emitting=[request(0, computed=40)]), 2.25, LAW_S) == 2.25


def test_a_token_beyond_those_seen_came_with_the_last() -> None:
    assert pace((2.0, 3.0)).end_s(plan(emitting=[request(0, computed=45, outputs=5)]), 1.0, LAW_S) == 3.0


def test_a_chunk_takes_its_share_of_the_time_to_the_first_token() -> None:
    chunk = request(0, prompt=40, computed=20)  # 10 of the 30 tokens that were left
    assert pace((4.0,)).end_s(plan(chunks=[(chunk, 10)]), 1.0, LAW_S) == 2.0
    assert pace((4.0,)).end_s(plan(chunks=[(chunk, 10)]), 6.0, LAW_S) == 6.0


def test_without_times_the_law_decides_unless_others_have_some() -> None:
    known, unknown = request(0, computed=40), request(9, computed=40)
    assert pace((2.0,)).end_s(plan(emitting=[unknown]), 1.0, LAW_S) == 8.0
    assert pace((2.0,)).end_s(plan(emitting=[unknown, known]), 1.0, LAW_S) == 2.0


def test_a_prefill_leg_ends_with_the_answer_to_the_router() -> None:
    leg = request(0, computed=40)
    leg.for_remote = True
    assert pace((5.0,), prefilled_s=1.5).end_s(plan(emitting=[leg]), 1.0, LAW_S) == 1.5
    assert pace((5.0,)).end_s(plan(emitting=[leg]), 1.0, LAW_S) == 8.0


def test_pulls_end_with_the_first_token_in_order_of_time() -> None:
    transfers = RecordedTransfers({0: seen(3.0, 4.0), 1: seen(2.0)})
    assert transfers.next_s() == inf
    transfers.start(0, 10, 1, 0, 1, now_s=1.0)
    transfers.start(1, 10, 1, 0, 1, now_s=1.0)
    assert transfers.next_s() == 2.0
    assert transfers.finish(1.5) == []
    assert transfers.finish(3.0) == [1, 0]
    transfers.start(1, 10, 1, 0, 1, now_s=5.0)
    transfers.start(7, 10, 1, 0, 1, now_s=5.0)
    assert transfers.finish(5.0) == [1, 7]
    assert transfers.links(5.0) == []


def test_the_router_sees_first_tokens_ends_and_the_answers_of_prefill_workers() -> None:
    answers = RecordedAnswers({0: Times((1.0, 3.0), 2.0, 4.0, 1.5)})
    answer, leg = request(0, computed=40), request(0, computed=40)
    leg.for_remote = True
    assert answers.seen_s(answer, ended=False) == 2.0
    assert answers.seen_s(answer, ended=True) == 4.0
    assert answers.seen_s(leg, ended=True) == 1.5
    assert answers.seen_s(request(9, computed=40), ended=True) is None
