"""What holds for every kind of described workload: one of `KINDS` is tested here."""

from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from sim.kv.prefix import PrefixTable
from sim.workload.request import Request, Trace
from sim.workload.synthetic.kinds import KINDS, Synthetic

SMALL: dict[str, dict[str, Any]] = {
    "chat": {"sessions": 12, "turns": 3, "passages": 3, "answer_tokens": [1, 900], "think_s": [0, 2]},
    "shared-prefix": {
        "groups": 4,
        "prompts_per_group": 3,
        "prefix_tokens": [100, 300],
        "question_tokens": {"shares": [0, 0.5, 1], "tokens": [1, 40, 400]},
        "output_tokens": 20,
        "stages": [{"rate_per_s": 2, "duration_s": 5}, {"rate_per_s": 8, "duration_s": "2s"}],
    },
    "rows": {
        "requests": 60,
        "rate_per_s": 4,
        "common_tokens": 600,
        "families": [
            {"prompt_tokens": [700, 9000], "output_tokens": [1, 300], "continued_share": 0.5},
            {"prompt_tokens": 2000, "output_tokens": 9, "prefixes": 3, "prefix_tokens": 1700, "slope": 1},
        ],
    },
}
ONE_BY_ONE = {**SMALL["chat"], "rate_per_s": 3, "requests": 20, "arrivals": "scaled-poisson"}
EVERY = {**SMALL, "chat, one by one": ONE_BY_ONE}


def made(name: str, seed: int = 0, **more: object) -> Trace:
    kind = name.partition(",")[0]
    settings = TypeAdapter[Any](Synthetic).validate_python({"kind": kind, **EVERY[name], **more})
    trace: Trace = settings.trace(seed)
    return trace


@pytest.fixture(params=EVERY)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def content(trace: Trace) -> list[tuple[object, ...]]:
    return [
        (
            r.session,
            r.turn,
            r.timestamp_s,
            r.delay_s,
            r.prompt_tokens,
            r.output_tokens,
            list(r.chunks),
            r.answer,
        )
        for r in trace.requests
    ]


def test_every_kind_is_here_and_has_its_name() -> None:
    assert {get_args(kind.model_fields["kind"].annotation)[0] for kind in KINDS} == set(SMALL)


def test_a_seed_gives_the_same_and_another_one_another(name: str) -> None:
    assert content(made(name)) == content(made(name))
    assert content(made(name)) != content(made(name, seed=1))
    assert "seed 1" in made(name, seed=1).notes[0]


def test_requests_are_in_order_and_have_an_id_for_each_chunk(name: str) -> None:
    trace = made(name)
    times = [request.timestamp_s for request in trace.requests]
    assert None not in times
    assert times == sorted(times, key=lambda time: time or 0.0)
    assert [request.index for request in trace.requests] == list(range(len(trace.requests)))
    for request in trace.requests:
        assert len(request.chunks) == -(-request.prompt_tokens // trace.chunk_tokens)
        assert request.prompt_tokens > 0
        assert request.output_tokens > 0
    assert all(0 <= id < 2**63 for request in trace.requests for id in request.chunks)


def common(one: Request, two: Request) -> int:
    """Leading chunks that two prompts share."""
    pairs = zip(one.chunks, two.chunks, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one.chunks), len(two.chunks)))


def test_two_prompts_share_a_beginning_and_nothing_behind_it(name: str) -> None:
    requests = made(name).requests
    for place, one in enumerate(requests):
        assert len(set(one.chunks)) == len(one.chunks)
        for two in requests[:place]:
            same = common(one, two)
            assert not set(one.chunks[same:]) & set(two.chunks[same:])


def test_a_prompt_that_holds_an_answer_has_the_prompt_before_it(name: str) -> None:
    trace = made(name)
    assert trace.marks_answers
    held = [request for request in trace.requests if request.answer is not None]
    for request in held:
        assert request.answer is not None
        earlier = trace.requests[request.answer.request]
        assert earlier.index < request.index
        assert request.answer.start == earlier.prompt_tokens
        assert request.answer.end == earlier.prompt_tokens + earlier.output_tokens <= request.prompt_tokens
        assert common(earlier, request) >= earlier.prompt_tokens // trace.chunk_tokens
    assert bool(held) == (name in ("chat", "rows"))


def test_there_is_something_to_hit(name: str) -> None:
    trace = made(name)
    table = PrefixTable(trace.chunk_tokens, 16)
    required = sum(table.add(r.chunks, r.prompt_tokens).required_tokens for r in trace.requests)
    assert 0 < required < sum(request.prompt_tokens for request in trace.requests)


def test_each_stage_of_shared_prefixes_has_a_tag_and_begins_with_the_first_prompt() -> None:
    stages = [{"rate_per_s": rate, "duration_s": 5} for rate in (1, 2, 1)]
    trace = made("shared-prefix", stages=stages, pause_s=1000)
    assert trace.has_tags
    assert [r.tag for r in trace.requests] == ["rate-1"] * 5 + ["rate-2"] * 10 + ["rate-1-2"] * 5
    prompts = [(r.prompt_tokens, list(r.chunks)) for r in trace.requests]
    assert prompts[:5] == prompts[5:10] == prompts[15:]
    assert len({tuple(chunks) for _, chunks in prompts}) == 10
