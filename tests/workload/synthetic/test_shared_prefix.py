"""Groups of prompts: which are sent, when, and what they share."""

from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from sim.workload.request import Trace
from sim.workload.synthetic.shared_prefix import SharedPrefix

FIXED = {
    "kind": "shared-prefix",
    "groups": 2,
    "prompts_per_group": 3,
    "prefix_tokens": 40,
    "question_tokens": 8,
    "output_tokens": 5,
    "arrivals": "even",
}


def made(*stages: tuple[float, float], **more: Any) -> Trace:
    listed = [{"rate_per_s": rate, "duration_s": duration} for rate, duration in stages]
    return SharedPrefix.model_validate({**FIXED, "stages": listed, **more}).trace(0)


def test_stages_follow_each_other_with_a_pause_between() -> None:
    trace = made((1, 2), (4, 1), pause_s=10)
    assert [request.timestamp_s for request in trace.requests] == [1, 2, 12.25, 12.5, 12.75, 13]


def test_all_prompts_are_sent_before_one_comes_again() -> None:
    trace = made((1, 9))
    prompts = [tuple(request.chunks) for request in trace.requests]
    assert len(set(prompts[:6])) == 6
    assert prompts[6:] == prompts[:3]
    assert {(r.prompt_tokens, r.output_tokens) for r in trace.requests} == {(48, 5)}


def test_prompts_of_a_group_share_the_full_chunks_of_its_prefix_and_no_more() -> None:
    """40 tokens are two full chunks of 16."""
    requests = made((1, 6)).requests
    assert sorted(Counter(tuple(request.chunks[:2]) for request in requests).values()) == [3, 3]
    assert len({request.chunks[2] for request in requests}) == 6


@pytest.mark.parametrize(
    ("stages", "more", "why"),
    [
        ([(0.1, 1)], {}, "have 0 requests together"),
        ([(1e6, 1e3)], {}, "1,000,000,000 requests together"),
        ([], {}, "at least 1 item"),
        ([(1, 1)], {"groups": 1000, "prompts_per_group": 100_000}, "groups x prompts_per_group"),
        ([(1, 1)], {"groups": 1001}, "less than or equal to 1000"),
    ],
)
def test_what_makes_no_sense_is_refused(
    stages: list[tuple[float, float]], more: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValidationError, match=why):
        made(*stages, **more)
