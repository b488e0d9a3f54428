"""Conversations: lengths turn by turn, what they share, answers that come back, turns one by one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sim.scenario.load import load_scenario
from sim.simulation.run import run
from sim.workload.request import Request, Trace
from sim.workload.synthetic.chat import Chat

FIXED = {"passage_tokens": 64, "question_tokens": 10, "answer_tokens": 30, "think_s": 2, "start_gap_s": 5}


def made(**more: Any) -> Trace:
    return Chat.model_validate({"kind": "chat", "sessions": 3, "turns": 3, **FIXED, **more}).trace(0)


def of(trace: Trace, session: str) -> Sequence[Request]:
    return [request for request in trace.requests if request.session == session]


def test_a_prompt_is_the_one_before_its_answer_and_a_question() -> None:
    """64 + 10, then 30 + 10 more a turn; answers begin where the prompt before ends."""
    turns = of(made(), "chat-1")
    assert [request.prompt_tokens for request in turns] == [74, 114, 154]
    assert [request.answer and request.answer[1:] for request in turns] == [None, (74, 104), (114, 144)]
    assert [request.delay_s for request in turns] == [None, 2.0, 2.0]
    assert turns[0].timestamp_s == 5.0


def test_conversations_share_the_full_chunks_of_a_passage() -> None:
    one, two = (of(made(passages=1), f"chat-{session}")[0] for session in (0, 1))
    assert list(one.chunks[:4]) == list(two.chunks[:4])
    assert one.chunks[4] != two.chunks[4]


def test_passages_are_as_many_as_asked_for() -> None:
    starts = {request.chunks[0] for request in made(sessions=60, passages=7, turns=1).requests}
    assert len(starts) == 7


def test_turns_one_by_one_are_some_of_all_each_once_and_hold_no_answer_of_the_replay() -> None:
    trace = made(rate_per_s=4, requests=7, arrivals="scaled-poisson", output_tokens=9)
    assert len({request.session for request in trace.requests}) == 7
    assert trace.requests[-1].timestamp_s == pytest.approx(7 / 4)
    assert {request.prompt_tokens for request in trace.requests} <= {74, 114, 154}
    assert {(r.turn, r.delay_s, r.answer, r.output_tokens) for r in trace.requests} == {(0, None, None, 9)}
    assert trace.answers == "fresh"


def test_another_rate_sends_the_same_turns_at_other_times() -> None:
    slow, fast = (made(rate_per_s=rate).requests for rate in (1, 4))
    assert [r.session for r in slow] == [r.session for r in fast]
    assert [r.timestamp_s for r in slow] == pytest.approx([4 * (r.timestamp_s or 0) for r in fast])


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"requests": 3}, "requests: only beside rate_per_s"),
        ({"output_tokens": 3}, "output_tokens: only beside rate_per_s"),
        ({"requests": 10, "rate_per_s": 1}, "the conversations have 9"),
        ({"sessions": 10_000_000}, "at most 10,000,000 requests"),
        ({"passages": 0}, "greater than 0"),
    ],
)
def test_what_makes_no_sense_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        made(**more)


SCENARIO = """
model = "llama-3.1-8b-bf16"
gpu = "h100-80gb"
workers = { count = 1 }
replay = { client = "turn-dependent" }

[workload.synthetic]
kind = "chat"
sessions = 1
turns = 2
passage_tokens = 64
question_tokens = 16
answer_tokens = 48
"""


@pytest.mark.parametrize(("answers", "computed"), [("none", 80 + 32), ("fresh", 80 + 64)])
def test_the_next_turn_hits_blocks_that_decode_made(tmp_path: Path, answers: str, computed: int) -> None:
    """Prompts of 80 and 144 tokens, 127 of them known by then: 7 blocks hit, without the answer 5."""
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO)
    result = run(load_scenario(file, [f"replay.answers={answers}"]))
    assert result.numbers["prefill.computed_tokens"] == computed
