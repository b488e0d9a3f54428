"""When steps and pulls of a replay end."""

from math import inf

import pytest

from sim.cluster.delays import ConstantDelays, Part
from sim.engine.active import ActiveRequest
from sim.engine.plan import StepPlan
from sim.validation.replay.delays import RecordedDelays, RecordedTimes
from sim.validation.replay.events.engine_times import NOTHING, EngineTimes, Pulled, Queued
from sim.validation.replay.events.engines import RecordedEngine
from sim.validation.replay.events.stored import EngineLog, Stored
from sim.validation.replay.recording import Times
from sim.validation.replay.transfers import RecordedTransfers

LAW_S = 7.0
USUAL = ConstantDelays(dispatch_s=0.5, event_delay_s=0.25, answer_s=0.125)


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
    step = StepPlan(0)
    step.emitting, step.decodes, step.prefills = (
        list(emitting),
        [(found, 1) for found in emitting],
        list(chunks),
    )
    step.scheduled = step.decodes + step.prefills
    return step


def delays(*tokens_s: tuple[float, ...], prefilled_s: float | None = None) -> RecordedDelays:
    return RecordedDelays(RecordedTimes(recorded(*tokens_s, prefilled_s=prefilled_s)), USUAL)


def recorded(*tokens_s: tuple[float, ...], prefilled_s: float | None = None) -> dict[int, Times]:
    return {index: seen(*times, prefilled_s=prefilled_s) for index, times in enumerate(tokens_s)}


def test_a_step_ends_when_the_first_of_its_tokens_was_seen() -> None:
    times = delays((2.0, 3.0, 5.0), (2.5, 2.75, 4.0))
    both = [request(0, computed=41, outputs=1), request(1, computed=42, outputs=2)]
    assert times.computed(plan(emitting=both), 1.0, LAW_S) == 3.0
    assert times.computed(plan(emitting=both[1:]), 1.0, LAW_S) == 4.0


def test_no_step_ends_before_its_start() -> None:
    assert delays((2.0,)).computed(plan(emitting=[request(0, computed=40)]), 2.25, LAW_S) == 2.25


def test_a_token_beyond_those_seen_came_with_the_last() -> None:
    assert delays((2.0, 3.0)).computed(plan(emitting=[request(0, computed=45, outputs=5)]), 1.0, LAW_S) == 3.0


def test_a_chunk_takes_its_share_of_the_time_to_the_first_token() -> None:
    chunk = request(0, prompt=40, computed=20)  # 10 of the 30 tokens that were left
    assert delays((4.0,)).computed(plan(chunks=[(chunk, 10)]), 1.0, LAW_S) == 2.0
    assert delays((4.0,)).computed(plan(chunks=[(chunk, 10)]), 6.0, LAW_S) == 6.0


def test_without_times_the_law_decides_unless_others_have_some() -> None:
    known, unknown = request(0, computed=40), request(9, computed=40)
    assert delays((2.0,)).computed(plan(emitting=[unknown]), 1.0, LAW_S) == 8.0
    assert delays((2.0,)).computed(plan(emitting=[unknown, known]), 1.0, LAW_S) == 2.0


def test_a_prefill_leg_ends_with_the_answer_to_the_router() -> None:
    active = request(0, computed=40)
    active.for_remote = True
    assert delays((5.0,), prefilled_s=1.5).computed(plan(emitting=[active]), 1.0, LAW_S) == 1.5
    assert delays((5.0,)).computed(plan(emitting=[active]), 1.0, LAW_S) == 8.0


def test_pulls_end_with_the_first_token_in_order_of_time() -> None:
    transfers = RecordedTransfers(RecordedTimes({0: seen(3.0, 4.0), 1: seen(2.0)}))
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
    found = RecordedDelays(RecordedTimes({0: Times((1.0, 3.0), 2.0, 4.0, 1.5)}), USUAL)
    answer, active = request(0, computed=40), request(0, computed=40)
    active.for_remote = True
    assert found.answered(answer, 1.0, Part.FIRST_TOKEN) == 2.0
    assert found.answered(answer, 1.0, Part.END) == 4.0
    assert found.answered(active, 1.0, Part.END) == 1.5
    assert found.answered(request(9, computed=40), 1.0, Part.END) == 1.125
    assert found.answered(answer, 1.0, Part.OTHER) == 1.125


# -- with KV events ------------------------------------------------------------------------------------------


def engine(outputs_s: list[float], *, decode: bool = False, **stored: Stored) -> EngineLog:
    """Return the log of an engine that served requests 0 and 1, with what some of them stored."""
    found = {int(name[1:]): [one] for name, one in stored.items()}
    heard_s = [time_s + 1.0 for time_s in outputs_s]
    return EngineLog(
        RecordedEngine("engine", decode, {0: 0.0, 1: 0.0}, {}), outputs_s, heard_s, found, {0: 2, 1: 2}
    )


def with_logs(*logs: EngineLog, token_s: float = inf) -> RecordedDelays:
    times = RecordedTimes(recorded((5.0, 6.0, 7.0), (5.5, 6.5, 7.5)))
    by_worker = dict(enumerate(logs))
    return RecordedDelays(times, USUAL, NOTHING, by_worker, block_tokens=16, token_s=token_s)


def test_a_step_that_fills_blocks_ends_when_they_were_published() -> None:
    found = with_logs(engine([3.0, 4.0], r0=Stored(0, 2, 3.0, 0), r1=Stored(1, 2, 4.0, 1)))
    first = request(0, computed=40)
    assert found.computed(plan(chunks=[(first, 40)]), 1.0, LAW_S) == 3.0
    # Blocks 1 and 2 of request 1 were there, and its last 8 tokens fill none.
    rest = request(1, computed=40)
    assert found.computed(plan(chunks=[(first, 40), (rest, 8)]), 1.0, LAW_S) == 3.0
    assert found.computed(plan(chunks=[(rest, 24)]), 1.0, LAW_S) == 3.0  # no step passes an output


def test_no_step_goes_on_beyond_the_next_output() -> None:
    found = with_logs(engine([3.0, 4.0]))
    decode = request(0, computed=41, outputs=1)
    assert found.computed(plan(emitting=[decode]), 2.0, LAW_S) == 3.0
    assert found.computed(plan(emitting=[decode]), 3.0, LAW_S) == 4.0
    assert found.computed(plan(emitting=[decode]), 4.0, LAW_S) == 6.0


def test_a_step_of_tokens_alone_takes_no_longer_than_they_do() -> None:
    found = with_logs(token_s=0.5)
    decode, chunk = request(0, computed=41, outputs=1), request(1, computed=20)
    assert found.computed(plan(emitting=[decode]), 2.0, LAW_S) == 2.5
    assert found.computed(plan(emitting=[decode], chunks=[(chunk, 20)]), 2.0, LAW_S) == pytest.approx(3.75)


def test_a_pulled_prompt_turns_up_whole() -> None:
    found = with_logs(engine([]), engine([4.0, 9.0], decode=True, r0=Stored(1, 2, 4.0, 0)))
    assert found.computed(plan(emitting=[request(0, computed=40)]), 1.0, LAW_S) == 4.0
    active = request(0, computed=40)
    active.for_remote = True
    assert found.computed(plan(chunks=[(active, 40)]), 1.0, LAW_S) == 8.0


def test_requests_come_when_events_say_and_tell_when_they_were_sent() -> None:
    class Sent(RecordedTimes):
        def sent(self, index: int, now_s: float) -> None:
            heard.append((index, now_s))

    heard: list[tuple[int, float]] = []
    engines = EngineTimes({(0, False): Queued(2.5, 7)}, {})
    found = RecordedDelays(Sent({}), USUAL, engines)
    assert found.dispatched(0, 1.0, decode=False) == (2.5, 7)
    assert found.dispatched(0, 1.0, decode=True) == (1.5, 0)
    assert heard == [(0, 1.0), (0, 1.0)]


def test_the_router_hears_of_an_output_when_the_subscriber_did() -> None:
    logs = {3: engine([3.0, 4.0])}
    found = RecordedDelays(RecordedTimes({}), USUAL, NOTHING, logs)
    assert found.heard(3, 3.0) == 4.0
    assert found.heard(3, 3.5) == 4.0  # what came before is heard before
    assert found.heard(3, 4.9) == pytest.approx(5.15)
    assert found.heard(3, 2.0) == 2.25
    assert found.heard(0, 3.0) == 3.25


def test_pulls_that_ended_together_end_when_the_last_has_started() -> None:
    both = Pulled(2.0, 9.0, frozenset({0, 1}))
    queued = {(index, True): Queued(0.0, index) for index in range(3)}
    transfers = RecordedTransfers(RecordedTimes({}), EngineTimes(queued, {0: both, 1: both}), pull_s=0.25)
    transfers.start(1, 10, 1, 0, 1, now_s=1.0)
    assert transfers.next_s() == 9.0
    transfers.start(2, 10, 1, 0, 1, now_s=1.0)  # events say nothing of its pull
    assert transfers.finish(1.25) == [2]
    transfers.start(0, 10, 1, 0, 1, now_s=1.5)
    assert transfers.next_s() == 2.0
    assert transfers.finish(2.0) == [1, 0]
